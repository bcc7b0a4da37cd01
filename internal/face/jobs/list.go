package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/settle-agent/settle/internal/printable"
)

// running returns the jobs that are not over.
func running(dataDir string) ([]job, error) {
	list, err := all(dataDir)
	if err != nil {
		return nil, err
	}
	kept := list[:0]
	for _, j := range list {
		if j.state != Over {
			kept = append(kept, j)
		}
	}
	return kept, nil
}

// List writes a table of the jobs that run.
func List(to io.Writer, dataDir string) error {
	list, err := running(dataDir)
	if err != nil {
		return err
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, j := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\tpid %d\t%s\t%s\n", j.name(), j.state, j.PID, j.At.Local().Format(time.DateTime), cell(j.Command))
	}
	_ = w.Flush() // into memory
	_, err = to.Write(table.Bytes())
	return err
}

// cell makes a text fit for a table.
func cell(text string) string {
	const most = 80
	text = printable.Line(text)
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// line is a job as JSON.
type line struct {
	Session   string    `json:"session"`
	Job       string    `json:"job"`
	State     State     `json:"state"`
	PID       int       `json:"pid"`
	Host      int       `json:"host,omitempty"` // process that holds the session
	Started   time.Time `json:"started"`
	Command   string    `json:"command"`
	Log       string    `json:"log,omitempty"`
	Processes []process `json:"processes,omitempty"`
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
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	for _, j := range list {
		l := line{
			Session: j.session, Job: j.Job.Job, State: j.state, PID: j.PID, Host: j.host,
			Started: j.At.UTC(), Command: j.Command, Log: j.Log,
		}
		for _, p := range j.processes {
			l.Processes = append(l.Processes, process{p.PID, p.Command})
		}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}
