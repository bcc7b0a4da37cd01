package metrics

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
)

// Meter counts. The zero value is ready.
type Meter struct {
	mu      sync.Mutex         // guards the fields below
	samples map[string]*Sample // by name and labels
	running int                // turns
	calls   int                // tool calls that run
}

// Turn counts a turn. It is the observer's hook of that name, as are Attempt, Output
// and Call.
func (m *Meter) Turn(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running++
	return ctx, func(ended event.Event) {
		outcome, cause := Ending(ended.Data)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running--
		m.add("settle_turns_total", []string{"outcome", outcome, "cause", cause}, 1)
		m.time("settle_turn_duration_seconds", []string{"outcome", outcome}, started.At, ended.At)
	}
}

// Attempt counts a request to a model and its usage.
func (m *Meter) Attempt(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
	d, _ := started.Data.(event.AttemptStarted)
	return ctx, func(ended event.Event) {
		end, isLogged := ended.Data.(event.AttemptEnded)
		if !isLogged {
			end.Outcome = Unrecorded
		}
		of := ofModel(started)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.add(
			"settle_attempts_total", []string{"provider", d.Provider, "model", d.Model, "outcome", string(end.Outcome)},
			1,
		)
		m.time("settle_attempt_duration_seconds", of, started.At, ended.At)
		if isLogged {
			m.time(
				"gen_ai_client_operation_duration_seconds", chat(d, "error_type", ErrorType(end)), started.At, ended.At,
			)
		}
		m.failed(of, d, end)
		m.used(of, d, end)
	}
}

// Output counts how long it took until the model's first output.
func (m *Meter) Output(_ context.Context, started, first event.Event) {
	of := ofModel(started)
	d, _ := started.Data.(event.AttemptStarted)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.time("settle_time_to_first_token_seconds", of, started.At, first.At)
	m.time("gen_ai_client_operation_time_to_first_chunk_seconds", chat(d), started.At, first.At)
}

// chat are the labels of a request to a model in OpenTelemetry's conventions, and more.
func chat(d event.AttemptStarted, more ...string) []string {
	return append([]string{
		"gen_ai_operation_name", "chat", "gen_ai_provider_name", ProviderName(d.Provider),
		"gen_ai_request_model", d.Model,
	}, more...)
}

// ProviderName is a provider's name in OpenTelemetry's conventions.
func ProviderName(name string) string {
	if name == "gemini" {
		return "gcp.gemini"
	}
	return name
}

// ErrorType is the kind of an attempt's failure, or the reason of its abort. It is empty
// for a completed attempt.
func ErrorType(end event.AttemptEnded) string {
	if end.Failure != nil {
		return cmp.Or(end.Failure.Kind, end.Failure.Name)
	}
	return string(end.Reason)
}

// ofModel returns the labels of a request to a model.
func ofModel(started event.Event) []string {
	d, _ := started.Data.(event.AttemptStarted)
	return []string{"provider", d.Provider, "model", d.Model}
}

// failed counts how an attempt failed. Callers hold m.mu.
func (m *Meter) failed(of []string, d event.AttemptStarted, end event.AttemptEnded) {
	if end.Failure == nil {
		return
	}
	kind := cmp.Or(end.Failure.Kind, end.Failure.Name)
	if end.RetryIn != nil {
		m.add("settle_retries_total", []string{"provider", d.Provider, "model", d.Model, "kind", kind}, 1)
	}
	if kind == stalled {
		m.add("settle_stalls_total", of, 1)
	}
}

// used counts the tokens of an attempt and their price. Callers hold m.mu.
func (m *Meter) used(of []string, d event.AttemptStarted, end event.AttemptEnded) {
	u := end.Usage
	for _, t := range []struct {
		kind string
		n    int64
	}{
		{"input", u.Input},
		{"cache_read", u.CacheRead},
		{"cache_write", u.CacheWrite},
		{"output", u.Output},
		{"reasoning", u.Reasoning},
	} {
		if t.n > 0 {
			m.add("settle_tokens_total", []string{"provider", d.Provider, "model", d.Model, "type", t.kind}, float64(t.n))
		}
		if t.n > 0 && (t.kind == "input" || t.kind == "output") {
			m.observe("gen_ai_client_token_usage", chat(d, "gen_ai_token_type", t.kind), float64(t.n))
		}
	}
	switch {
	case end.Cost != nil:
		m.add("settle_cost_usd_total", of, *end.Cost)
	case u != event.Usage{}:
		m.add("settle_unpriced_attempts_total", of, 1)
	}
}

// Call counts a tool call.
func (m *Meter) Call(ctx context.Context, tool string, started event.Event) (context.Context, func(event.Event)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	return ctx, func(ended event.Event) {
		status, cause := string(Unrecorded), ""
		if d, ok := ended.Data.(event.ItemEnded); ok {
			status, cause = string(d.Status), CauseOf(d.Cause)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.calls--
		m.add("settle_tool_calls_total", []string{"tool", tool, "status", status, "cause", cause}, 1)
		m.time("settle_tool_call_duration_seconds", []string{"tool", tool}, started.At, ended.At)
	}
}

// CauseOf names the cause of a call's end; it is empty if there is none.
func CauseOf(c *event.Cause) string {
	if c == nil {
		return ""
	}
	return string(cmp.Or(c.Reason, event.Reason(c.Outcome)))
}

const (
	// Unrecorded is the outcome if the log could not record the ending.
	Unrecorded event.Outcome = "unrecorded"
	// stalled is the kind of failure of an attempt that the watchdog cut.
	stalled = "stalled"
)

// Ending returns a turn's outcome, and the cause if the turn did not complete.
func Ending(data event.Data) (outcome, cause string) {
	switch d := data.(type) {
	case event.TurnCompleted:
		return string(event.Completed), ""
	case event.TurnAborted:
		if d.Limit != "" {
			return string(event.Aborted), string(d.Reason) + ":" + string(d.Limit)
		}
		return string(event.Aborted), string(d.Reason)
	case event.TurnFailed:
		if d.Failure != nil {
			return string(event.Failed), cmp.Or(d.Failure.Kind, d.Failure.Name)
		}
		return string(event.Failed), ""
	}
	return string(Unrecorded), ""
}

// sample returns the sample of a metric for some labels. Callers hold m.mu.
func (m *Meter) sample(name string, labels []string) *Sample {
	if m.samples == nil {
		m.samples = map[string]*Sample{}
	}
	key := name + text(labels)
	if m.samples[key] == nil {
		m.samples[key] = &Sample{Labels: labels}
	}
	return m.samples[key]
}

func (m *Meter) add(name string, labels []string, n float64) { m.sample(name, labels).Value += n }

func (m *Meter) time(name string, labels []string, started, ended time.Time) {
	if started.IsZero() || ended.IsZero() {
		return // the log did not take one of them
	}
	m.observe(name, labels, max(ended.Sub(started), 0).Seconds())
}

// observe adds a value to a histogram. Callers hold m.mu.
func (m *Meter) observe(name string, labels []string, value float64) {
	s := m.sample(name, labels)
	if s.Counts == nil {
		s.Bounds = boundsOf(name)
		s.Counts = make([]uint64, len(s.Bounds)+1)
	}
	at, _ := slices.BinarySearch(s.Bounds, value)
	s.Counts[at]++
	s.Value += value
}

// boundsOf returns the upper bounds of a histogram's buckets. OpenTelemetry's metrics use
// the bounds that its conventions advise
// (https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-metrics.md).
func boundsOf(name string) []float64 {
	switch name {
	case "gen_ai_client_operation_duration_seconds":
		return []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	case "gen_ai_client_operation_time_to_first_chunk_seconds":
		return []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	case "gen_ai_client_token_usage":
		return []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
	}
	// In seconds: from a call that reads a file to a turn that works for hours.
	return []float64{0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600}
}
