package metrics

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// Metrics are those of one worker. Its methods may be called by several goroutines.
type Metrics struct {
	registry *prometheus.Registry

	attempts, rescued, turns, retries, tokens, cost, unpriced *prometheus.CounterVec
	started, ended, duration, usage                           *prometheus.HistogramVec
	running                                                   prometheus.Gauge
}

// New returns metrics. Queue is asked at each scrape for what waits and runs in the
// whole fleet, and commits for how many transactions have stored this worker's logs.
func New(slots int, commits func() int64, queue Queue) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	// From a tenth of a second to 14 hours.
	waits := prometheus.ExponentialBuckets(0.1, 3, 13)
	// Those that the semantic conventions advise.
	durations, sizes := prometheus.ExponentialBuckets(0.01, 2, 14), prometheus.ExponentialBuckets(1, 4, 14)
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		attempts: counter("settle_fleet_attempts_total", "Tasks that this worker took.", "tenant"),
		rescued:  counter("settle_fleet_rescued_total", "Tasks that this worker took from one that had died or stood still.", "tenant"),
		started:  histogram("settle_fleet_start_seconds", "Time from a task's submission until a worker first took it.", waits, "tenant"),
		ended:    histogram("settle_fleet_end_seconds", "Time from a task's submission to its end.", waits, "tenant", "outcome", "reason"),
		running:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "settle_fleet_running", Help: "Tasks that this worker runs now."}),
		turns:    counter("settle_turns_total", "Turns that have ended.", "outcome", "reason"),
		retries:  counter("settle_retries_total", "Requests to models that failed and are made again.", "gen_ai_provider_name", "error_type"),
		tokens:   counter("settle_tokens_total", "Tokens of requests to models.", "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_token_type"),
		cost:     counter("settle_cost_usd_total", "What requests to models cost whose price is known, in US dollars.", "gen_ai_provider_name", "gen_ai_request_model"),
		unpriced: counter("settle_unpriced_total", "Requests to models that took tokens at a price that is not known.", "gen_ai_provider_name", "gen_ai_request_model"),
		duration: histogram("gen_ai_client_operation_duration_seconds", "How long requests to models took.", durations,
			"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "error_type"),
		usage: histogram("gen_ai_client_token_usage", "Input and output tokens of requests to models.", sizes,
			"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_token_type"),
	}
	size := prometheus.NewGauge(prometheus.GaugeOpts{Name: "settle_fleet_slots", Help: "Tasks that this worker runs at a time."})
	size.Set(float64(slots))
	stored := prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "settle_fleet_log_transactions_total", Help: "Transactions that stored this worker's logs."},
		func() float64 { return float64(commits()) })
	m.registry.MustRegister(m.attempts, m.rescued, m.started, m.ended, m.running, m.turns, m.retries, m.tokens, m.cost, m.unpriced, m.duration, m.usage,
		size, stored, &queued{ask: queue}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics, in the text format of Prometheus or as OpenMetrics, as the
// client asks for.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError})
}

// Began counts a unit that the worker has taken.
func (m *Metrics) Began(a fleet.Attempt) {
	tenant := tenantOf(a)
	m.running.Inc()
	m.attempts.WithLabelValues(tenant).Inc()
	if a.Number == 1 {
		m.started.WithLabelValues(tenant).Observe(a.Age.Seconds())
	} else if a.Rescued {
		m.rescued.WithLabelValues(tenant).Inc()
	}
}

// Ended counts a unit that the worker has no longer, which it took so long ago: with a
// result, it has ended.
func (m *Metrics) Ended(a fleet.Attempt, r *fleet.Result, ago time.Duration) {
	m.running.Dec()
	if r != nil {
		m.ended.WithLabelValues(tenantOf(a), string(r.Outcome), string(r.Reason)).Observe((a.Age + ago).Seconds())
	}
}

func tenantOf(a fleet.Attempt) string { return cmp.Or(a.Task.Tenant, fleet.DefaultTenant) }

// Observer counts turns and requests.
func (m *Metrics) Observer() settle.Observer {
	return settle.Observer{
		Turn: func(ctx context.Context, _ event.Event) (context.Context, func(event.Event)) {
			return ctx, m.turn
		},
		Attempt: func(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
			return ctx, func(ended event.Event) { m.request(started, ended) }
		},
	}
}

func (m *Metrics) turn(ended event.Event) {
	switch d := ended.Data.(type) {
	case event.TurnCompleted:
		m.turns.WithLabelValues(string(event.Completed), "").Inc()
	case event.TurnAborted:
		m.turns.WithLabelValues(string(event.Aborted), string(d.Reason)).Inc()
	case event.TurnFailed:
		m.turns.WithLabelValues(string(event.Failed), "").Inc()
	}
}

// chat is the operation's name in the semantic conventions.
const chat = "chat"

func (m *Metrics) request(started, ended event.Event) {
	begin, ok := started.Data.(event.AttemptStarted)
	end, fine := ended.Data.(event.AttemptEnded)
	if !ok || !fine {
		return
	}
	kind := ""
	switch {
	case end.Failure != nil:
		kind = cmp.Or(end.Failure.Kind, end.Failure.Name)
	case end.Outcome == event.Aborted:
		kind = string(end.Reason)
	}
	m.duration.WithLabelValues(chat, begin.Provider, begin.Model, kind).Observe(ended.At.Sub(started.At).Seconds())
	for token, n := range map[string]int64{"input": end.Usage.Input, "output": end.Usage.Output} {
		if n > 0 {
			m.usage.WithLabelValues(chat, begin.Provider, begin.Model, token).Observe(float64(n))
			m.tokens.WithLabelValues(begin.Provider, begin.Model, token).Add(float64(n))
		}
	}
	switch {
	case end.Cost != nil:
		m.cost.WithLabelValues(begin.Provider, begin.Model).Add(*end.Cost)
	case end.Usage != event.Usage{}:
		m.unpriced.WithLabelValues(begin.Provider, begin.Model).Inc()
	}
	if end.RetryIn != nil {
		m.retries.WithLabelValues(begin.Provider, kind).Inc()
	}
}
