package main

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"

	"github.com/settle-agent/settle/internal/proc"
)

// standIns is the group of commands that speak another agent's protocol, for
// --help.
const standIns = "stand-ins"

// standIn is what the commands have in common that a program drives over its
// standard streams.
type standIn struct {
	ctx   context.Context //nolint:containedctx // it is the process's, cancelled by the first stop
	hosts *assemble.Sessions
	// stops bring signals, and where the client is at the standard streams, that
	// it is gone: nobody reads standard output any more, or the parent died.
	stops <-chan stdio.Stop
	undo  []func()
}

// standIn sets a stand-in up for the program at the standard streams: that it is
// gone counts as a stop. The caller releases it.
func (s *streams) standIn(cmd *cobra.Command, o assemble.Options) *standIn {
	in, sig := s.server(cmd, o)
	in.undo = append(in.undo, proc.Closed(s.stdout, func(err error) { sig.lost("stdout", stdio.CodeStdoutClosed, err) }))
	if !signal.Ignored(syscall.SIGHUP) { // nohup means it
		in.undo = append(in.undo, proc.Parent(func(err error) { sig.lost("parent", stdio.CodeHangup, err) }))
	}
	return in
}

// server sets a stand-in up whose clients come and go. Flags that are settings
// hold for all sessions, and what a client gives goes over them. The caller
// releases it.
func (s *streams) server(cmd *cobra.Command, o assemble.Options) (*standIn, *signals) {
	sig := catch(cmd.Context())
	s = s.inFamily(o.Frontend)
	in := &standIn{ctx: sig.ctx, stops: sig.stops, undo: []func(){sig.release}}
	if stop, err := proc.BecomeReaper(); err == nil {
		in.undo = append(in.undo, stop)
	}
	flags := given(cmd.Flags())
	project := config.UseProject
	if o.Project == assemble.IgnoreProject {
		project = config.IgnoreProject
	}
	o.Environ, o.Getenv, o.Version, o.Releasable, o.Attach = s.environ, s.getenv, version(), true, attach.Serve
	in.hosts = &assemble.Sessions{Base: o, OpenHost: s.telemetry.Open, Settings: func(dir string, given map[string]string) (*config.Resolved, error) {
		all := map[string]string{}
		for _, some := range []map[string]string{flags, given} {
			for name, value := range some {
				all[name] = value
			}
		}
		return s.settings(dir, all, project)
	}}
	return in, sig
}

// inFamily returns the streams of a way in, which prefers the models of the agent
// that it stands in for.
func (s *streams) inFamily(face string) *streams {
	c := *s
	switch face {
	case "exec", "app-server", "mcp":
		c.family = config.WireOpenAI
	case "claude":
		c.family = config.WireAnthropic
	}
	return &c
}

func (in *standIn) release() {
	for n := len(in.undo) - 1; n >= 0; n-- {
		in.undo[n]()
	}
}

// lost takes it that the client is gone for a signal.
func (s *signals) lost(by string, code int, err error) {
	stop := stdio.Stop{Reason: event.Shutdown, By: by, Code: code, Err: err}
	s.cancel(stopped{stop})
	select {
	case s.stops <- stop:
	default: // enough have come already
	}
}
