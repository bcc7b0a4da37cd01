package metrics

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/event"
)

// MediaType is the media type of [Meter.Write]'s output.
const MediaType = "text/plain; version=0.0.4; charset=utf-8"

// families are the metrics: name, type and help.
const families = `gen_ai_client_operation_duration_seconds histogram How long requests to models took.
gen_ai_client_operation_time_to_first_chunk_seconds histogram Time from a request to a model until its first output.
gen_ai_client_token_usage histogram Input and output tokens of requests to models.
settle_approvals_waiting gauge Approvals that wait for an answer.
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

// Held counts the open sessions of a host, their jobs and their approvals.
type Held struct{ Sessions, Jobs, Approvals int }

// Add adds a session.
func (h *Held) Add(s event.State) {
	h.Sessions++
	for _, j := range s.Jobs {
		if j.Ended == nil {
			h.Jobs++
		}
	}
	if t := s.Running(); t != nil { // a child agent's session counts its own
		for _, a := range t.Approvals {
			if a.Ended == nil {
				h.Approvals++
			}
		}
	}
}

// Family is a metric: its type is counter, gauge or histogram.
type Family struct {
	Name, Type, Help string
	Samples          []Sample
}

// Sample is the value of a metric for some labels: pairs of names and values. Value is the
// sum of a histogram, whose Counts are the values in each bucket: up to each of the Bounds,
// and above the last.
type Sample struct {
	Labels []string
	Value  float64
	Bounds []float64
	Counts []uint64
}

// Families returns all metrics.
func (m *Meter) Families(held Held) []Family {
	m.mu.Lock()
	defer m.mu.Unlock()
	gauges := map[string]int{
		"settle_sessions_open":      held.Sessions,
		"settle_jobs_running":       held.Jobs,
		"settle_approvals_waiting":  held.Approvals,
		"settle_turns_running":      m.running,
		"settle_tool_calls_running": m.calls,
	}
	keys := slices.Sorted(maps.Keys(m.samples))
	var all []Family
	for line := range strings.Lines(families) {
		name, rest, _ := strings.Cut(line, " ")
		kind, help, _ := strings.Cut(rest, " ")
		f := Family{Name: name, Type: kind, Help: strings.TrimSuffix(help, "\n")}
		if n, ok := gauges[name]; ok {
			f.Samples = []Sample{{Value: float64(n)}}
		}
		for _, key := range keys {
			if strings.HasPrefix(key, name+"{") {
				s := *m.samples[key]
				s.Counts = slices.Clone(s.Counts)
				f.Samples = append(f.Samples, s)
			}
		}
		all = append(all, f)
	}
	return all
}

// Write writes all metrics.
func (m *Meter) Write(held Held) string {
	var b strings.Builder
	for _, f := range m.Families(held) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", f.Name, f.Help, f.Name, f.Type)
		for _, s := range f.Samples {
			if s.Counts == nil {
				fmt.Fprintf(&b, "%s%s %s\n", f.Name, text(s.Labels), number(s.Value))
			} else {
				s.writeBuckets(&b, f.Name)
			}
		}
	}
	return b.String()
}

func (s Sample) writeBuckets(b *strings.Builder, name string) {
	var n uint64
	for at, count := range s.Counts {
		n += count
		bound := "+Inf"
		if at < len(s.Bounds) {
			bound = number(s.Bounds[at])
		}
		fmt.Fprintf(b, "%s_bucket%s %d\n", name, text(append(slices.Clone(s.Labels), "le", bound)), n)
	}
	labels := text(s.Labels)
	fmt.Fprintf(b, "%s_sum%s %s\n%s_count%s %d\n", name, labels, number(s.Value), name, labels, n)
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// text returns labels as text of the form {name="value",…}; empty without labels.
func text(pairs []string) string {
	if len(pairs) == 0 {
		return ""
	}
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
