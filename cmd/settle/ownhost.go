package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/frontend/daemon"
	"github.com/settle-agent/settle/internal/frontend/tui/conversation"
	"github.com/settle-agent/settle/internal/hostsocket"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/redact"
)

const (
	// terminalHostFlag makes a process the host of a terminal's session.
	terminalHostFlag = "terminal-host"
	// maxHostLine bounds a line between a terminal and its host process, in bytes.
	maxHostLine = 64 << 10
)

// starter returns the function that starts host processes for the terminal's sessions: this
// program with the terminal's flags, environment and working directory, in a system session
// of its own.
func (s *streams) starter(cmd *cobra.Command, dataDir string) conversation.StartHost {
	return func(ctx context.Context, spec conversation.HostSpec) (_ *conversation.HostProcess, err error) {
		log, err := hostLog(dataDir, spec.ID)
		if err != nil {
			return nil, &conversation.StartError{Err: err}
		}
		defer log.Close()
		defer func() {
			if err != nil {
				removeEmpty(log, log.Name())
			}
		}()
		host, err := proc.Standalone{
			Args: hostArguments(cmd, terminalHostFlag, "true"), Env: s.environ, Stderr: log,
		}.StartConnected()
		if err != nil {
			return nil, &conversation.StartError{Err: err}
		}
		ended := make(chan struct{})
		var how error
		go func() { // ends with the process, or with this one
			defer close(ended)
			how = host.Wait()
		}()
		report, err := exchange(ctx, host.Conn, spec)
		if err == nil && report.Error == "" {
			return &conversation.HostProcess{Conn: host.Conn, Ended: ended}, nil
		}
		_ = host.Conn.Close() // the host ends without its terminal
		kill := time.AfterFunc(stopGrace, host.Kill)
		defer kill.Stop()
		select {
		case <-ended:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if report.Error != "" {
			return nil, errors.New(report.Error)
		}
		return nil, &conversation.StartError{Err: fmt.Errorf(
			"it ended before it opened the session: %w; it wrote to %s", cmp.Or(how, err), log.Name(),
		)}
	}
}

// exchange sends the order to a host process, and returns its report.
func exchange(ctx context.Context, conn net.Conn, spec conversation.HostSpec) (report daemon.Report, err error) {
	cut := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = json.NewEncoder(conn).Encode(spec)
	var line []byte
	if err == nil {
		line, err = hostsocket.ReadLine(conn, maxHostLine)
	}
	if err == nil {
		err = json.Unmarshal(line, &report)
	}
	if !cut() {
		err = context.Cause(ctx)
	}
	return report, err
}

// runHost hosts a session of a terminal: this process was started by starter.
func (f *tuiFlags) runHost(cmd *cobra.Command, s *streams) error {
	proc.ShowName()
	conn, err := net.FileConn(s.stdin)
	if err != nil {
		return fmt.Errorf("cannot host a session: %w", err)
	}
	defer conn.Close()
	line, err := hostsocket.ReadLine(conn, maxHostLine)
	var spec conversation.HostSpec
	if err == nil {
		err = json.Unmarshal(line, &spec)
	}
	if err != nil {
		return fmt.Errorf("cannot host a session: the terminal that started this process has ended: %w", err)
	}
	refuse := func(err error) error {
		_ = json.NewEncoder(conn).Encode(daemon.Report{Error: redact.Diagnostic(err.Error())}) // to be shown
		return err
	}
	dir, err := directory(f.dir)
	if err != nil {
		return refuse(err)
	}
	s.keepGarbage(tuiGCPercent)
	clients := &daemon.Clients{}
	in, sig := s.server(cmd, f.options())
	defer in.release()
	in.hosts.Base.Attach = clients.Serve
	resolved, err := in.hosts.Settings(dir, nil)
	if err != nil {
		return refuse(err)
	}
	policy := spec.Policy(assemble.Begins(resolved.Settings, event.Ask))
	code := daemon.Run(sig.ctx, daemon.Options{
		Sessions: in.hosts, Session: spec.ID, Owner: conn, Stops: in.stops, IdleTimeout: f.idle,
		Logger: hostLogger(resolved), Spec: spec.Session(dir, policy),
	}, clients)
	removeHostLog(s.stderr, resolved.DataDir, spec.ID)
	if code != 0 {
		return &exitError{code: code}
	}
	return nil
}
