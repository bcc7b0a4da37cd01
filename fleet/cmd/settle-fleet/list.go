package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// newList is a command that prints what the database has of one kind: a table with the
// head and a row for each, or JSON.
func newList[T any](
	d *database, short, each, head string, list func(context.Context, *fleetOf) ([]T, error), row func(T) string,
) *cobra.Command {
	open := func(cmd *cobra.Command) (*fleetOf, error) { return d.open(cmd.Context()) }
	return newListOf(open, short, each, head, list, row)
}

// newListOf is newList for what needs more than the database.
func newListOf[T any](
	open func(*cobra.Command) (*fleetOf, error), short, each, head string,
	list func(context.Context, *fleetOf) ([]T, error), row func(T) string,
) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := open(cmd)
			if err != nil {
				return err
			}
			defer f.close()
			all, err := list(cmd.Context(), f)
			if err != nil {
				return failed(err)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			if !asJSON {
				fmt.Fprintln(table, head)
			}
			for _, one := range all {
				if asJSON {
					err = writeLine(cmd.OutOrStdout(), one)
				} else {
					_, err = fmt.Fprintln(table, row(one))
				}
				if err != nil {
					return failed(err)
				}
			}
			return failed(table.Flush())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, a line for each "+each)
	return cmd
}
