package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/lease"
)

const tenantHelp = `Set the shares of tenants, and list them.

A task belongs to the tenant in its field "tenant" or in submit --tenant, or to
"default". Each tenant with waiting tasks gets a share of the started tasks in
proportion to its weight, independent of their number. --slots bounds how many of its tasks
run at a time.`

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

// noSlots is what says on the command line that slots are not limited.
const noSlots = -1

func newTenantSet(d *database) *cobra.Command {
	var weight float64
	var slots int
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Set the share of a tenant", Args: cobra.ExactArgs(1),
		Long: "Set the share of a tenant, for tasks that begin from now on. What no flag says stays as it is.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !(weight > 0) || math.IsInf(weight, 1) || slots < noSlots || slots > math.MaxInt32 {
				return fmt.Errorf("--weight must be a number above 0, and --slots from -1 to %d", math.MaxInt32)
			}
			if err := fleet.CheckName("tenant", args[0]); err != nil {
				return err
			}
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			t, err := f.tenant(cmd, args[0])
			if err != nil {
				return failed(err)
			}
			if cmd.Flags().Changed("weight") {
				t.Weight = weight
			}
			if cmd.Flags().Changed("slots") {
				if t.Slots = &slots; slots == noSlots {
					t.Slots = nil
				}
			}
			return failed(f.engine.SetTenant(cmd.Context(), t))
		},
	}
	cmd.Flags().Float64Var(&weight, "weight", 1, "the tenant's share is `N` parts; each new tenant has 1")
	cmd.Flags().IntVar(&slots, "slots", noSlots, "run at most `N` of its tasks at a time; -1: as many as workers take")
	return cmd
}

// tenant returns an existing tenant, or a new one.
func (f *fleetOf) tenant(cmd *cobra.Command, name string) (lease.Tenant, error) {
	list, err := f.engine.Tenants(cmd.Context())
	if n := slices.IndexFunc(list, func(t lease.Tenant) bool { return t.Name == name }); n >= 0 {
		return list[n], err
	}
	return lease.Tenant{Name: name, Weight: 1}, err
}

func newTenantList(d *database) *cobra.Command {
	return newList(d, "List the tenants", "tenant", "TENANT\tWEIGHT\tSLOTS\tQUEUED\tRUNNING",
		func(ctx context.Context, f *fleetOf) ([]lease.Tenant, error) { return f.engine.Tenants(ctx) },
		func(t lease.Tenant) string {
			slots := "any"
			if t.Slots != nil {
				slots = strconv.Itoa(*t.Slots)
			}
			return fmt.Sprintf("%s\t%g\t%s\t%d\t%d", t.Name, t.Weight, slots, t.Queued, t.Running)
		})
}
