package jobs

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/terminal"
)

// maxCommand is the number of characters of a command that the table shows.
const maxCommand = 80

// List writes a table of the jobs that run.
func List(to io.Writer, dataDir string) error {
	list, err := running(dataDir)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, j := range list {
		rows = append(rows, []string{
			j.Name(), string(j.State), fmt.Sprintf("pid %d", j.PID), j.At.Local().Format(time.DateTime), terminal.Short(
				j.Command, maxCommand,
			),
		})
	}
	return listing.Table(to, rows)
}

// line is a job as JSON.
type line struct {
	Session   string         `json:"session"`
	Job       string         `json:"job"`
	State     store.JobState `json:"state"`
	PID       int            `json:"pid"`
	Host      int            `json:"host,omitempty"` // process that holds the session
	Started   time.Time      `json:"started"`
	Command   string         `json:"command"`
	Log       string         `json:"log,omitempty"`
	Processes []process      `json:"processes,omitempty"`
}

type process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// ListJSON writes the jobs that run as JSON, one a line.
func ListJSON(to io.Writer, dataDir string) error {
	list, err := running(dataDir)
	if err != nil {
		return err
	}
	var lines []line
	for _, j := range list {
		l := line{
			Session: j.Session, Job: j.Job.Job, State: j.State, PID: j.PID, Host: j.Host,
			Started: j.At.UTC(), Command: j.Command, Log: j.Log,
		}
		for _, p := range j.Processes {
			l.Processes = append(l.Processes, process{p.PID, p.Command})
		}
		lines = append(lines, l)
	}
	return listing.JSON(to, lines)
}

// running returns the jobs that are not over.
func running(dataDir string) ([]store.Job, error) {
	list, err := store.Jobs(dataDir)
	return slices.DeleteFunc(list, func(j store.Job) bool { return j.State == store.JobOver }), err
}
