package metrics

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/internal/client/metrics"
)

// Metrics holds the metrics of one worker. Its methods may be called by several goroutines.
type Metrics struct {
	registry *prometheus.Registry

	attempts, rescued, returns *prometheus.CounterVec
	startTime, endTime         *prometheus.HistogramVec
	running                    prometheus.Gauge
	meter                      metrics.Meter // the metrics that settle serve also has
	host                       atomic.Pointer[settle.Host]
}

// New returns metrics. Each scrape calls queue for the numbers of tasks of the whole
// fleet, and commits for the number of transactions that have stored this worker's logs.
func New(slots int, commits func() int64, queue Queue) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	// From a tenth of a second to 14 hours.
	waits := prometheus.ExponentialBuckets(0.1, 3, 13)
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		attempts: counter("settle_fleet_attempts_total", "Tasks that this worker took.", "tenant"),
		rescued: counter(
			"settle_fleet_rescued_total",
			"Tasks that this worker took from one that had died, stood still, or was not heard by Temporal.", "tenant",
		),
		returns: counter(
			"settle_fleet_given_back_total", "Tasks that this worker gave back, because it could not run them.",
			"tenant",
		),
		startTime: histogram(
			"settle_fleet_start_seconds", "Time from a task's submission until a worker first took it.", waits,
			"tenant",
		),
		endTime: histogram(
			"settle_fleet_end_seconds", "Time from a task's submission to its end.", waits, "tenant", "outcome",
			"reason",
		),
		running: prometheus.NewGauge(
			prometheus.GaugeOpts{Name: "settle_fleet_running", Help: "Tasks that this worker runs now."},
		),
	}
	size := prometheus.NewGauge(
		prometheus.GaugeOpts{Name: "settle_fleet_slots", Help: "Tasks that this worker runs at a time."},
	)
	size.Set(float64(slots))
	transactions := prometheus.NewCounterFunc(
		prometheus.CounterOpts{
			Name: "settle_fleet_log_transactions_total",
			Help: "Transactions that stored this worker's logs.",
		},
		func() float64 { return float64(commits()) },
	)
	m.registry.MustRegister(
		&queueCollector{query: queue, counters: []*prometheus.CounterVec{m.attempts, m.rescued, m.returns}},
		m.startTime, m.endTime, m.running, size, transactions,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// Handler serves the metrics, in the text format of Prometheus or as OpenMetrics, as the
// client asks for.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(
		prometheus.Gatherers{m.registry, prometheus.GathererFunc(m.gatherCommon)},
		promhttp.HandlerOpts{EnableOpenMetrics: true, ErrorHandling: promhttp.ContinueOnError},
	)
}

// CountStart counts a task that the worker has received.
func (m *Metrics) CountStart(a fleet.Attempt) {
	tenant := tenantOf(a)
	m.running.Inc()
	m.attempts.WithLabelValues(tenant).Inc()
	if a.Number == 1 {
		m.startTime.WithLabelValues(tenant).Observe(a.Age.Seconds())
	} else if a.Rescued {
		m.rescued.WithLabelValues(tenant).Inc()
	}
}

// CountEnd counts the end of an attempt on this worker, and the attempt's duration. With a
// result, the task has ended, unless it waits for a person.
func (m *Metrics) CountEnd(a fleet.Attempt, r *fleet.Result, duration time.Duration) {
	m.running.Dec()
	if r != nil && r.Outcome != fleet.OutcomeHeld {
		m.endTime.WithLabelValues(tenantOf(a), string(r.Outcome), string(r.Reason)).
			Observe((a.Age + duration).Seconds())
	}
}

// CountReturn counts a task that the worker could not run.
func (m *Metrics) CountReturn(a fleet.Attempt) { m.returns.WithLabelValues(tenantOf(a)).Inc() }

func tenantOf(a fleet.Attempt) string { return cmp.Or(a.Task.Tenant, fleet.DefaultTenant) }

// SetHost sets the host whose sessions are counted.
func (m *Metrics) SetHost(host *settle.Host) { m.host.Store(host) }

// gatherCommon returns the metrics that settle serve also has, with the same names.
func (m *Metrics) gatherCommon() ([]*dto.MetricFamily, error) {
	var held metrics.Held
	if host := m.host.Load(); host != nil {
		for _, s := range host.Sessions() {
			s.View(held.Add)
		}
	}
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(strings.NewReader(m.meter.Write(held)))
	return slices.Collect(maps.Values(families)), err
}

// Observer counts turns, requests and tool calls.
func (m *Metrics) Observer() settle.Observer {
	return settle.Observer{Turn: m.meter.Turn, Attempt: m.meter.Attempt, Output: m.meter.Output, Call: m.meter.Call}
}
