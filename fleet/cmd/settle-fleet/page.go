package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/fleet/archive"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/web"
	"github.com/settle-agent/settle/internal/frontend/web/page"
	"github.com/settle-agent/settle/internal/redact"
)

const pageHelp = `Show the fleet's sessions on a web page.

It is the page of settle serve: the list of sessions, and in each what the agent said
and did, as it happens. Turns that run can be interrupted; that cancels their task.
Tasks are submitted with settle-fleet submit.

The printed link has a token, without which the page does not open. The
list has the sessions of the 500 tasks that were submitted last.`

// readOnly is the text of the page in place of the field for input.
const readOnly = `this page shows the sessions of a fleet; submit tasks with "settle-fleet submit"`

// pageFlags are the flags of page.
type pageFlags struct {
	guard.Flags

	addr   string
	batch  string
	labels map[string]string
}

func newPage(d *database) *cobra.Command {
	var f pageFlags
	cmd := &cobra.Command{
		Use: "page [flags]", Short: "Show the fleet's sessions on a web page", Long: pageHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.serve(cmd, d) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.addr, "addr", "127.0.0.1:0", "listen on `HOST:PORT`; port 0 picks a free one")
	flags.StringVar(&f.batch, "batch", "", "list only the tasks of batch `NAME`")
	flags.StringToStringVar(&f.labels, "label", nil, "list only tasks with the label `KEY=VALUE`; repeatable")
	f.Define(flags)
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
	return cmd
}

// serve serves the page until the command's context ends.
func (f *pageFlags) serve(cmd *cobra.Command, d *database) error {
	token, err := f.Token()
	if err != nil {
		return err
	}
	tlsConfig, err := f.TLS()
	if err != nil {
		return err
	}
	to, err := d.openLazily(cmd.Context(), newLogger(cmd))
	if err != nil {
		return err
	}
	defer to.close()
	place, err := guard.Listen(cmd.Context(), guard.Address{Addr: f.addr, TLS: tlsConfig, Insecure: f.Insecure})
	if errors.As(err, new(*net.OpError)) {
		return failed(err)
	}
	if err != nil {
		return err
	}
	server, err := web.NewArchive(web.Options{
		Version: version(),
		Token:   token,
		Names:   f.Names,
		Exposed: place.Exposed,
		TLS:     tlsConfig,
		Page:    page.Handler(),
		Mask:    redact.Diagnostic,
		Logger:  newLogger(cmd),
	}, &archive.Archive{Pool: to.pool, Logs: to.logs, Engine: to.engine, Batch: f.batch, Labels: f.labels}, readOnly)
	if err != nil {
		return failed(err)
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), f.Link(place, token)); err != nil {
		return failed(fmt.Errorf("cannot print the link: %w", err))
	}
	stops := make(chan stdio.Stop, 1)
	defer context.AfterFunc(cmd.Context(), func() { stops <- stdio.Stop{By: "signal"} })()
	return failed(server.ServeArchive(place, stops))
}
