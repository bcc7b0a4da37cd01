package index

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Tenant is a customer or group whose tasks get a share of the workers.
type Tenant struct {
	Name string `json:"tenant"`
	// Weight is its share against those of the other tenants that have tasks waiting.
	Weight float64 `json:"weight"`
	// Queued, Running and Held are its tasks.
	Queued  int `json:"queued"`
	Running int `json:"running"`
	Held    int `json:"held,omitempty"`
}

// minWeight and maxWeight are Temporal's bounds of a fairness weight.
const minWeight, maxWeight = 1e-3, 1e3

// SetTenant sets the weight of a tenant, which need not have had a task.
func (x *Index) SetTenant(ctx context.Context, t Tenant) error {
	if !(t.Weight >= minWeight && t.Weight <= maxWeight) {
		return fmt.Errorf("the weight of tenant %q must be between %g and %g", t.Name, minWeight, maxWeight)
	}
	_, err := x.pool.Exec(ctx, `INSERT INTO settle_fleet.tenant (name, weight) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET weight = excluded.weight`, t.Name, t.Weight)
	if err != nil {
		return fmt.Errorf("cannot set tenant %q: %w", t.Name, err)
	}
	return nil
}

// Tenants returns all tenants, by name.
func (x *Index) Tenants(ctx context.Context) ([]Tenant, error) {
	rows, err := x.pool.Query(
		ctx,
		`SELECT name, weight, count(u.id) FILTER (WHERE state = 'queued'), count(u.id) FILTER (WHERE state = 'running'),
			coalesce(max(h.n), 0)
		FROM settle_fleet.tenant t LEFT JOIN settle_fleet.unit u ON u.tenant = t.name AND u.state <> 'ended'
		LEFT JOIN (SELECT tenant, count(*) AS n FROM settle_fleet.unit WHERE outcome = 'held' GROUP BY tenant) h
			ON h.tenant = t.name
		GROUP BY t.name ORDER BY t.name`,
	)
	if err == nil {
		var list []Tenant
		if list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Tenant]); err == nil {
			return list, nil
		}
	}
	return nil, fmt.Errorf("cannot list tenants: %w", err)
}
