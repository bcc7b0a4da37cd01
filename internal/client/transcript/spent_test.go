package transcript_test

import (
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

func TestSpent(t *testing.T) {
	usage := event.Usage{Input: 12_345, CacheRead: 10_000, Output: 950}
	for want, sum := range map[string]event.Summary{
		"": {},
		"1 request, 2 calls, 1 denied, 12.3k tokens in (81% cached), 950 out, $0.0200": {
			Attempts: 1, Calls: 2, Denied: 1, Usage: usage, Cost: 0.02,
		},
		"2 requests, 12.3k tokens in (81% cached), 950 out": {
			Attempts: 2, Usage: usage, Cost: 0.02, Unpriced: 1,
		},
	} {
		if got := strings.Join(transcript.Spent(sum), ", "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// The calls of a turn are the calls that people see, including calls that never started.
func TestSpentInCountsFailedCalls(t *testing.T) {
	var s event.State
	for n, e := range []event.Event{
		{Data: event.SessionOpened{Dir: "/w"}},
		{Data: event.InputAccepted{Input: "n", Text: "edit"}},
		{Turn: "t", Data: event.TurnStarted{Inputs: []string{"n"}}},
		{Turn: "t", Attempt: "a", Data: event.AttemptStarted{Step: 1, N: 1}},
		{Turn: "t", Attempt: "a", Item: "i", Data: event.ItemStarted{Type: event.ToolCall, Name: "edit", CallID: "c"}},
		{Turn: "t", Attempt: "a", Item: "i", Data: event.ItemEnded{
			Status: event.ItemFailed, Content: event.Content{Type: event.ToolCall, Name: "edit", CallID: "c"},
		}},
	} {
		e.V, e.Session, e.Seq, e.At = event.Version, "s", uint64(n+1), time.Unix(int64(n), 0)
		var err error
		if s, err = event.Fold(s, e); err != nil {
			t.Fatal(err)
		}
	}
	s.Turns[0].Summary = event.Summary{Attempts: 1}
	if got := strings.Join(transcript.SpentIn(s.Turns[0]), ", "); got != "1 request, 1 call" {
		t.Error(got)
	}
}

// The total of a session has its reviews, as the sums of its turns have.
func TestTotalIncludesReviews(t *testing.T) {
	request, review := 0.5, 0.25
	usage := event.Usage{Input: 100, Output: 5}
	s := event.State{Turns: []*event.Turn{{
		Attempts: []*event.Attempt{{End: &event.AttemptEnded{Usage: usage, Cost: &request}}, {}},
		Hooks:    []*event.Hook{{Ended: &event.HookEnded{Usage: &usage, Cost: &review}}, {}},
	}}}
	want := event.Summary{Attempts: 3, Usage: usage.Add(usage), Cost: 0.75}
	if got := transcript.Total(s); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The time of a turn names the part in which its questions waited; questions that overlap count once.
func TestElapsedNamesTimeAtQuestions(t *testing.T) {
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	asked := func(from, to int) *event.Approval {
		return &event.Approval{At: at(from), Ended: &event.ApprovalEnded{}, EndedAt: at(to)}
	}
	for want, approvals := range map[string][]*event.Approval{
		"20s":                         nil,
		"20s, 7s of it at questions":  {asked(1, 3), asked(5, 10)},
		"20s, 9s of it at questions":  {asked(1, 8), asked(2, 4), asked(6, 10)},
		"20s, 20s of it at questions": {asked(0, 20), {At: at(4)}},
	} {
		turn := &event.Turn{StartedAt: at(0), EndedAt: at(20), Approvals: approvals}
		if got := transcript.Elapsed(turn, time.Duration.String); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	quick := &event.Turn{StartedAt: at(0), EndedAt: at(20), Approvals: []*event.Approval{{
		At: at(0), Ended: &event.ApprovalEnded{}, EndedAt: at(0).Add(time.Millisecond),
	}}}
	if got := transcript.Elapsed(quick, time.Duration.String); got != "20s" {
		t.Errorf("an answer of a rule: %q", got)
	}
}
