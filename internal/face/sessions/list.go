package sessions

import (
	"context"
	"io"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/printable"
)

// List writes a table of the sessions that the query asks for.
func List(ctx context.Context, to io.Writer, dataDir string, q catalogue.Query) error {
	list, err := store.List(ctx, dataDir, q)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, e := range list {
		rows = append(rows, []string{
			e.Session, e.Updated.Local().Format(time.DateTime), state(e) + where(dataDir, e.Session), printable.Short(e.Model, mostCell), printable.Short(e.Title, mostCell),
		})
	}
	return listing.Table(to, rows)
}

// mostCell is how many characters of a model and of a title the table shows.
const mostCell = 60

// state says in a word how a session is.
func state(e catalogue.Entry) string {
	switch {
	case e.Problem != "":
		return "damaged"
	case e.Running:
		return "running"
	case e.Outcome == event.Aborted:
		return string(e.Reason)
	case e.Outcome == "":
		return "empty"
	}
	return string(e.Outcome)
}

// where says which process has a session open.
func where(dataDir, session string) string {
	if host, known := attach.HostOf(dataDir, session); known {
		return ", open in " + host.String()
	}
	return ""
}

// line is a session as JSON.
type line struct {
	Session string        `json:"session"`
	Dir     string        `json:"dir"`
	Title   string        `json:"title,omitempty"`
	Model   string        `json:"model,omitempty"`
	Outcome event.Outcome `json:"outcome,omitempty"`
	Reason  event.Reason  `json:"reason,omitempty"`
	Running bool          `json:"running,omitempty"`
	Created time.Time     `json:"created"`
	Updated time.Time     `json:"updated"`
	Problem string        `json:"problem,omitempty"`
	Host    *attach.Host  `json:"host,omitempty"`
}

// ListJSON writes the sessions as JSON, one a line.
func ListJSON(ctx context.Context, to io.Writer, dataDir string, q catalogue.Query) error {
	list, err := store.List(ctx, dataDir, q)
	if err != nil {
		return err
	}
	lines := make([]line, len(list))
	for n, e := range list {
		lines[n] = line{e.Session, e.Dir, e.Title, e.Model, e.Outcome, e.Reason, e.Running, e.Created.UTC(), e.Updated.UTC(), e.Problem, nil}
		if host, known := attach.HostOf(dataDir, e.Session); known {
			lines[n].Host = &host
		}
	}
	return listing.JSON(to, lines)
}
