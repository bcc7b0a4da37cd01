package tui

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
)

// showCost shows the session's usage, by model.
func (u *UI) showCost(string) {
	used, requests := map[string]event.Summary{}, map[string]int{}
	var models []string
	for _, t := range u.state().Turns {
		for _, a := range t.ModelRequests() {
			name := a.FullName()
			if !slices.Contains(models, name) {
				models = append(models, name)
			}
			requests[name]++
			if a.Spent != nil {
				sum := used[name]
				sum.Add(*a.Spent)
				used[name] = sum
			}
		}
	}
	if len(models) == 0 {
		u.showHint("no request was made yet")
		return
	}
	var lines []string
	for _, name := range models {
		u, cost := used[name].Usage, "not known"
		if usd, known := used[name].CostUSD(); known {
			cost = terminal.Dollars(usd)
		}
		lines = append(lines, fmt.Sprintf("%s: %s", name, terminal.Count(requests[name], "request")),
			fmt.Sprintf(
				"    input   %s tokens, of which %s were read from the provider's cache", terminal.Tokens(u.Input),
				terminal.Tokens(u.CacheRead),
			),
			fmt.Sprintf(
				"    output  %s tokens, of which %s are reasoning", terminal.Tokens(u.Output),
				terminal.Tokens(u.Reasoning),
			),
			"    cost    "+cost)
	}
	lines = append(
		lines, "", "The providers count the tokens. Costs use their list prices, or the prices in your configuration.",
	)
	u.lines("Cost", lines)
}

// stretch is something that ran in a turn.
type stretch struct {
	at, until time.Time
	what      string
}

// showTimeline shows the times of all turns, requests and calls.
func (u *UI) showTimeline(string) {
	s := u.state()
	var lines []string
	for _, t := range s.Turns {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(
			lines,
			fmt.Sprintf(
				"%s  %s  %s", t.StartedAt.Local().Format("2006-01-02 15:04:05"), t.ID, terminal.OneLine(textOf(t)),
			),
		)
		stretches := stretchesOf(t, s.Host.Dir)
		slices.SortStableFunc(stretches, func(a, b stretch) int { return a.at.Compare(b.at) })
		for _, m := range stretches {
			elapsed := "runs"
			if !m.until.IsZero() {
				elapsed = span(m.until.Sub(m.at))
			}
			lines = append(lines, fmt.Sprintf("    +%-8s %-8s %s", span(m.at.Sub(t.StartedAt)), elapsed, m.what))
		}
		if t.Cause != nil {
			lines = append(lines, fmt.Sprintf("    +%-8s %s", span(t.EndedAt.Sub(t.StartedAt)), howEnded(t)))
		}
	}
	if len(lines) == 0 {
		u.showHint("nothing ran yet")
		return
	}
	u.lines("Timeline", lines)
}

func howEnded(t *event.Turn) string {
	if t.Cause.Outcome == event.Completed {
		return event.EndingWords(event.Completed, "")
	}
	return terminal.OneLine(t.Cause.Error())
}

// stretchesOf returns the requests, questions and calls of a turn.
func stretchesOf(t *event.Turn, dir string) (out []stretch) {
	for n, a := range t.Attempts {
		m := stretch{
			at: a.StartedAt, until: a.EndedAt,
			what: fmt.Sprintf("request %d to %s/%s", n+1, a.Start.Provider, a.Start.Model),
		}
		if a.End != nil && a.End.Failure != nil {
			m.what += ": " + terminal.OneLine(a.End.Failure.Message)
		}
		out = append(out, m)
	}
	questioned := map[string]bool{}
	for _, a := range t.Approvals {
		questioned[a.Call] = true
		m := stretch{at: a.At, until: a.EndedAt, what: "question: " + terminal.OneLine(cmp.Or(a.Title, a.Tool))}
		if a.Ended != nil {
			m.what += "  (" + a.Ended.Past() + ")"
		}
		out = append(out, m)
	}
	for _, i := range t.Items {
		if i.Type() != event.ToolCall || !i.Started && (questioned[i.ID] || i.Status == event.ItemOpen) {
			continue // the row of the question shows the outcome of a call that did not start
		}
		content := i.Content()
		m := stretch{
			at: i.StartedAt, until: i.EndedAt,
			what: title(toolview.New(content.Name, content.RanWith(), dir)),
		}
		if !i.Started {
			m.at = i.BegunAt
		}
		if how := transcript.Ending(i); how != "" && i.Status != event.ItemCompleted {
			m.what += "  (" + how + ")"
		}
		out = append(out, m)
	}
	return out
}
