package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/settle-agent/settle/fleet"
)

// Size has the numbers of a tenant's tasks that wait, run, and wait for a person.
type Size struct {
	Tenant                string
	Queued, Running, Held int
}

// State has the numbers of the tasks that have not ended.
type State struct {
	Tenants []Size
	// Outbox is the number of tasks that Temporal does not have yet, and OutboxAge the time since the first of them
	// was submitted.
	Outbox    int
	OutboxAge time.Duration
}

// Queue returns the state of the fleet's tasks.
type Queue func(context.Context) (State, error)

// scrapeTimeout bounds the queries of a scrape.
const scrapeTimeout = 5 * time.Second

// queueCollector collects the numbers of the fleet's tasks, and whether the database answered. It also collects the
// counters by tenant, because it knows the tenants: each of them has its series before its first event.
// A series that begins with its first event hides that event from rate and increase, and a query about
// events that did not happen finds nothing.
type queueCollector struct {
	query    Queue
	counters []*prometheus.CounterVec // with the label tenant
}

func (*queueCollector) tasks() *prometheus.Desc {
	return prometheus.NewDesc(
		"settle_fleet_units", "Tasks of the whole fleet that have not ended, the same for every worker.",
		[]string{"state", "tenant"}, nil,
	)
}

func (*queueCollector) up() *prometheus.Desc {
	return prometheus.NewDesc(
		"settle_fleet_database_up", "1 if the database could be asked for settle_fleet_units, else 0.", nil, nil,
	)
}

func (*queueCollector) outbox() *prometheus.Desc {
	return prometheus.NewDesc(
		"settle_fleet_outbox", "Tasks of the whole fleet that Temporal does not know yet.", nil, nil,
	)
}

func (*queueCollector) outboxAge() *prometheus.Desc {
	return prometheus.NewDesc(
		"settle_fleet_outbox_age_seconds", "Time since the submission of the oldest task in settle_fleet_outbox.", nil,
		nil,
	)
}

// Describe implements [prometheus.Collector].
func (q *queueCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{q.tasks(), q.outbox(), q.outboxAge(), q.up()} {
		to <- d // the registry reads it
	}
	for _, c := range q.counters {
		c.Describe(to)
	}
}

// Collect implements [prometheus.Collector].
func (q *queueCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	up := 1.0
	state, err := q.query(ctx)
	if err != nil {
		up = 0
	} else {
		for d, n := range map[*prometheus.Desc]float64{
			q.outbox(): float64(state.Outbox), q.outboxAge(): state.OutboxAge.Seconds(),
		} {
			to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n) // the registry reads it
		}
	}
	for _, s := range state.Tenants {
		for name, n := range map[string]int{"queued": s.Queued, "running": s.Running, "held": s.Held} {
			to <- prometheus.MustNewConstMetric(q.tasks(), prometheus.GaugeValue, float64(n), name, s.Tenant) // the registry reads it
		}
	}
	to <- prometheus.MustNewConstMetric(q.up(), prometheus.GaugeValue, up) // the registry reads it
	for _, c := range q.counters {
		c.WithLabelValues(fleet.DefaultTenant)
		for _, s := range state.Tenants {
			c.WithLabelValues(s.Tenant)
		}
		c.Collect(to)
	}
}
