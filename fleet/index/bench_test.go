package index_test

import (
	"flag"
	"testing"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/index"
)

var benchTasks = flag.Int("tasks", 500_000, "how many tasks the benchmarks list and count")

// BenchmarkLists measures what settle-fleet status and results ask of a database with many tasks,
// of which 1 in 50 is open: go test -run '^$' -bench Lists ./index.
func BenchmarkLists(b *testing.B) {
	p := fleettest.New(b, &server)
	for _, sql := range []string{`
INSERT INTO settle_fleet.session (id) SELECT 's' || n FROM generate_series(1, $1::int) n`, `
INSERT INTO settle_fleet.unit (id, session, input, task, state, attempt, tenant, result, outbox, ended, created)
SELECT 's' || n || '/1', 's' || n, '1',
	jsonb_build_object('session', 's' || n, 'input', '1', 'prompt', repeat('work ', 100),
	'batch', 'b' || n % 20, 'labels', jsonb_build_object('k', 'v' || n % 100)),
	CASE WHEN n % 50 = 0 THEN 'queued' ELSE 'ended' END, 1, 't' || n % 10,
	CASE WHEN n % 50 > 0 THEN jsonb_build_object('outcome', 'completed', 'answer', repeat('answer ', 100),
		'summary', jsonb_build_object('cost_usd', 0.01, 'usage',
			jsonb_build_object('input_tokens', 1000, 'output_tokens', 100))) END,
	NULL, CASE WHEN n % 50 > 0 THEN now() - ($1::int - n) * interval '0.1 s' END, now() - ($1::int - n) * interval '0.1 s'
FROM generate_series(1, $1::int) n`} {
		if _, err := p.Pool.Exec(b.Context(), sql, *benchTasks); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := p.Pool.Exec(b.Context(), `VACUUM ANALYZE`); err != nil {
		b.Fatal(err)
	}
	const page = 1000
	last := int64(*benchTasks - 2*page)
	for name, f := range map[string]index.Filter{
		"status": {}, "status of a batch": {Batch: "b7"}, "status of a tenant": {Tenant: "t3"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Index.Tally(b.Context(), f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, f := range map[string]index.Filter{
		"first page of results": {State: fleet.Ended, Limit: page},
		"last page of results":  {State: fleet.Ended, After: last, Limit: page},
		"page of a batch":       {State: fleet.Ended, Batch: "b7", After: last / 2, Limit: page},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if tasks, _, err := p.Index.List(b.Context(), f); err != nil || len(tasks) != page {
					b.Fatal(len(tasks), err)
				}
			}
		})
	}
	b.Run("wait", func(b *testing.B) {
		for b.Loop() {
			if _, err := p.Index.Open(b.Context(), index.Filter{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
