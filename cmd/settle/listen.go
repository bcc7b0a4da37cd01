package main

import (
	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/client/guard"
)

// listenFlags are the flags of commands that listen for HTTP.
type listenFlags struct {
	guard.Flags

	addr string // each command gives this flag its own name
}

func (f *listenFlags) define(cmd *cobra.Command) {
	f.Define(cmd.Flags())
	cmd.MarkFlagsRequiredTogether("tls-cert", "tls-key")
}
