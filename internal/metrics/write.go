package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/event"
)

// MediaType is that of what [Meter.Write] writes.
const MediaType = "text/plain; version=0.0.4; charset=utf-8"

// families are the metrics: name, type and help.
const families = `settle_approvals_waiting gauge Approvals that wait for an answer.
settle_attempt_duration_seconds histogram How long requests to models took.
settle_attempts_total counter Requests to models that ended, by outcome.
settle_cost_usd_total counter Cost of the requests whose price is known, in US dollars.
settle_jobs_running gauge Background jobs that sessions own and that run.
settle_retries_total counter Failed requests that were made again, by kind of failure.
settle_sessions_open gauge Sessions that are open.
settle_stalls_total counter Requests that were cut since no tokens came.
settle_time_to_first_token_seconds histogram Time from a request to a model until its first output.
settle_tokens_total counter Tokens by type: input includes cache_read and cache_write, output includes reasoning.
settle_tool_call_duration_seconds histogram How long tool calls ran.
settle_tool_calls_running gauge Tool calls that run.
settle_tool_calls_total counter Tool calls that started and ended, by status and cause.
settle_turn_duration_seconds histogram How long turns took.
settle_turns_running gauge Turns that run.
settle_turns_total counter Turns that ended, by outcome and cause.
settle_unpriced_attempts_total counter Requests that used tokens at a price that is not known.
`

// Held is what the open sessions of a host have now.
type Held struct{ Sessions, Jobs, Approvals int }

// Add adds a session.
func (h *Held) Add(s event.State) {
	h.Sessions++
	for _, j := range s.Jobs {
		if j.Ended == nil {
			h.Jobs++
		}
	}
	if t := s.Running(); t != nil { // a child's are those of its own session
		for _, a := range t.Approvals {
			if a.Ended == nil {
				h.Approvals++
			}
		}
	}
}

// Write writes all metrics down, given what the open sessions have.
func (m *Meter) Write(held Held) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	gauges := map[string]int{
		"settle_sessions_open": held.Sessions, "settle_jobs_running": held.Jobs, "settle_approvals_waiting": held.Approvals,
		"settle_turns_running": m.running, "settle_tool_calls_running": m.calls,
	}
	samples, times := slices.Sorted(maps.Keys(m.samples)), slices.Sorted(maps.Keys(m.times))
	var b strings.Builder
	for line := range strings.Lines(families) {
		family, rest, _ := strings.Cut(line, " ")
		kind, help, _ := strings.Cut(rest, " ")
		fmt.Fprintf(&b, "# HELP %s %s# TYPE %s %s\n", family, help, family, kind)
		if n, ok := gauges[family]; ok {
			fmt.Fprintf(&b, "%s %d\n", family, n)
		}
		for _, key := range samples {
			if name, _, _ := strings.Cut(key, "{"); name == family {
				fmt.Fprintf(&b, "%s %s\n", key, number(m.samples[key]))
			}
		}
		for _, key := range times {
			if name, labels, _ := strings.Cut(key, "{"); name == family {
				m.times[key].write(&b, name, strings.TrimSuffix(labels, "}"))
			}
		}
	}
	return b.String()
}

func (h *histogram) write(b *strings.Builder, name, labels string) {
	var n uint64
	for at, count := range h.counts {
		n += count
		bound := "+Inf"
		if at < len(bounds) {
			bound = number(bounds[at])
		}
		fmt.Fprintf(b, "%s_bucket{%s,le=%q} %d\n", name, labels, bound, n)
	}
	fmt.Fprintf(b, "%s_sum{%s} %s\n%s_count{%s} %d\n", name, labels, number(h.sum), name, labels, n)
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// labels writes pairs of names and values down.
func labels(pairs ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	for at := 0; at+1 < len(pairs); at += 2 {
		if at == 0 {
			b.WriteByte('{')
		} else {
			b.WriteByte(',')
		}
		b.WriteString(pairs[at] + `="` + escape.Replace(strings.ToValidUTF8(pairs[at+1], "\ufffd")) + `"`)
	}
	return b.String() + "}"
}
