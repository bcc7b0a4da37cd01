package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Size is how many units of a tenant wait, run, and wait for a person.
type Size struct {
	Tenant                string
	Queued, Running, Held int
}

// Queue returns the units of the fleet that have not ended, by tenant.
type Queue func(context.Context) ([]Size, error)

// scrapeTimeout bounds the question of a scrape.
const scrapeTimeout = 5 * time.Second

// queued collects the fleet's units, and says whether the database could be asked.
type queued struct{ ask Queue }

func (*queued) units() *prometheus.Desc {
	return prometheus.NewDesc(
		"settle_fleet_units", "Tasks of the whole fleet that have not ended, the same for every worker.",
		[]string{"state", "tenant"}, nil,
	)
}

func (*queued) up() *prometheus.Desc {
	return prometheus.NewDesc(
		"settle_fleet_database_up", "1 if the database could be asked for settle_fleet_units, else 0.", nil, nil,
	)
}

// Describe implements [prometheus.Collector].
func (q *queued) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{q.units(), q.up()} {
		to <- d // the registry reads it
	}
}

// Collect implements [prometheus.Collector].
func (q *queued) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	up := 1.0
	sizes, err := q.ask(ctx)
	if err != nil {
		up = 0
	}
	for _, s := range sizes {
		for state, n := range map[string]int{"queued": s.Queued, "running": s.Running, "held": s.Held} {
			to <- prometheus.MustNewConstMetric(q.units(), prometheus.GaugeValue, float64(n), state, s.Tenant) // the registry reads it
		}
	}
	to <- prometheus.MustNewConstMetric(q.up(), prometheus.GaugeValue, up) // the registry reads it
}
