package sessions

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
)

// TestShowTokens: the cached part of the input, and compactions.
func TestShowTokens(t *testing.T) {
	dir := t.TempDir()
	log := good()[:9]
	log = append(log,
		event.Event{
			Turn: "t1",
			Data: event.HistoryChanged{Change: event.ChangeCompacted, Why: "the conversation was compacted"},
		},
		event.Event{Turn: "t1", Attempt: "a2", Data: event.AttemptStarted{Step: 2, N: 1}},
		event.Event{
			Turn: "t1", Attempt: "a2",
			Data: event.AttemptEnded{
				Outcome: event.Completed,
				Usage:   event.Usage{Input: 1000, CacheRead: 955, Output: 7},
			},
		},
		event.Event{
			Turn: "t1",
			Data: event.TurnCompleted{
				Summary: event.Summary{Usage: event.Usage{Input: 1000, CacheRead: 955, Output: 7}},
			},
		},
	)
	put(t, dir, "s", log)
	var out bytes.Buffer
	if err := Show(&out, dir, "s"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n2 requests, 1.0k tokens in (95% cached), 7 out\n", "\n(the conversation was compacted)\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not show %q:\n%s", want, out.String())
		}
	}
}

// A command that a person entered is shown as it was typed.
func TestShowEnteredCommand(t *testing.T) {
	dir, log := t.TempDir(), good()
	for n, e := range log {
		if d, ok := e.Data.(event.InputAccepted); ok {
			d.Text, d.Command = "vim README.md", true
			log[n].Data = d
		}
	}
	put(t, dir, "s", log)
	var out bytes.Buffer
	if err := Show(&out, dir, "s"); err != nil {
		t.Fatal(err)
	}
	if want := "\n> !vim README.md\n"; !strings.Contains(out.String(), want) {
		t.Errorf("it does not show %q:\n%s", want, out.String())
	}
}

// A call that a person or a hook changed is shown as it ran, beside the model's version.
func TestShowChangedCall(t *testing.T) {
	for name, by := range map[string][]event.Event{
		"you changed it": {
			{Turn: "t1", Item: "i1", Data: event.ApprovalRequested{Approval: "p1", Tool: "shell"}},
			{Turn: "t1", Item: "i1", Data: event.ApprovalEnded{
				Approval: "p1", Verdict: event.Approved, Arguments: `{"command":"new"}`,
			}},
		},
		"a hook changed it": {
			{Turn: "t1", Item: "i1", Data: event.HookStarted{Hook: "h1", Event: event.HookBefore}},
			{Turn: "t1", Item: "i1", Data: event.HookEnded{
				Hook: "h1", Outcome: event.Completed, Arguments: `{"command":"new"}`,
			}},
		},
	} {
		dir, log := t.TempDir(), good()
		ready, end := log[5].Data.(event.CallReady), log[8].Data.(event.ItemEnded)
		ready.Arguments = `{"command":"old"}`
		end.Arguments, end.Effective = ready.Arguments, `{"command":"new"}`
		log[5].Data, log[6].Data, log[8].Data = ready, event.CallStarted{Arguments: end.Effective}, end
		put(t, dir, "s", slices.Insert(log, 6, by...))
		var out bytes.Buffer
		if err := Show(&out, dir, "s"); err != nil {
			t.Fatal(err)
		}
		want := "\n→ shell {\"command\":\"new\"}\n  (" + name + "; the model wrote: {\"command\":\"old\"})\n"
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s:\n%s", name, out.String())
		}
	}
}

// C19: an input during a turn is shown at the position where it joined the turn.
func TestShowSteeredInput(t *testing.T) {
	dir := t.TempDir()
	log := good()[:9]
	log = append(log,
		event.Event{Data: event.InputAccepted{Input: "n2", Text: "and look twice", Mode: event.Steer}},
		event.Event{Turn: "t1", Attempt: "a2", Data: event.AttemptStarted{Step: 2, N: 1, Inputs: []string{"n2"}}},
		event.Event{Turn: "t1", Attempt: "a2", Item: "i2", Data: event.ItemStarted{Type: event.Message}},
		event.Event{
			Turn: "t1", Attempt: "a2", Item: "i2",
			Data: event.ItemEnded{
				Status: event.ItemCompleted, Content: event.Content{Type: event.Message, Text: "Twice it is."},
			},
		},
		event.Event{Turn: "t1", Attempt: "a2", Data: event.AttemptEnded{Outcome: event.Completed}},
		event.Event{Turn: "t1", Data: event.TurnCompleted{Answer: "Twice it is."}},
		event.Event{Data: event.SessionClosed{}},
	)
	put(t, dir, "s", log)
	var out bytes.Buffer
	if err := Show(&out, dir, "s"); err != nil {
		t.Fatal(err)
	}
	rest := out.String()
	for _, want := range []string{"\n> go\n", "\n→ shell", "\n> and look twice\n", "\nTwice it is.\n"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is not shown in its place:\n%s", want, out.String())
		}
		rest = after
	}
}

// A worktree that is kept is shown with the commands that merge and discard it.
func TestShowKeptWorktree(t *testing.T) {
	dir, tree := t.TempDir(), t.TempDir()
	w := &event.Worktree{From: "/home/me/project", Path: tree, Branch: "settle/feat"}
	log := good()[:9]
	opened := log[0].Data.(event.SessionOpened)
	opened.Worktree = w
	log[0].Data = opened
	log = append(log, event.Event{Turn: "t1", Data: event.TurnCompleted{}}, event.Event{Data: event.SessionClosed{
		Worktree: &event.WorktreeLeft{Kept: true, Why: "1 file changed"},
	}})
	put(t, dir, "s", log)
	var out bytes.Buffer
	if err := Show(&out, dir, "s"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"kept (branch settle/feat): 1 file changed\n", "\n  merge:   git -C /home/me/project merge settle/feat\n",
		"\n  discard: git -C /home/me/project worktree remove --force " + tree,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not show %q:\n%s", want, out.String())
		}
	}
}
