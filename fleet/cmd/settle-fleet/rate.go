package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/rates"
)

const rateHelp = `Set how much all workers together may ask of a provider with each key, and list it.

Requests are spread over the minute. Input and output tokens count; if
responses take more than the limit, later requests wait. When a provider says when to
come back (429, Retry-After), all workers with that key wait, with and without limits.
The database knows a key by its hash.`

func newRate(d *database) *cobra.Command {
	return newGroup(
		"rate", "Set how much workers may ask of a provider, and list it", rateHelp, newRateSet(d), newRateList(d),
	)
}

func newRateSet(d *database) *cobra.Command {
	var l rates.Limit
	cmd := &cobra.Command{
		Use:   "set PROVIDER",
		Short: "Set how much workers may ask of a provider with each key",
		Args:  cobra.ExactArgs(1),
		Long:  "Set how much workers may ask of a provider with each key. PROVIDER is its name in\nthe configuration, such as openai. It counts at once; what no flag says stays as it is.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !isAmount(l.Requests) || !isAmount(l.Tokens) {
				return errors.New("a limit must be a number that is not negative; the limits are as they were")
			}
			if err := fleet.CheckName("provider", args[0]); err != nil {
				return err
			}
			f, err := d.open(cmd.Context())
			if err != nil {
				return err
			}
			defer f.close()
			list, err := rates.List(cmd.Context(), f.pool)
			if err != nil {
				return failed(err)
			}
			limit := rates.Limit{Provider: args[0]}
			if n := slices.IndexFunc(list, func(l rates.Limit) bool { return l.Provider == args[0] }); n >= 0 {
				limit = list[n]
			}
			if cmd.Flags().Changed("requests") {
				limit.Requests = l.Requests
			}
			if cmd.Flags().Changed("tokens") {
				limit.Tokens = l.Tokens
			}
			return failed(rates.Set(cmd.Context(), f.pool, limit))
		},
	}
	cmd.Flags().Float64Var(&l.Requests, "requests", 0, "at most `N` requests a minute; 0: no limit")
	cmd.Flags().Float64Var(&l.Tokens, "tokens", 0, "at most `N` tokens a minute; 0: no limit")
	return cmd
}

func newRateList(d *database) *cobra.Command {
	return newList(d, "List the limits of providers", "provider", "PROVIDER\tREQUESTS/MIN\tTOKENS/MIN",
		func(ctx context.Context, f *fleetOf) ([]rates.Limit, error) { return rates.List(ctx, f.pool) },
		func(l rates.Limit) string {
			return fmt.Sprintf("%s\t%s\t%s", l.Provider, limitText(l.Requests), limitText(l.Tokens))
		})
}

// limitText returns a limit as text; 0 is any.
func limitText(n float64) string {
	if n == 0 {
		return "any"
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
