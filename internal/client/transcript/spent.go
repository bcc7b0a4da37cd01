package transcript

import (
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
)

// Total returns the sum of all requests of a session, including the requests of reviews.
func Total(s event.State) (sum event.Summary) {
	for _, t := range s.Turns {
		for _, r := range t.ModelRequests() {
			sum.Attempts++
			if r.Spent != nil {
				sum.Add(*r.Spent)
			}
		}
	}
	return sum
}

// SpentIn returns the cost of a turn as [Spent] does, and counts all calls that people see,
// including calls that failed or were denied before they started.
func SpentIn(t *event.Turn) []string {
	sum := t.Summary
	sum.Calls = 0
	for _, i := range t.Items {
		if i.Type() == event.ToolCall && !i.Discarded {
			sum.Calls++
		}
	}
	return Spent(sum)
}

// Spent returns the cost of a turn, in parts: "2 requests", "1 call", "12.3k tokens in (80%
// cached)", "950 out", "$0.02". An unknown cost is left out.
func Spent(sum event.Summary) (parts []string) {
	for _, n := range []struct {
		n    int
		what string
	}{{sum.Attempts, "request"}, {sum.Calls, "call"}} {
		if n.n > 0 {
			parts = append(parts, terminal.Count(n.n, n.what))
		}
	}
	if sum.Denied > 0 {
		parts = append(parts, fmt.Sprintf("%d denied", sum.Denied))
	}
	if in := sum.Usage.Input; in > 0 {
		cached := ""
		if read := sum.Usage.CacheRead; read > 0 {
			cached = fmt.Sprintf(" (%d%% cached)", read*100/max(in, read))
		}
		parts = append(parts, terminal.Tokens(in)+" tokens in"+cached, terminal.Tokens(sum.Usage.Output)+" out")
	}
	if cost, known := sum.CostUSD(); known {
		parts = append(parts, terminal.Dollars(cost))
	}
	return parts
}

// minQuestionTime is the least time at questions that [Elapsed] names.
const minQuestionTime = time.Second

// Elapsed returns how long a turn took, in the form of the frontend, with the part in which its
// questions waited: "6.8 s, 5.3 s of it at questions".
func Elapsed(t *event.Turn, words func(time.Duration) string) string {
	out := words(t.EndedAt.Sub(t.StartedAt))
	if waiting := questionTime(t); waiting >= minQuestionTime {
		out += ", " + words(waiting) + " of it at questions"
	}
	return out
}

// questionTime is the time of a turn in which at least one question waited for its answer.
func questionTime(t *event.Turn) (sum time.Duration) {
	until := time.Time{}
	for _, a := range t.Approvals { // in the order of their times
		from := a.At
		if from.Before(until) {
			from = until
		}
		if a.Ended != nil && a.EndedAt.After(from) {
			sum += a.EndedAt.Sub(from)
			until = a.EndedAt
		}
	}
	return sum
}
