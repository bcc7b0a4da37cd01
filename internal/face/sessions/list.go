package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/printable"
)

// List writes a table of the sessions that the query asks for.
func List(ctx context.Context, to io.Writer, dataDir string, q catalogue.Query) error {
	list, err := store.List(ctx, dataDir, q)
	if err != nil {
		return err
	}
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, e := range list {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", cell(e.Session), e.Updated.Local().Format(time.DateTime), state(e), cell(e.Model), cell(e.Title))
	}
	_ = w.Flush() // into memory
	_, err = to.Write(table.Bytes())
	return err
}

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

// cell makes a text fit for a table.
func cell(text string) string {
	const most = 60
	text = printable.Line(text)
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
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
}

// ListJSON writes the sessions as JSON, one a line.
func ListJSON(ctx context.Context, to io.Writer, dataDir string, q catalogue.Query) error {
	list, err := store.List(ctx, dataDir, q)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	for _, e := range list {
		l := line{e.Session, e.Dir, e.Title, e.Model, e.Outcome, e.Reason, e.Running, e.Created.UTC(), e.Updated.UTC(), e.Problem}
		if err := enc.Encode(l); err != nil {
			return err
		}
	}
	return nil
}
