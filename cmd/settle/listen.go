package main

import (
	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/client/guard"
)

// listenFlags are the flags of commands that listen for HTTP.
type listenFlags struct {
	guard.Flags

	addr string // its own flag has another name everywhere
}

func (f *listenFlags) define(cmd *cobra.Command) {
	f.Define(cmd.Flags())
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
}
