package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/printable"
)

// find asks the catalogue. A catalogue that cannot be used is made do without.
func find(ctx context.Context, dataDir string, q catalogue.Query) ([]catalogue.Entry, error) {
	c, err := catalogue.Open(ctx, dataDir)
	if err := unlessWarning(err); err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // it can be made anew at any time
	list, err := c.List(ctx, q)
	return list, unlessWarning(err)
}

func unlessWarning(err error) error {
	var warning *catalogue.Warning
	if errors.As(err, &warning) {
		return nil
	}
	return err
}

// Last returns the session of the working directory that changed last.
func Last(ctx context.Context, dataDir, dir string) (string, error) {
	list, err := find(ctx, dataDir, catalogue.Query{Dir: dir})
	if err != nil {
		return "", err
	}
	for _, e := range list {
		if e.Problem == "" {
			return e.Session, nil
		}
	}
	return "", fmt.Errorf("there is no session in %q to continue; \"settle sessions\" lists all sessions", dir)
}

// List writes a table of the sessions that the query asks for.
func List(ctx context.Context, to io.Writer, dataDir string, q catalogue.Query) error {
	list, err := find(ctx, dataDir, q)
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
	list, err := find(ctx, dataDir, q)
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
