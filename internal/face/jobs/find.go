package jobs

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/proc"
)

// State is how a job is.
type State string

// The states.
const (
	Running  State = "running"  // its session's host has it
	Released State = "released" // it outlives its session, on purpose
	Ending   State = "ending"   // its host died, and it is being ended
	Over     State = "over"
)

// job is a job as it is now.
type job struct {
	event.Job
	session   string
	host      int // the process that holds the session, or 0
	state     State
	processes []event.Process
}

// name is what a user calls the job by.
func (j job) name() string { return j.session + "/" + j.Job.Job }

// all returns the jobs of the sessions that have had any: those have a
// directory for outputs.
func all(dataDir string) ([]job, error) {
	sessions, err := journal.List(dataDir)
	if err != nil {
		return nil, err
	}
	var list []job
	for _, s := range sessions {
		if _, err := os.Stat((settle.Store{Dir: dataDir}).OutputDir(s.Session)); err != nil {
			continue
		}
		found, err := ofSession(dataDir, s.Session)
		if err != nil {
			continue // deleted meanwhile, or a log that "settle sessions" names as damaged
		}
		list = append(list, found...)
	}
	return list, nil
}

// ofSession returns the session's jobs.
func ofSession(dataDir, session string) ([]job, error) {
	state, err := journal.Load(dataDir, session)
	if err != nil && state.Session == "" {
		return nil, err
	}
	host := 0
	if unended(state.Jobs) {
		if host, err = journal.Holder(dataDir, session); err != nil {
			return nil, err
		}
	}
	var list []job
	for _, j := range state.Jobs {
		now := job{Job: *j, session: session, host: host}
		now.look()
		list = append(list, now)
	}
	return list, nil
}

func unended(jobs []*event.Job) bool {
	return slices.ContainsFunc(jobs, func(j *event.Job) bool { return j.Ended == nil })
}

// look says how the job is now.
func (j *job) look() {
	j.state = Over
	if j.Ended != nil && j.Ended.How != event.JobReleased {
		return
	}
	j.processes = j.recorded().Processes()
	switch {
	case j.Ended == nil && j.host != 0:
		j.state = Running
	case len(j.processes) == 0:
	case j.Ended == nil:
		j.state = Ending
	default:
		j.state = Released
	}
}

// recorded is what its processes are known by.
func (j *job) recorded() proc.Recorded {
	return proc.Recorded{Process: j.Process, Keeper: j.Keeper, Mark: j.Mark}
}

// find returns the job that the user means: by its id, or by SESSION/JOB where
// several sessions have one of that id.
func find(dataDir, name string) (job, error) {
	if session, id, whole := strings.Cut(name, "/"); whole {
		list, err := ofSession(dataDir, session)
		if err != nil {
			return job{}, err
		}
		return pick(list, id, name)
	}
	list, err := all(dataDir)
	if err != nil {
		return job{}, err
	}
	return pick(list, name, name)
}

// pick chooses by the id; of several, the one that is not over.
func pick(list []job, id, name string) (job, error) {
	var same, alive []job
	for _, j := range list {
		if j.Job.Job != id {
			continue
		}
		same = append(same, j)
		if j.state != Over {
			alive = append(alive, j)
		}
	}
	if len(alive) > 0 {
		same = alive
	}
	switch len(same) {
	case 0:
		return job{}, fmt.Errorf("there is no job %q; \"settle jobs\" lists running jobs", name)
	case 1:
		return same[0], nil
	}
	var names []string
	for _, j := range same {
		names = append(names, j.name())
	}
	return job{}, fmt.Errorf("several sessions have a job %q; use one of: %s", name, strings.Join(names, ", "))
}

// errOver says why there is nothing to end.
func (j job) errOver() error {
	how := "it has ended"
	switch {
	case j.Ended == nil:
		how = "its session's host died, and none of its processes is left"
	case j.Ended.How == event.JobReleased:
		how = "it was released, and none of its processes is left"
	case j.Ended.How != "":
		how = "it has ended: " + string(j.Ended.How)
	}
	return errors.New("job " + j.name() + " is not running: " + how)
}
