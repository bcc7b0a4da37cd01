package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/index"
)

const tenantHelp = `Set the shares of tenants, and list them.

A task belongs to the tenant in its field "tenant" or in submit --tenant, or to
"default". Each tenant with waiting tasks gets a share of the started tasks in
proportion to its weight, independent of their number: Temporal's fairness keys do that.

To bound how many tasks of a tenant run at a time, give the tenant a task queue of its own
(submit --queue NAME --tenant TENANT) and workers for it (worker --queue NAME --tenant
TENANT --slots N). The tasks of one session are in one task queue until they have ended.`

func newTenant(d *database) *cobra.Command {
	return newGroup("tenant", "Set the shares of tenants, and list them", tenantHelp, newTenantSet(d), newTenantList(d))
}

// newGroup is a command that only has others, and refuses those that it has not.
func newGroup(name, short, long string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}

func newTenantSet(d *database) *cobra.Command {
	var weight float64
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set the share of a tenant", Args: cobra.ExactArgs(1),
		Long: "Set the share of a tenant, for tasks that are sent to Temporal from now on.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(weight > 0) || math.IsInf(weight, 1) {
				return errors.New("--weight must be a number above 0")
			}
			if err := fleet.CheckName("tenant", args[0]); err != nil {
				return err
			}
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			return failed(f.index.SetTenant(cmd.Context(), index.Tenant{Name: args[0], Weight: weight}))
		},
	}
	cmd.Flags().Float64Var(&weight, "weight", 1, "the tenant's share is `N` parts; each new tenant has 1")
	return cmd
}

func newTenantList(d *database) *cobra.Command {
	return newList(d, "List the tenants", "tenant", "TENANT\tWEIGHT\tQUEUED\tRUNNING\tHELD",
		func(ctx context.Context, f *fleetOf) ([]index.Tenant, error) { return f.index.Tenants(ctx) },
		func(t index.Tenant) string {
			return fmt.Sprintf("%s\t%g\t%d\t%d\t%d", t.Name, t.Weight, t.Queued, t.Running, t.Held)
		})
}
