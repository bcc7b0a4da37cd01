package tui

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
)

// drawnLog is the log of a session, drawn at random: turns with attempts that fail,
// messages in deltas, calls that run at the same time and end in any order,
// approvals, jobs, inputs that wait, interrupts.
type drawnLog struct {
	t      *testing.T
	r      *rand.Rand
	events []event.Event
	state  event.State
	at     time.Time
	n      int // of ids

	turn, attempt string
	discarded     string   // a message that an attempt may say again
	calls         []string // that run
	ready         []string // that have not started
}

func drawLog(t *testing.T, seed uint64) []event.Event {
	l := &drawnLog{t: t, r: rand.New(rand.NewPCG(seed, 1)), at: time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)}
	l.add(
		event.Event{Data: event.SessionOpened{
			Dir: "/w", Frontend: "terminal", Permission: "ask", Notes: l.some("a note"),
		}},
	)
	for range 1 + l.r.IntN(3) {
		l.drawTurn()
	}
	return l.events
}

func (l *drawnLog) some(text string) []string {
	if l.r.IntN(3) > 0 {
		return nil
	}
	return []string{text}
}

func (l *drawnLog) id(kind string) string {
	l.n++
	return fmt.Sprint(kind, l.n)
}

func (l *drawnLog) add(e event.Event) {
	l.at = l.at.Add(time.Duration(l.r.IntN(3000)) * time.Millisecond)
	e.V, e.Session, e.Seq, e.At = event.Version, "s", uint64(len(l.events)+1), l.at
	state, err := event.Fold(l.state, e)
	if err != nil {
		l.t.Fatalf("cannot draw a log: %v: %+v", err, e)
	}
	l.state = state
	l.events = append(l.events, e)
}

// text is Markdown, more or less.
func (l *drawnLog) text() string {
	parts := []string{
		"Some words that say something. ", "**bold** and `code`, ", "日本語 👍 ", "\n\n", "\n", "- item\n", "  more\n", "1. one\n", "# Title\n", "```go\n", "```\n",
		"x := f(\"s\") // comment\n", "| a | b |\n|---|---|\n| 1 | 2 |\n", "> quoted\n", "\x1b[2Jowned\a ",
		"see https://example.org/a_b?c=d#e. ", "[a link](https://example.org/x) ",
		"averyveryverylongwordthatdoesnotfitanywhereatallwhateveritswidthmaybe ",
	}
	var b strings.Builder
	for range l.r.IntN(14) {
		b.WriteString(parts[l.r.IntN(len(parts))])
	}
	return b.String()
}

func (l *drawnLog) drawTurn() {
	input := l.id("i")
	l.add(event.Event{By: "user", Data: event.InputAccepted{Input: input, Text: "do " + l.text()}})
	l.turn = l.id("t")
	l.add(event.Event{Turn: l.turn, Data: event.TurnStarted{Inputs: []string{input}, Provider: "chat", Model: "m"}})
	steps := 1 + l.r.IntN(3)
	for step := 1; step <= steps; step++ {
		for n := 1; ; n++ {
			if l.r.IntN(12) == 0 {
				l.interrupt()
				return
			}
			if l.drawAttempt(step, n) {
				break
			}
		}
		for len(l.calls)+len(l.ready) > 0 {
			l.start()
			l.work()
		}
	}
	l.add(
		event.Event{
			Turn: l.turn,
			Data: event.TurnCompleted{Answer: "x", Summary: event.Summary{Steps: steps, Attempts: steps}},
		},
	)
}

// drawAttempt reports whether the attempt completed.
func (l *drawnLog) drawAttempt(step, n int) bool {
	l.attempt = l.id("a")
	l.add(event.Event{Turn: l.turn, Attempt: l.attempt, Data: event.AttemptStarted{Step: step, N: n}})
	var items []string
	fails := l.r.IntN(4) == 0
	for range l.r.IntN(4) {
		if kind := l.r.IntN(4); kind == 0 || kind == 1 {
			items = append(items, l.message(map[int]event.ItemType{0: event.Message, 1: event.Reasoning}[kind], !fails))
		} else if kind == 2 && !fails {
			for range 1 + l.r.IntN(4) {
				l.call()
			}
		} else {
			items = append(items, l.message(event.Message, !fails))
		}
	}
	if !fails {
		l.add(
			event.Event{
				Turn: l.turn, Attempt: l.attempt,
				Data: event.AttemptEnded{Outcome: event.Completed, Usage: event.Usage{Input: 100, Output: 10}},
			},
		)
		return true
	}
	wait := int64(4000)
	l.add(event.Event{Turn: l.turn, Attempt: l.attempt, Data: event.AttemptEnded{
		Outcome: event.Failed, Failure: &event.Failure{
			Name: "x", Message: "overloaded", Attempt: n,
		}, RetryIn: &wait, Discarded: items,
	}})
	return false
}

func (l *drawnLog) message(kind event.ItemType, calls bool) string {
	item := l.id("m")
	e := event.Event{Turn: l.turn, Attempt: l.attempt, Item: item, Data: event.ItemStarted{Type: kind}}
	l.add(e)
	text := l.text()
	if kind == event.Message {
		if l.discarded != "" && l.r.IntN(2) == 0 {
			text = l.discarded + text
		}
		if l.discarded = ""; !calls {
			l.discarded = text
		}
	}
	for rest := text; rest != ""; {
		n := min(1+l.r.IntN(25), len(rest))
		for n < len(rest) && rest[n]&0xc0 == 0x80 { // deltas are whole characters
			n++
		}
		e.Data = event.ItemDelta{Stream: event.Text, Text: rest[:n]}
		l.add(e)
		rest = rest[n:]
		if l.r.IntN(10) == 0 {
			if calls && l.r.IntN(3) == 0 { // one that begins meanwhile
				l.call()
			}
			l.start() // a call of before goes on
			l.work()
		}
	}
	e.Data = event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Type: kind, Text: text}}
	l.add(e)
	return item
}

func (l *drawnLog) call() {
	item, name := l.id("c"), "shell"
	switch l.r.IntN(5) {
	case 0:
		name = "edit"
	case 1, 2:
		name = []string{"read", "grep"}[l.r.IntN(2)]
	}
	e := event.Event{
		Turn: l.turn, Attempt: l.attempt, Item: item,
		Data: event.ItemStarted{Type: event.ToolCall, Name: name, CallID: item},
	}
	l.add(e)
	arguments, err := json.Marshal(map[string]string{
		"command": "make " + l.text(), "path": "a.go", "pattern": l.text(),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	e.Data = event.CallReady{Name: name, CallID: item, Arguments: string(arguments)}
	l.add(e)
	l.ready = append(l.ready, item)
	if l.r.IntN(2) == 0 {
		l.start()
	}
}

// start starts a call that is ready, and may ask before.
func (l *drawnLog) start() {
	if len(l.ready) == 0 {
		return
	}
	item := l.ready[0]
	l.ready = l.ready[1:]
	e := event.Event{Turn: l.turn, Attempt: l.state.Turn(l.turn).Item(item).Attempt, Item: item}
	if l.r.IntN(3) == 0 {
		approval := l.id("q")
		e.Data = event.ApprovalRequested{
			Approval: approval, Tool: "shell", Title: "make", Text: "shell\n  command:\n      make " + l.text(),
			Why: "it writes", Covers: "the same",
		}
		if l.state.Turn(l.turn).Item(item).Content().Name == "edit" {
			e.Data = event.ApprovalRequested{
				Approval: approval, Tool: "edit", Title: "edit a.go", Text: "edit a.go", Why: "it writes",
				Detail: l.edit(item, len(item)*13),
			}
		}
		l.add(e)
		if l.r.IntN(2) == 0 {
			l.work()
		}
		e.By, e.Data = "user", event.ApprovalEnded{Approval: approval, Verdict: event.Approved}
		l.add(e)
		e.By = ""
	}
	e.Data = event.CallStarted{Title: "make"}
	l.add(e)
	l.calls = append(l.calls, item)
}

// edit is the detail of an edit of some lines.
func (l *drawnLog) edit(item string, lines int) json.RawMessage {
	diff := fmt.Sprintf("--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,%d @@\n context %s\n-old line\n", lines+1, item)
	for n := range lines {
		diff += fmt.Sprintf("+line %d of the new text, 日本語 👍\n", n)
	}
	updated := map[string]any{"path": "a.go", "kind": "update", "diff": diff}
	raw, err := json.Marshal(map[string]any{"files": []any{updated}})
	if err != nil {
		l.t.Fatal(err)
	}
	return raw
}

// work has a call go on, or end.
func (l *drawnLog) work() {
	if len(l.calls) == 0 {
		return
	}
	n := l.r.IntN(len(l.calls))
	i := l.state.Turn(l.turn).Item(l.calls[n])
	e := event.Event{Turn: l.turn, Attempt: i.Attempt, Item: i.ID}
	if l.r.IntN(3) > 0 {
		e.Data = event.ItemDelta{Stream: event.Output, Text: l.text()}
		l.add(e)
		return
	}
	l.calls = append(l.calls[:n], l.calls[n+1:]...)
	content := i.Content()
	code := l.r.IntN(2)
	if looks(toolview.KindOf(content.Name)) {
		code = 0
	}
	content.ExitCode = &code
	if content.Name == "edit" { // as it was shown, or of a file that has changed since
		content.Detail = l.edit(i.ID, len(i.ID)*13+l.r.IntN(2))
	}
	status := event.ItemCompleted
	if code > 0 {
		status = event.ItemFailed
	}
	e.Data = event.ItemEnded{Status: status, Content: content}
	l.add(e)
}

// interrupt ends the turn as settle does.
func (l *drawnLog) interrupt() {
	l.add(event.Event{Turn: l.turn, By: "user", Data: event.InterruptRequested{Reason: event.Interrupted}})
	for _, e := range event.Endings(l.state, event.Abort(event.Interrupted, "user")) {
		l.add(e)
	}
	l.calls, l.ready = nil, nil
}
