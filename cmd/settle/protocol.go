package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/rpc"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/telemetry"
	"github.com/settle-agent/settle/internal/config"

	"github.com/settle-agent/settle/internal/proc"
)

// protocolServer is the common part of the commands that serve a protocol.
type protocolServer struct {
	ctx   context.Context // it is the process's, cancelled by the first stop
	hosts *assemble.Sessions
	// stops brings signals. Where the client is at the standard streams, it also brings
	// the end of the client: standard output was closed, or the parent process died.
	stops <-chan stdio.Stop
	undo  []func()
}

// protocolServer returns the server of a client at the standard streams. The end of the
// client counts as a stop. The caller releases the server.
func (s *streams) protocolServer(cmd *cobra.Command, o assemble.Options) *protocolServer {
	in, sig := s.server(cmd, o)
	in.undo = append(
		in.undo, proc.Closed(s.stdout, func(err error) { sig.lost("stdout", stdio.CodeStdoutClosed, err) }),
	)
	if !signal.Ignored(syscall.SIGHUP) { // nohup was used
		in.undo = append(in.undo, proc.Parent(func(err error) { sig.lost("parent", stdio.CodeHangup, err) }))
	}
	return in
}

// reportExhausted writes a line to standard error for each turn whose retries are exhausted.
func (in *protocolServer) reportExhausted(s *streams) {
	observer, stop := s.observeExhausted()
	in.undo = append(in.undo, stop)
	open := in.hosts.OpenHost
	in.hosts.OpenHost = func(ctx context.Context, c settle.Config) (*settle.Host, error) {
		c.Observer = telemetry.Join(c.Observer, observer)
		return open(ctx, c)
	}
}

// maxLastWrite bounds the last write to standard error.
const maxLastWrite = 200 * time.Millisecond

// observeExhausted returns an observer that writes a line to standard error for each turn
// whose retries are exhausted, and a function that waits until the lines are written.
func (s *streams) observeExhausted() (observer settle.Observer, stop func()) {
	out := stdio.NewOutput(s.stderr, func(error) {}) // no one reads it
	return stdio.ObserveExhausted(out.Add), func() {
		_ = out.Close(func() time.Duration { return maxLastWrite })
	}
}

// server returns a server whose clients connect and disconnect. Flags that are settings
// apply to all sessions; a client's own settings take precedence. The caller releases
// the server.
func (s *streams) server(cmd *cobra.Command, o assemble.Options) (*protocolServer, *signals) {
	sig := catch(cmd.Context())
	s = s.inFamily(o.Frontend)
	in := &protocolServer{ctx: sig.ctx, stops: sig.stops, undo: []func(){sig.release}}
	if stop, err := proc.BecomeReaper(); err == nil {
		in.undo = append(in.undo, stop)
	}
	flags := given(cmd.Flags())
	project := config.UseProject
	if o.Project == assemble.IgnoreProject {
		project = config.IgnoreProject
	}
	o.Environ, o.Getenv, o.Version, o.Releasable, o.Attach = s.environ, s.getenv, version(), true, attach.Serve
	in.hosts = &assemble.Sessions{
		Base:     o,
		OpenHost: s.telemetry.Open,
		Settings: func(dir string, given map[string]string) (*config.Resolved, error) {
			return config.LoadOver(flags, given, func(all map[string]string) (*config.Resolved, error) {
				return s.settings(dir, all, project)
			})
		},
	}
	return in, sig
}

// inFamily returns the streams of a frontend. A compatibility command prefers the models
// of the agent that it replaces.
func (s *streams) inFamily(frontend string) *streams {
	c := *s
	switch frontend {
	case "exec", "app-server", "mcp":
		c.family = config.WireOpenAI
	case "claude":
		c.family = config.WireAnthropic
	}
	return &c
}

// rpc returns the options of a server of JSON-RPC at the standard streams.
func (in *protocolServer) rpc(s *streams, dir string) rpc.Options {
	in.reportExhausted(s)
	return rpc.Options{
		In: s.stdin, Out: s.stdout, Sessions: in.hosts, Dir: dir, Version: version(), Stops: in.stops,
		Say: s.say, Exit: os.Exit,
	}
}

func (in *protocolServer) release() {
	for n := len(in.undo) - 1; n >= 0; n-- {
		in.undo[n]()
	}
}

// lost ends the process as a signal does, since the client has gone.
func (s *signals) lost(by string, code int, err error) {
	stop := stdio.Stop{Reason: event.Shutdown, By: by, Code: code, Err: err}
	s.cancel(stopped{stop})
	select {
	case s.stops <- stop:
	default: // a stop waits already
	}
}
