package prometheus

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// alerts returns the rules of the file.
func alerts(t *testing.T) (rules []rulefmt.Rule) {
	t.Helper()
	groups, problems := rulefmt.ParseFile(
		"../../integrations/prometheus/alerts.yml",
		false,
		model.LegacyValidation,
		parser.NewParser(parser.Options{}),
		slog.New(slog.DiscardHandler),
	)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, g := range groups.Groups {
		rules = append(rules, g.Rules...)
	}
	return rules
}

// sample is a number at a time in milliseconds.
type sample struct {
	chunks.Sample // nil: histograms are not used

	at    int64
	value float64
}

func (s sample) T() int64                   { return s.at }
func (s sample) ST() int64                  { return 0 }
func (s sample) F() float64                 { return s.value }
func (s sample) Type() chunkenc.ValueType   { return chunkenc.ValFloat }
func (s sample) Copy() (same chunks.Sample) { return s }

// history holds the series that Prometheus has scraped, by their text, such as name{job="a"}. The
// function of a series returns its value at a minute; a negative value means no sample. It
// implements [storage.Queryable] and [storage.Querier].
type history map[string]func(minute int) float64

func (h history) Querier(_, _ int64) (storage.Querier, error) { return h, nil }

func (history) LabelValues(
	context.Context, string, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (history) LabelNames(
	context.Context, *storage.LabelHints, ...*labels.Matcher,
) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (history) Close() error { return nil }

// Select implements [storage.Querier].
func (h history) Select(
	_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher,
) storage.SeriesSet {
	set := &selected{at: -1}
	for text, value := range h {
		name, err := parser.NewParser(parser.Options{}).ParseMetric(text)
		if err != nil {
			panic(text + ": " + err.Error())
		}
		if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(name.Get(m.Name)) }) {
			continue
		}
		var samples []chunks.Sample
		for minute := range now + 1 {
			if v := value(minute); v >= 0 {
				samples = append(samples, sample{at: int64(minute) * minuteMillis, value: v})
			}
		}
		set.series = append(set.series, storage.NewListSeries(name, samples))
	}
	return set
}

// selected implements [storage.SeriesSet].
type selected struct {
	series []storage.Series
	at     int
}

func (s *selected) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *selected) At() storage.Series              { return s.series[s.at] }
func (*selected) Err() error                        { return nil }
func (*selected) Warnings() annotations.Annotations { return nil }

const (
	// now is the minute at which alerts are asked for, two days after the first scrape.
	now          = 2 * 24 * 60
	minuteMillis = 60_000
)

// firing returns the alerts that fire now, with the values of their labels: an alert fires if its
// expression has had a result for the duration of its wait.
func firing(t *testing.T, h history) (out []string) {
	t.Helper()
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		Parser: parser.NewParser(parser.Options{}),
	})
	defer engine.Close()
	at := time.UnixMilli(now * minuteMillis)
	for _, r := range alerts(t) {
		wait := time.Duration(r.For)
		query, err := engine.NewRangeQuery(t.Context(), h, nil, r.Expr, at.Add(-wait), at, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		result := query.Exec(t.Context())
		matrix, err := result.Matrix()
		if err != nil {
			t.Fatalf("%s: %v", r.Alert, err)
		}
		for _, series := range matrix {
			if len(series.Floats) == int(wait/time.Minute)+1 {
				text := r.Alert
				for _, name := range []string{"job", "tenant"} {
					text = strings.TrimSpace(text + " " + series.Metric.Get(name))
				}
				out = append(out, text)
			}
		}
		query.Close()
	}
	slices.Sort(out)
	return out
}

// always is a value that does not change.
func always(v float64) func(int) float64 { return func(int) float64 { return v } }

// since is 0, and from some minutes ago on v more in each.
func since(ago int, v float64) func(int) float64 {
	return func(minute int) float64 { return v * float64(max(0, minute-(now-ago))) }
}

// fleetOf returns the series of a healthy fleet with one worker of eight slots, in which six tasks run.
func fleetOf(job string) history {
	return history{
		`settle_fleet_units{job="` + job + `",tenant="default",state="queued"}`: always(0),
		`settle_fleet_attempts_total{job="` + job + `",tenant="default"}`:       since(now, 1),
		`settle_fleet_rescued_total{job="` + job + `",tenant="default"}`:        always(0),
		`settle_fleet_given_back_total{job="` + job + `",tenant="default"}`:     always(0),
		`settle_fleet_outbox_age_seconds{job="` + job + `"}`:                    always(0),
		`settle_fleet_database_up{job="` + job + `"}`:                           always(1),
		`settle_fleet_running{job="` + job + `"}`:                               always(6),
		`settle_fleet_slots{job="` + job + `"}`:                                 always(8),
	}
}

// TestFleetAlerts: each alert fires in its case, for the fleet that it concerns, and for no healthy one.
func TestFleetAlerts(t *testing.T) {
	queued := `settle_fleet_units{job="a",tenant="default",state="queued"}`
	attempts := `settle_fleet_attempts_total{job="a",tenant="default"}`
	running, slots := `settle_fleet_running{job="a"}`, `settle_fleet_slots{job="a"}`
	gone := func(ago int) func(int) float64 {
		return func(minute int) float64 {
			if minute > now-ago {
				return -1
			}
			return 8
		}
	}
	for name, c := range map[string]struct {
		has  history // of fleet a
		want []string
	}{
		"healthy": {},
		"no worker has ever taken a task": {
			history{queued: always(3), attempts: always(0), running: always(0)},
			[]string{"SettleFleetStandsStill a default"},
		},
		"nothing counts attempts": {
			history{queued: always(3), attempts: always(-1), running: always(0)},
			[]string{"SettleFleetStandsStill a default"},
		},
		"all slots have long turns": {has: history{queued: always(3), attempts: always(7), running: always(8)}},
		"a worker takes tasks slowly": {
			has: history{queued: always(3), attempts: func(minute int) float64 { return float64(minute / 10) }},
		},
		"the queue grows, and a slot is free at every third scrape": {
			history{queued: since(180, 1), running: func(minute int) float64 { return []float64{8, 8, 7}[minute%3] }},
			[]string{"SettleFleetQueueGrows a default"},
		},
		"the queue grows, and a quarter of the slots is free": {has: history{queued: since(180, 1)}},
		"the first turns ever are lost": {
			history{`settle_fleet_rescued_total{job="a",tenant="default"}`: since(30, 1)},
			[]string{"SettleFleetTurnsLost a"},
		},
		"the first tasks ever are given back": {
			history{`settle_fleet_given_back_total{job="a",tenant="default"}`: since(30, 3)},
			[]string{"SettleFleetTasksReturn a"},
		},
		"a worker is gone":                     {history{slots: gone(30)}, []string{"SettleFleetWorkersAway a"}},
		"it has been gone for more than a day": {has: history{slots: gone(25 * 60)}},
		"Temporal is away": {
			history{`settle_fleet_outbox_age_seconds{job="a"}`: always(900)}, []string{"SettleFleetTasksNotSent a"},
		},
		"the database is away": {
			history{`settle_fleet_database_up{job="a"}`: always(0)}, []string{"SettleFleetDatabaseAway a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := history{}
			for _, part := range []history{fleetOf("a"), fleetOf("b"), c.has} {
				for series, value := range part {
					all[series] = value
				}
			}
			if got := firing(t, all); !slices.Equal(got, c.want) {
				t.Errorf("%q fire, want %q", got, c.want)
			}
		})
	}
}
