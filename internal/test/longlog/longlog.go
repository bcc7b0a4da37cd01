// Package longlog makes logs of sessions that lasted for days, for tests and
// benchmarks: the cost of a step must not grow with the length of the log.
package longlog

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
)

// Provider and Model are the names of the session's provider and model.
const (
	Provider = "long"
	Model    = "long-1"
)

// Steps is the number of model responses of a turn.
type Steps int

// The shapes of sessions.
const (
	Few  Steps = 5
	Many Steps = 2_000
)

const (
	callsPerStep  = 2
	textDeltas    = 10
	outputDeltas  = 8
	outputBytes   = 7 << 10
	argumentParts = 5
)

// Updates returns the events of a session, about so many, a batch for each
// update of the log: whole turns of thoughts, messages, and calls with their
// output, in deltas and in endings. They have ids, and no numbers or times.
// 200,000 of them take about 136 MB.
func Updates(events int, steps Steps) iter.Seq[[]event.Event] {
	return func(yield func([]event.Event) bool) {
		w := &writer{steps: int(steps)}
		if !yield([]event.Event{{By: "host", Data: event.SessionOpened{Settle: "test", Dir: "/work"}}}) {
			return
		}
		for total := 1; total < events; {
			w.turn()
			total += len(w.out)
			if !yield(w.out) {
				return
			}
		}
		yield([]event.Event{{By: "host", Data: event.SessionClosed{}}})
	}
}

// Events returns the same with numbers and times, as a log has them.
func Events(session string, events int, steps Steps) iter.Seq[event.Event] {
	return func(yield func(event.Event) bool) {
		seq, at := uint64(0), time.Date(2026, 1, 2, 3, 4, 5, 6_000, time.UTC)
		for batch := range Updates(events, steps) {
			for _, e := range batch {
				seq++
				at = at.Add(7_654_321 * time.Nanosecond)
				e.V, e.Session, e.Seq, e.At = event.Version, session, seq, at
				if !yield(e) {
					return
				}
			}
		}
	}
}

// writer makes one turn after the other.
type writer struct {
	out                    []event.Event
	turns, attempts, items int
	turnID, attemptID      string
	steps                  int
	usage                  event.Usage // of the turn
}

func (w *writer) add(item string, d event.Data) {
	e := event.Event{Turn: w.turnID, Item: item, Data: d}
	if item != "" {
		e.Attempt = w.attemptID
	}
	w.out = append(w.out, e)
}

func (w *writer) turn() {
	w.out, w.usage = nil, event.Usage{}
	w.turns++
	input := fmt.Sprintf("n%06d", w.turns)
	w.out = append(
		w.out,
		event.Event{
			By: "user",
			Data: event.InputAccepted{
				Input: input,
				Text:  fmt.Sprintf("Now do part %d of the work, and test it.", w.turns),
			},
		},
	)
	w.turnID = fmt.Sprintf("t%06d", w.turns)
	w.add("", event.TurnStarted{Inputs: []string{input}, Provider: Provider, Model: Model})
	for step := range w.steps {
		w.step(step + 1)
	}
	w.add("", event.TurnCompleted{Answer: w.words(textDeltas), Summary: event.Summary{
		Steps: w.steps, Attempts: w.steps, Calls: (w.steps - 1) * callsPerStep, Usage: w.usage,
	}})
}

func (w *writer) step(n int) {
	w.attempts++
	w.attemptID = fmt.Sprintf("a%06d", w.attempts)
	w.out = append(
		w.out,
		event.Event{
			Turn:    w.turnID,
			Attempt: w.attemptID,
			Data:    event.AttemptStarted{Step: n, N: 1, Provider: Provider, Model: Model, MaxTokens: 32_000},
		},
	)
	signature := strings.Repeat("c2VhbA", 50)
	w.say(event.Reasoning, &event.ProviderSignature{Format: event.SignatureThinking, Data: signature})
	w.say(event.Message, nil)
	if n < w.steps {
		for range callsPerStep {
			w.call()
		}
	}
	w.usage = w.usage.Add(usage())
	w.out = append(w.out, event.Event{Turn: w.turnID, Attempt: w.attemptID, Data: event.AttemptEnded{
		Outcome: event.Completed, StopReason: "tool_use", ResponseID: "resp_" + w.attemptID, Usage: usage(),
	}})
}

func usage() event.Usage { return event.Usage{Input: 100_000, CacheRead: 98_000, Output: 600} }

func (w *writer) item() string {
	w.items++
	return fmt.Sprintf("i%06d", w.items)
}

// words is the text of so many deltas.
func (w *writer) words(n int) string {
	var b strings.Builder
	for k := range n {
		b.WriteString(w.word(k))
	}
	return b.String()
}

func (w *writer) word(k int) string {
	return fmt.Sprintf("part %d of turn %d says \"so\", and a little more than that; ", k, w.turns)
}

func (w *writer) say(kind event.ItemType, signature *event.ProviderSignature) {
	id := w.item()
	w.add(id, event.ItemStarted{Type: kind})
	for k := range textDeltas {
		w.add(id, event.ItemDelta{Stream: event.Text, Text: w.word(k)})
	}
	w.add(id, event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{
		Type: kind, Text: w.words(textDeltas), Provider: Provider, Model: Model, Signature: signature,
	}})
}

func (w *writer) call() {
	id := w.item()
	callID := "call_" + id
	args := fmt.Sprintf(`{"command":"go test ./internal/part%d && git diff --stat","timeout":%d}`, w.turns, w.items)
	w.add(id, event.ItemStarted{Type: event.ToolCall, CallID: callID, Name: "shell"})
	for k := range argumentParts {
		w.add(
			id,
			event.ItemDelta{
				Stream: event.Arguments,
				Text:   args[k*len(args)/argumentParts : (k+1)*len(args)/argumentParts],
			},
		)
	}
	w.add(id, event.CallReady{Name: "shell", CallID: callID, Arguments: args})
	w.add(id, event.CallStarted{Title: "go test"})
	line := fmt.Sprintf(
		"ok  \tgithub.com/example/project/internal/part%d\t0.%03ds  [item %s]\n", w.turns, w.items%1000, id,
	)
	output := strings.Repeat(line, outputBytes/len(line))
	for k := range outputDeltas {
		w.add(
			id,
			event.ItemDelta{
				Stream: event.Output,
				Text:   output[k*len(output)/outputDeltas : (k+1)*len(output)/outputDeltas],
			},
		)
	}
	zero := 0
	w.add(id, event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{
		Type: event.ToolCall, Provider: Provider, Model: Model, CallID: callID, Name: "shell", Arguments: args,
		Output: output, OutputBytes: int64(len(output)), ExitCode: &zero,
	}})
}
