package store

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

// JobState is the state of a job.
type JobState string

// The states.
const (
	JobRunning  JobState = "running"  // its session's host has it
	JobReleased JobState = "released" // it outlives its session, on purpose
	JobEnding   JobState = "ending"   // its host died, and it is being ended
	JobOver     JobState = "over"
)

// Job is a process that a session left running, in its current state:
//
//	job.started ─► running ─ job.ended ─► over
//	                  └───── released ─► outlives, until it is gone
//
// Running processes identify themselves: each has its job's mark in its environment. If the
// environment of other processes cannot be read, settle trusts the session's host as long
// as the host lives, and ends no process from here.
type Job struct {
	event.Job
	Session   string
	Host      int // the process that holds the session, or 0
	State     JobState
	Processes []event.Process
	// Imported reports that the job is from an imported log, which proves no process here
	// (C23).
	Imported bool
}

// Name is the job's name for users.
func (j Job) Name() string { return j.Session + "/" + j.Job.Job }

// Jobs returns the jobs of all sessions that ever had one: these sessions have an output directory.
func Jobs(dataDir string) ([]Job, error) {
	sessions, err := journal.List(dataDir)
	if err != nil {
		return nil, err
	}
	var list []Job
	for _, s := range sessions {
		if _, err := os.Stat((settle.Store{Dir: dataDir}).OutputDir(s.Session)); err != nil {
			continue
		}
		found, err := ofSession(dataDir, s.Session)
		if err != nil {
			continue // deleted meanwhile, or a log that "settle sessions" reports as damaged
		}
		list = append(list, found...)
	}
	return list, nil
}

// ofSession returns the session's jobs.
func ofSession(dataDir, session string) ([]Job, error) {
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
	var list []Job
	for _, j := range state.Jobs {
		now := Job{Job: *j, Session: session, Host: host}
		if now.Imported = j.StartSeq <= state.Imported; now.Imported {
			now.State = JobOver
		} else {
			now.look()
		}
		list = append(list, now)
	}
	return list, nil
}

func unended(jobs []*event.Job) bool {
	return slices.ContainsFunc(jobs, func(j *event.Job) bool { return j.Ended == nil })
}

// look sets the job's current state.
func (j *Job) look() {
	j.State = JobOver
	if j.Ended != nil && j.Ended.How != event.JobReleased {
		return
	}
	j.Processes = j.recorded().Processes()
	switch {
	case j.Ended == nil && j.Host != 0:
		j.State = JobRunning
	case len(j.Processes) == 0:
	case j.Ended == nil:
		j.State = JobEnding
	default:
		j.State = JobReleased
	}
}

// recorded returns the identity of the job's processes.
func (j *Job) recorded() proc.RecordedCommand {
	return proc.RecordedCommand{Process: j.Process, Keeper: j.Keeper, Mark: j.Mark}
}

// FindJob returns the job that the user means: by its id, or by SESSION/JOB where
// several sessions have one of that id. The beginning of a generated session id is enough.
func FindJob(dataDir, name string) (Job, error) {
	if session, id, qualified := strings.Cut(name, "/"); qualified {
		session, err := Resolve(dataDir, session)
		if err != nil {
			return Job{}, err
		}
		list, err := ofSession(dataDir, session)
		if err != nil {
			return Job{}, err
		}
		return pick(list, id, name)
	}
	list, err := Jobs(dataDir)
	if err != nil {
		return Job{}, err
	}
	return pick(list, name, name)
}

// pick returns the job with the id. If several jobs have it, pick returns the one that has not
// ended; if there is no such job or more than one, it returns an error.
func pick(list []Job, id, name string) (Job, error) {
	var same, alive []Job
	for _, j := range list {
		if j.Job.Job != id {
			continue
		}
		same = append(same, j)
		if j.State != JobOver {
			alive = append(alive, j)
		}
	}
	if len(alive) > 0 {
		same = alive
	}
	switch len(same) {
	case 0:
		return Job{}, fmt.Errorf("there is no job %q; \"settle jobs\" lists running jobs", name)
	case 1:
		return same[0], nil
	}
	var names []string
	for _, j := range same {
		names = append(names, j.Name())
	}
	return Job{}, fmt.Errorf("several sessions have a job %q; use one of: %s", name, strings.Join(names, ", "))
}

// errOver returns the reason why the job cannot be ended.
func (j Job) errOver() error {
	how := "it has ended"
	switch {
	case j.Imported:
		how = "its session was imported, and its log proves no process of this machine"
	case j.Ended == nil:
		how = "its session's host died, and none of its processes is left"
	case j.Ended.How == event.JobReleased:
		how = "it was released, and none of its processes is left"
	case j.Ended.How != "":
		how = "it has ended: " + string(j.Ended.How)
	}
	return errors.New("job " + j.Name() + " is not running: " + how)
}
