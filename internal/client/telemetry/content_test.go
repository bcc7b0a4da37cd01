package telemetry

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
)

// foreign is part of all texts that a provider, a tool, a model, a client or the user writes.
const foreign = "FOREIGN text"

// foreignTurn has an exporter see a failed turn, in which everything failed, with foreign
// text wherever an event can have some.
func foreignTurn(x *Exporter) {
	e := func(by string, data event.Data) event.Event {
		return event.Event{Session: "s", Turn: "t", Attempt: "a", Item: "i", By: by, At: time.Now(), Data: data}
	}
	failure := func(kind string, status int) *event.Failure {
		return &event.Failure{
			Name: event.NameProvider, Kind: kind, Status: status, URL: foreign, Body: foreign,
			Message: foreign + " of " + kind, Stack: foreign,
		}
	}
	ctx, endTurn := x.Turn(context.Background(), e(foreign, event.TurnStarted{Inputs: []string{foreign}, Model: "m"}))
	_, endAttempt := x.Attempt(ctx, e(foreign, event.AttemptStarted{Model: "m", Inputs: []string{foreign}}))
	endAttempt(
		e(
			foreign,
			event.AttemptEnded{
				Outcome: event.Failed, StopReason: foreign, ResponseID: foreign,
				Failure: failure("invalid_request", 400),
			},
		),
	)
	for _, cause := range []*event.Cause{
		event.Fail(failure("server", 0)),
		{Outcome: event.Aborted, Reason: event.TimedOut, By: foreign, Message: foreign + " of a call"},
	} {
		_, endCall := x.Call(ctx, "shell", e(foreign, nil))
		endCall(e(foreign, event.ItemEnded{Status: event.ItemFailed, Cause: cause, Content: event.Content{
			Text: foreign, Arguments: foreign + " as arguments", Output: foreign +
				" as output", OutputFile: foreign, Survivors: []event.Process{{Command: foreign, Why: foreign}},
		}}))
	}
	endTurn(e(foreign, event.TurnFailed{Failure: failure("overloaded", 529)}))
	_, endTurn = x.Turn(context.Background(), e(foreign, event.TurnStarted{}))
	endTurn(e(foreign, event.TurnAborted{Reason: event.Interrupted, Message: foreign}))
	_, endTurn = x.Turn(context.Background(), e("", event.TurnStarted{}))
	endTurn(e("", event.TurnFailed{Failure: &event.Failure{Name: event.NameInternal, Message: foreign}}))
}

// TestForeignText: texts of others are exported only with content capture.
func TestForeignText(t *testing.T) {
	for _, content := range []bool{false, true} {
		t.Run(fmt.Sprint(content), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &collector{answers: answers{status(200, "", "")}}
				x := start(c, nil, func(s *Settings) { s.Content = content })
				foreignTurn(x)
				if err := x.Close(t.Context()); err != nil {
					t.Error(err)
				}
				got := string(bytes.Join(c.taken(), nil))
				if !content && strings.Contains(got, "FOREIGN") {
					t.Errorf("foreign text is exported: %q", got)
				}
				only := map[bool][]string{
					false: {"invalid_request (HTTP status 400)", "overloaded (HTTP status 529)"},
					true: {
						foreign + " of invalid_request", foreign + " of overloaded", foreign + " of a call", foreign +
							" as arguments", foreign + " as output",
						"settle.turn.by", "gen_ai.response.id", "gen_ai.response.finish_reasons",
					},
				}
				for with, texts := range only {
					for _, text := range texts {
						if strings.Contains(got, text) != (with == content) {
							t.Errorf("%q is exported, or is not: %q", text, got)
						}
					}
				}
				for _, text := range []string{
					"http.response.status_code", "error.type", "invalid_request", event.NameInternal, "interrupted",
					"timeout",
				} {
					if !strings.Contains(got, text) {
						t.Errorf("%q is not exported: %q", text, got)
					}
				}
			})
		})
	}
}

// TestNamesOfOthers: names are exported, and names that could be texts are not.
func TestNamesOfOthers(t *testing.T) {
	x := &Exporter{}
	for name, isName := range map[string]bool{
		"": true, "end_turn": true, "resp_bGl0ZWxsbTpjdXN0b20=": true, "claude-ai": true, strings.Repeat("a", 256): true,
		"two words": false, "two\nlines": false, "naïve": false, strings.Repeat("a", 257): false,
	} {
		if got := x.label(name); (got == name) != isName || !isName && got != "" {
			t.Errorf("%q: got %q", name, got)
		}
	}
}
