package lease

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Tenant is who tasks are for, and its share of the workers.
type Tenant struct {
	Name string `json:"tenant"`
	// Weight is its share against those of the other tenants that have tasks waiting.
	Weight float64 `json:"weight"`
	// Slots is how many of its units run at a time at most; nil for no limit. Units
	// that go on after a worker's death do not wait for it.
	Slots *int `json:"slots,omitempty"`
	// Queued and Running are its units.
	Queued  int `json:"queued"`
	Running int `json:"running"`
}

// leastWeight and maxWeight are the bounds of a weight: beyond them, or with one that is no
// number, the times at which units begin would be none that can be told apart.
const leastWeight, maxWeight = 1e-6, 1e6

// SetTenant sets weight and slots of a tenant, which need not have had a task.
func (e *Engine) SetTenant(ctx context.Context, t Tenant) error {
	if !(t.Weight >= leastWeight && t.Weight <= maxWeight) || t.Slots != nil && *t.Slots < 0 {
		return fmt.Errorf(
			"the weight of tenant %q must be between %g and %g, and its slots not below zero", t.Name, leastWeight,
			maxWeight,
		)
	}
	_, err := e.pool.Exec(ctx, `INSERT INTO settle_fleet.tenant (name, weight, slots) VALUES ($1, $2, $3)
		ON CONFLICT (name) DO UPDATE SET weight = excluded.weight, slots = excluded.slots`, t.Name, t.Weight, t.Slots)
	if err != nil {
		return fmt.Errorf("cannot set tenant %q: %w", t.Name, err)
	}
	return nil
}

// Tenants returns all tenants, by name.
func (e *Engine) Tenants(ctx context.Context) ([]Tenant, error) {
	rows, err := e.pool.Query(
		ctx,
		`SELECT name, weight, slots, count(u.id) FILTER (WHERE state = 'queued'), count(u.id) FILTER (WHERE state = 'running')
		FROM settle_fleet.tenant t LEFT JOIN settle_fleet.unit u ON u.tenant = t.name AND u.state <> 'ended' GROUP BY t.name ORDER BY t.name`,
	)
	if err == nil {
		var list []Tenant
		if list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Tenant]); err == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("cannot list tenants: %w", err)
}
