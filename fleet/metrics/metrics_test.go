package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
)

// scrape returns what Prometheus would read, by its own parser.
func scrape(t *testing.T, m *Metrics) (families map[string]*dto.MetricFamily, text string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	text = w.Body.String()
	if got := w.Header().Get("Content-Type"); !strings.HasPrefix(got, "text/plain; version=0.0.4") {
		t.Errorf("the content type is %q", got)
	}
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families, text
}

// TestMetrics: what a worker does is counted.
func TestMetrics(t *testing.T) {
	var failure error
	m := New(4, func() int64 { return 17 }, func(context.Context) (State, error) {
		return State{
			Tenants: []Size{{Tenant: "a", Queued: 5, Running: 2}}, Outbox: 3, OutboxAge: time.Minute,
		}, failure
	})
	a := fleet.Attempt{Number: 1, Age: 3 * time.Second, Task: fleet.Task{Tenant: "a"}}
	m.CountStart(a)
	m.CountEnd(a, nil, time.Second)
	m.CountReturn(a)
	a.Number, a.Rescued = 2, true
	m.CountStart(a)
	m.CountEnd(a, &fleet.Result{Outcome: event.Aborted, Reason: event.LimitReached}, time.Second)
	m.CountStart(fleet.Attempt{Number: 1})

	ctx := t.Context()
	o := m.Observer()
	begin := event.Event{At: time.Unix(10, 0), Data: event.AttemptStarted{Provider: "openai", Model: "gpt"}}
	cost, retry := 0.25, int64(100)
	for _, end := range []event.AttemptEnded{
		{Outcome: event.Completed, Usage: event.Usage{Input: 30, Output: 5}, Cost: &cost},
		{Outcome: event.Failed, Failure: &event.Failure{Name: "ProviderError", Kind: "rate_limit"}, RetryIn: &retry},
	} {
		_, done := o.Attempt(ctx, begin)
		o.Output(ctx, begin, event.Event{At: time.Unix(10, 5e8), Data: event.ItemDelta{}})
		done(event.Event{At: time.Unix(12, 0), Data: end})
	}
	_, done := o.Turn(ctx, event.Event{})
	done(event.Event{Data: event.TurnAborted{Reason: event.Interrupted}})
	_, done = o.Attempt(ctx, begin)
	done(event.Event{}) // the log could not take it

	_, text := scrape(t, m)
	for _, want := range []string{
		`settle_fleet_attempts_total{tenant="a"} 2`,
		`settle_fleet_attempts_total{tenant="default"} 1`,
		`settle_fleet_rescued_total{tenant="a"} 1`,
		`settle_fleet_given_back_total{tenant="a"} 1`,
		`settle_fleet_start_seconds_sum{tenant="a"} 3`,
		`settle_fleet_end_seconds_sum{outcome="aborted",reason="limit",tenant="a"} 4`,
		`settle_fleet_running 1`,
		`settle_fleet_slots 4`,
		`settle_fleet_log_transactions_total 17`,
		`settle_fleet_units{state="queued",tenant="a"} 5`,
		`settle_fleet_units{state="running",tenant="a"} 2`,
		`settle_fleet_outbox 3`,
		`settle_fleet_outbox_age_seconds 60`,
		`settle_fleet_database_up 1`,
		`settle_turns_total{cause="interrupted",outcome="aborted"} 1`,
		`settle_turns_running 0`,
		`settle_jobs_running 0`,
		`settle_retries_total{kind="rate_limit",model="gpt",provider="openai"} 1`,
		`settle_time_to_first_token_seconds_sum{model="gpt",provider="openai"} 1`,
		`settle_tokens_total{model="gpt",provider="openai",type="input"} 30`,
		`settle_cost_usd_total{model="gpt",provider="openai"} 0.25`,
		`gen_ai_client_operation_time_to_first_chunk_seconds_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt"} 1`,
		`gen_ai_client_operation_duration_seconds_sum{error_type="",gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt"} 2`,
		`gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="openai",gen_ai_request_model="gpt",gen_ai_token_type="output"} 5`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	failure = errors.New("the database is away")
	families, _ := scrape(t, m)
	if up := families["settle_fleet_database_up"]; up == nil || up.GetMetric()[0].GetGauge().GetValue() != 0 {
		t.Errorf("%v", up)
	}
}

// TestHeldTaskHasNotEnded: a task that waits for a person is no ended one.
func TestHeldTaskHasNotEnded(t *testing.T) {
	m := used(t)
	m.CountStart(fleet.Attempt{Number: 1})
	m.CountEnd(fleet.Attempt{Number: 1}, &fleet.Result{Outcome: fleet.OutcomeHeld}, time.Second)
	if _, text := scrape(t, m); strings.Contains(text, `outcome="held"`) {
		t.Errorf("it counts as ended: %s", text)
	}
}

// TestCountersStartAtZero: each tenant has its counters before its first event, the default one also while
// the database is away.
func TestCountersStartAtZero(t *testing.T) {
	for failure, tenants := range map[error][]string{
		nil: {"a", fleet.DefaultTenant}, errors.New("the database is away"): {fleet.DefaultTenant},
	} {
		m := New(4, func() int64 { return 0 }, func(context.Context) (State, error) {
			return State{Tenants: []Size{{Tenant: "a"}}}, failure
		})
		_, text := scrape(t, m)
		for _, name := range []string{"attempts", "rescued", "given_back"} {
			for _, tenant := range tenants {
				want := fmt.Sprintf("settle_fleet_%s_total{tenant=%q} 0\n", name, tenant)
				if !strings.Contains(text, want) {
					t.Errorf("%v: there is no %s in\n%s", failure, want, text)
				}
			}
		}
	}
}

// TestMetricsAreDocumented: the page lists each metric that only a worker has, with its
// type and labels, and no other.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Worker metrics")
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| (.*?)\\|").FindAllStringSubmatch(table, -1) {
		labels := strings.Split(strings.NewReplacer("`", "", " ", "").Replace(row[3]), ",")
		slices.Sort(labels)
		listed[row[1]] = strings.TrimSpace(row[2] + " " + strings.Join(labels, ","))
	}
	has := map[string]string{}
	families, _ := scrape(t, used(t))
	for name, f := range families {
		if !strings.HasPrefix(name, "settle_fleet_") {
			continue
		}
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		slices.Sort(labels)
		has[name] = strings.TrimSpace(strings.ToLower(f.GetType().String()) + " " + strings.Join(labels, ","))
	}
	if diff := cmp.Diff(has, listed); diff != "" {
		t.Errorf("docs/reference/metrics.md (+) against what is served (-):\n%s", diff)
	}
}

// used returns metrics that each have a value.
func used(t *testing.T) *Metrics {
	t.Helper()
	m := New(4, func() int64 { return 1 }, func(context.Context) (State, error) {
		return State{Tenants: []Size{{Tenant: "a"}}}, nil
	})
	a := fleet.Attempt{Number: 1}
	m.CountStart(a)
	m.CountEnd(a, &fleet.Result{Outcome: event.Completed}, time.Second)
	m.CountStart(fleet.Attempt{Number: 2, Rescued: true})
	m.CountReturn(fleet.Attempt{Number: 2})
	o, begin := m.Observer(), event.Event{
		At:   time.Unix(10, 0),
		Data: event.AttemptStarted{Provider: "openai", Model: "gpt"},
	}
	_, done := o.Attempt(t.Context(), begin)
	o.Output(t.Context(), begin, event.Event{At: time.Unix(11, 0)})
	done(
		event.Event{
			At:   time.Unix(12, 0),
			Data: event.AttemptEnded{Outcome: event.Completed, Usage: event.Usage{Input: 1, Output: 1}},
		},
	)
	return m
}
