package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
)

const executorHelp = `Run commands and work on files for a settle on another machine, through standard
input and output. You do not start the executor yourself: name a command that starts
it with --executor:

  settle run --executor "docker exec -i CONTAINER settle executor" "fix the failing test"

The model, its keys and the session's log stay on the machine of "settle run".
Commands get the environment of this machine, and work in the directory in which
"settle executor" starts. If the connection ends and settle does not connect again,
the executor ends all processes that it started.`

func newExecutor(s *streams) *cobra.Command {
	return &cobra.Command{
		Use: "executor", Short: "Run commands for a settle on another machine", Long: executorHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// These signals come with the end of the connection, which is no reason to end.
			// (Commands would inherit an ignored signal.)
			lost := make(chan os.Signal, 1)
			signal.Notify(lost, syscall.SIGHUP, syscall.SIGPIPE)
			defer signal.Stop(lost)
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return failed(s.executor(ctx))
		},
	}
}

// executor runs commands for the host at the other end of the standard streams.
func (s *streams) executor(ctx context.Context) error {
	if isTerminal(s.stdin) {
		return fmt.Errorf("standard input is a terminal; see %q", "settle executor --help")
	}
	if stop, err := proc.BecomeReaper(); err == nil {
		defer stop()
	}
	dir, err := directory(".")
	if err != nil {
		return err
	}
	r, err := s.settings(dir, nil, config.IgnoreProject)
	if err != nil {
		return err
	}
	o := assemble.ExecutorOptions{
		Environ: s.environ, Getenv: s.getenv, Version: version(), Settings: r, Dir: dir, Sockets: s.sockets(),
	}
	stand, discard := o.Stand()
	return errors.Join(stand.Run(ctx, standardStream{s.stdin, s.stdout}), discard())
}

// sockets returns the directory of the sockets of this user's executors. A directory
// whose path is too long for the address of a socket is not used.
func (s *streams) sockets() string {
	if dir := s.getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() &&
			len(dir) <= executor.MaxDir-len("/settle-executor") {
			return filepath.Join(dir, "settle-executor")
		}
	}
	if os.Getuid() < 0 {
		return "" // Windows
	}
	name := "settle-executor-" + strconv.Itoa(os.Getuid())
	shared := "/tmp/" + name
	if dir := filepath.Join(os.TempDir(), name); len(dir) <= executor.MaxDir {
		shared = dir
	}
	if _, err := os.Lstat(shared); err == nil && !executor.IsPrivate(shared) { // of another user, who was first
		own := filepath.Join(s.getenv("HOME"), ".settle-executor")
		if filepath.IsAbs(own) && len(own) <= executor.MaxDir {
			return own
		}
	}
	return shared
}

// standardStream is standard input and output.
type standardStream struct{ in, out *os.File }

func (t standardStream) Read(data []byte) (int, error)  { return t.in.Read(data) }
func (t standardStream) Write(data []byte) (int, error) { return t.out.Write(data) }

func (t standardStream) Close() error {
	_ = t.in.Close() // it was only read from
	return t.out.Close()
}

var _ io.ReadWriteCloser = standardStream{}
