package temporaldev

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/settle-agent/settle/fleet/devserver"
)

const (
	// startTimeout bounds the start, stopTimeout the end before the server is killed.
	startTimeout, stopTimeout = time.Minute, 15 * time.Second
	// readyDelay is the wait between two checks whether the server is ready.
	readyDelay = 50 * time.Millisecond
	// maxLogTail is the number of bytes of the log that an error quotes.
	maxLogTail = 1000
)

// Options say how to start a server.
type Options struct {
	// Program is the path of the server's program; "" means the one that [Find] finds.
	Program string
	// File is the file of its state; "" keeps the state in memory.
	File string
	// Log is the file that its messages are appended to; "" discards them.
	Log string
	// Port is the one that it listens on; 0 is a free one.
	Port int
	// UI also serves the web UI, on UIPort; 0 is a free one.
	UI     bool
	UIPort int
	// Namespace is made; "" means default.
	Namespace string
}

// Server is a server that this process has started.
type Server struct {
	// Address is its HOST:PORT, and UI the URL of the web UI; "" if there is none.
	Address, UI string
	// Port and UIPort are the ports that it listens on.
	Port, UIPort int

	*devserver.Child
	stdin io.Closer // its end ends settle's build of the server
}

// Start starts a server and waits until it is ready.
func Start(ctx context.Context, o Options) (*Server, error) {
	program, err := Find(ctx, o.Program)
	if err != nil {
		return nil, err
	}
	return program.Start(ctx, o)
}

// Start starts the program as a server and waits until it is ready.
func (p Program) Start(ctx context.Context, o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	logFile, err := os.OpenFile(cmp.Or(o.Log, os.DevNull), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot write the log of Temporal: %w", err)
	}
	defer logFile.Close()
	cmd := exec.Command(p.path, p.args(o)...)
	cmd.Stdout, cmd.Stderr = logFile, logFile
	s := &Server{Address: net.JoinHostPort(loopback, strconv.Itoa(o.Port)), Port: o.Port, UIPort: o.UIPort}
	if o.UI {
		s.UI = "http://" + net.JoinHostPort(loopback, strconv.Itoa(o.UIPort))
	}
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// SQLite loses nothing when its process is killed.
	if s.Child, err = devserver.Start(cmd, syscall.SIGKILL); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.awaitReady(ctx, cmp.Or(o.Namespace, client.DefaultNamespace)); err != nil {
		s.Stop()
		return nil, fmt.Errorf("temporal (%s) does not start: %w%s", p.path, err, tail(o.Log))
	}
	return s, nil
}

// awaitReady waits until the server has the namespace, and the process still runs: what
// answers is not another server at the same port then.
func (s *Server) awaitReady(ctx context.Context, namespace string) error {
	for {
		err := s.ping(ctx, namespace)
		select {
		case <-s.Exited():
			return errors.Join(fmt.Errorf("it has ended (%s)", s.ExitStatus()), err)
		default:
		}
		if err == nil {
			return nil
		}
		select {
		case <-time.After(readyDelay):
		case <-s.Exited(): // the next round reports it
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// ping asks the server for the namespace.
func (s *Server) ping(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := client.NewNamespaceClient(client.Options{
		HostPort: s.Address, Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Describe(ctx, namespace)
	return err
}

// Stop ends the server and waits until it has ended.
func (s *Server) Stop() {
	s.End(func() {
		_ = s.stdin.Close()
		_ = s.Process().Signal(os.Interrupt)
	}, stopTimeout)
}

// tail returns the end of the log for an error.
func tail(path string) string {
	if path == "" {
		return ""
	}
	text, err := os.ReadFile(path)
	if text = bytes.TrimSpace(text); err != nil || len(text) == 0 {
		return "; its log is " + path
	}
	return fmt.Sprintf("; its log is %s:\n%s", path, text[max(0, len(text)-maxLogTail):])
}
