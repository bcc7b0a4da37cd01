package metrics

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Run(m)) }

func at(seconds float64, data event.Data) event.Event {
	return event.Event{At: time.Unix(1000, 0).Add(time.Duration(seconds * float64(time.Second))), Data: data}
}

// waiting is a session with a job that runs, one that has ended, and a call that waits
// for an approval.
func waiting(t *testing.T) event.State {
	t.Helper()
	return event.State{
		Jobs:  []*event.Job{{}, {Ended: &event.JobEnded{}}},
		Turns: []*event.Turn{{Approvals: []*event.Approval{{Ended: &event.ApprovalEnded{}}, {}}}},
	}
}

func TestCounts(t *testing.T) {
	var m Meter
	ctx := context.Background()
	cost, wait := 0.25, int64(500)
	_, endTurn := m.Turn(ctx, at(0, event.TurnStarted{}))
	_, endOpen := m.Turn(ctx, at(0, event.TurnStarted{}))
	attempt := at(1, event.AttemptStarted{Provider: "p", Model: `a "b"\c`})
	m.Output(ctx, attempt, at(1.4, event.ItemDelta{}))
	for _, end := range []event.AttemptEnded{
		{Outcome: event.Failed, Failure: &event.Failure{Name: "ProviderError", Kind: "stalled"}, RetryIn: &wait},
		{Outcome: event.Completed, Usage: event.Usage{Input: 10, CacheRead: 4, Output: 3}, Cost: &cost},
		{Outcome: event.Completed, Usage: event.Usage{Input: 5, Output: 1}},
	} {
		_, ended := m.Attempt(ctx, attempt)
		ended(at(3, end))
	}
	_, ended := m.Call(ctx, "shell", at(1, event.CallStarted{}))
	_, _ = m.Call(ctx, "shell", at(1, event.CallStarted{}))
	ended(
		at(
			1.02,
			event.ItemEnded{
				Status: event.ItemAborted,
				Cause:  &event.Cause{Outcome: event.Aborted, Reason: event.Interrupted},
			},
		),
	)
	endTurn(at(7, event.TurnAborted{Reason: event.LimitReached, Limit: event.LimitCost}))
	_, endLost := m.Turn(ctx, at(0, event.TurnStarted{}))
	endLost(event.Event{}) // the log could not take its ending
	held := Held{Sessions: 3}
	held.Add(waiting(t))
	got := m.Write(held)
	of := `{provider="p",model="a \"b\"\\c"`
	for _, want := range []string{
		"settle_sessions_open 4",
		"settle_turns_running 1",
		"settle_tool_calls_running 1",
		"settle_jobs_running 1",
		"settle_approvals_waiting 1",
		"settle_time_to_first_token_seconds_bucket" + of + `,le="0.1"} 0`,
		"settle_time_to_first_token_seconds_bucket" + of + `,le="0.5"} 1`,
		`settle_turns_total{outcome="aborted",cause="limit:cost"} 1`,
		`settle_turns_total{outcome="unrecorded",cause=""} 1`,
		`settle_turn_duration_seconds_bucket{outcome="aborted",le="5"} 0`,
		`settle_turn_duration_seconds_bucket{outcome="aborted",le="10"} 1`,
		`settle_turn_duration_seconds_bucket{outcome="aborted",le="+Inf"} 1`,
		`settle_turn_duration_seconds_sum{outcome="aborted"} 7`,
		`settle_turn_duration_seconds_count{outcome="aborted"} 1`,
		"settle_attempts_total" + of + `,outcome="completed"} 2`,
		"settle_attempts_total" + of + `,outcome="failed"} 1`,
		"settle_retries_total" + of + `,kind="stalled"} 1`,
		"settle_stalls_total" + of + `} 1`,
		"settle_tokens_total" + of + `,type="input"} 15`,
		"settle_tokens_total" + of + `,type="cache_read"} 4`,
		"settle_tokens_total" + of + `,type="output"} 4`,
		"settle_cost_usd_total" + of + `} 0.25`,
		"settle_unpriced_attempts_total" + of + `} 1`,
		`settle_tool_calls_total{tool="shell",status="aborted",cause="interrupted"} 1`,
		`settle_tool_call_duration_seconds_bucket{tool="shell",le="0.01"} 0`,
		`settle_tool_call_duration_seconds_bucket{tool="shell",le="0.05"} 1`,
	} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("there is no line %q", want)
		}
	}
	if strings.Contains(got, `settle_turn_duration_seconds_count{outcome="unrecorded"}`) {
		t.Error("an ending without a time has a duration")
	}
	if t.Failed() {
		t.Log(got)
	}
	endOpen(at(8, event.TurnCompleted{}))
	if got := m.Write(Held{}); !strings.Contains(got, "\nsettle_turns_running 0\n") {
		t.Errorf("a turn still runs:\n%s", got)
	}
}
