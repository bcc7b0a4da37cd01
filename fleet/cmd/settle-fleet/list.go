package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// newList returns a command that prints all items of one kind in the database: a table with the
// header and a row for each, or JSON.
func newList[T any](
	d *database, short, kind, header string, list func(context.Context, *fleetOf) ([]T, error), row func(T) string,
) *cobra.Command {
	open := func(cmd *cobra.Command) (*fleetOf, error) { return d.open(cmd.Context()) }
	return newListOf(open, short, kind, header, list, row)
}

// newListOf is newList for items that need more than the database.
func newListOf[T any](
	open func(*cobra.Command) (*fleetOf, error), short, kind, header string,
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
			items, err := list(cmd.Context(), f)
			if err != nil {
				return failed(err)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			if !asJSON {
				fmt.Fprintln(table, header)
			}
			for _, item := range items {
				if asJSON {
					err = writeLine(cmd.OutOrStdout(), item)
				} else {
					_, err = fmt.Fprintln(table, row(item))
				}
				if err != nil {
					return failed(err)
				}
			}
			return failed(table.Flush())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, a line for each "+kind)
	return cmd
}
