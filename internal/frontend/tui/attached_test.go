package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// shownText is the rows of entries, without questions: who comes after the answer is not
// asked.
func shownText(entries []entry) (rows []string) {
	for _, e := range entries {
		if e.group == ofAsk {
			continue
		}
		for _, row := range e.rows(60) {
			rows = append(rows, strings.TrimRight(row.Text(), " "))
		}
	}
	return rows
}

// A client that joins a turn after any of its events finally shows the same as a client from the
// beginning.
func TestAttachAtEachEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		act, err := tool.New("act", "Acts.", func(context.Context, struct{}) (string, error) { return "acted", nil })
		if err != nil {
			t.Fatal(err)
		}
		host, err := settle.Open(t.Context(), settle.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer host.Close(t.Context())
		s, err := host.Session(t.Context(), "s", settle.SessionConfig{
			Model: model.Config{Name: "m", Provider: script.New(
				script.Turn(
					script.Reasoning("Hm, ", "let me see."),
					script.Text("One ", "paragraph.\n\n- a\n", "- b\n\nAnd ", "one more"), script.Call("act", "{", "}"),
					script.Call("act", "{ }"),
				),
				script.Turn(
					script.Text("Half of ", "it.\n\nAnd ", "then"),
					script.Fail(model.NewError(model.ErrOverloaded, "overloaded")),
				),
				script.Text("It is ", "done.\n\n```\ncode\n", "more\n```\nThe end."),
			)},
			Tools: []tool.Tool{act}, Permission: settle.Allow,
		})
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Run(t.Context(), "go on")
		if err != nil {
			t.Fatal(err)
		}
		var all []event.Event
		for e, err := range s.Events(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, e); e.Turn == o.Turn && e.Terminal() {
				break
			}
		}
		show := func(joined int) []string {
			var state event.State
			for _, e := range all[:joined] {
				if state, err = event.Fold(state, e); err != nil {
					t.Fatal(err)
				}
			}
			log, p := transcript.New(state, transcript.Live), newPrintout(keymap.Map{})
			var shown []entry
			if turn := state.Running(); turn != nil {
				p.resume(turn, log)
				shown = p.finished()
			}
			for _, e := range all[joined:] {
				changes, err := log.Take(e)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range changes {
					p.take(c)
				}
				shown = append(shown, p.finished()...)
			}
			return shownText(shown)
		}
		want := show(0)
		if len(want) < 12 {
			t.Fatalf("too little is shown: %q", want)
		}
		for joined := 3; joined < len(all); joined++ {
			got := show(joined)
			if diff := cmp.Diff(retried(want), retried(got)); diff != "" {
				t.Errorf(
					"joined after event %d, %s (-from the beginning +joined):\n%s", joined, all[joined-1].Kind(), diff,
				)
			}
		}
	})
}

// retried removes the rows about attempts that have ended: a later view of the turn does not have
// them.
func retried(rows []string) (out []string) {
	for _, row := range rows {
		if !strings.HasPrefix(row, "· attempt ") {
			out = append(out, row)
		}
	}
	return out
}

// Of a long turn, who joins it sees the end.
func TestAttachToLongTurnShowsItsEnd(t *testing.T) {
	turn := &event.Turn{ID: "t1"}
	state := event.State{Turns: []*event.Turn{turn}}
	log, p := transcript.New(state, transcript.Live), newPrintout(keymap.Map{})
	for n := range 3 * recentEntries {
		p.add(notice(terminal.Style{}, "entry %d", n))
	}
	p.shorten()
	rows := shownText(p.finished())
	if len(rows) > recentEntries+1 || !strings.Contains(rows[0], "is left out") || rows[len(rows)-1] != fmt.Sprintf(
		"· entry %d", 3*recentEntries-1,
	) {
		t.Errorf("%d rows, from %q", len(rows), rows[0])
	}
	p.resume(turn, log) // nothing more
	if rows := shownText(p.finished()); len(rows) > 0 {
		t.Errorf("it shows %q", rows)
	}
}
