package sessions

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/terminal"
)

// On a terminal each session takes one row, with its directory if there are several, and with
// the title if nothing else fits.
func TestNarrowListFits(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	entry := func(id, dir string) branch {
		return branch{Entry: catalogue.Entry{
			Session: id, Dir: dir, Title: strings.Repeat("a title that is long ", 5), Updated: at,
			Model: "chat/a-model-with-a-long-name", Outcome: event.Completed,
		}}
	}
	one, begin := entry("one", "/a/x"), "one  2026-03-04 05:06  completed  "
	for _, test := range []struct {
		list  []branch
		width int
		want  string
	}{
		{[]branch{one}, 80, begin + "chat/a-model-wi…  a title that"},
		{[]branch{one, entry("two", "/a/y")}, 80, begin + "chat/a-model-wi…  x  a title"},
		{[]branch{one, entry("two", "/a/project")}, 70, begin + "x        a title"},
	} {
		var out bytes.Buffer
		if err := narrow(&out, t.TempDir(), test.list, test.width); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), test.want) || strings.Count(out.String(), "\n") != len(test.list) {
			t.Errorf("got %q, want %q", out.String(), test.want)
		}
		for line := range strings.Lines(out.String()) {
			if got := terminal.TextWidth(strings.TrimSuffix(line, "\n")); got > test.width {
				t.Errorf("%d columns: %q", got, line)
			}
		}
	}
}

// Every list shows the name that a person gave a session.
func TestListShowsNames(t *testing.T) {
	dir := t.TempDir()
	l, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: "one"})
	if err == nil {
		opened := []event.Event{{Data: event.SessionOpened{Dir: "/w"}}}
		err = l.Update(func(event.State) []event.Event { return opened })
		err = errors.Join(err, l.Close(t.Context()), store.Rename(dir, "one", "the parser"))
	}
	if err != nil {
		t.Fatal(err)
	}
	var table, lines bytes.Buffer
	if err := errors.Join(
		List(t.Context(), &table, dir, catalogue.Query{}), ListJSON(t.Context(), &lines, dir, catalogue.Query{}),
	); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "the parser") || !strings.Contains(lines.String(), `"title":"the parser"`) {
		t.Errorf("got %s%s", table.String(), lines.String())
	}
}

// Every list marks a session that a client has archived.
func TestListMarksArchivedSessions(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"one", "two"} {
		l, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: id})
		if err == nil {
			opened := []event.Event{{Data: event.SessionOpened{Dir: "/w"}}}
			err = l.Update(func(event.State) []event.Event { return opened })
			err = errors.Join(err, l.Close(t.Context()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Archive(dir, "one"); err != nil {
		t.Fatal(err)
	}
	var table, lines bytes.Buffer
	if err := errors.Join(
		List(t.Context(), &table, dir, catalogue.Query{}), ListJSON(t.Context(), &lines, dir, catalogue.Query{}),
	); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{table.String(), lines.String()} {
		for line := range strings.Lines(list) {
			if strings.Contains(line, "archived") != strings.Contains(line, "one") {
				t.Errorf("got %s", line)
			}
		}
		if strings.Count(list, "archived") != 1 {
			t.Errorf("got %s", list)
		}
	}
}
