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

const handsHelp = `Run commands and work on files for a settle on another machine, which is at the
other end of standard input and output. You do not start this yourself; name a
command that does with --hands:

  settle run --hands "docker exec -i CONTAINER settle hands" "fix the failing test"

The model, its keys and the session's log stay where "settle run" is. Commands get
the environment of this machine, and work in the directory in which "settle hands"
starts. When the connection ends and settle does not come back, everything that it
started here is ended.`

func newHands(s *streams) *cobra.Command {
	return &cobra.Command{
		Use: "hands", Short: "Run commands for a settle on another machine", Long: handsHelp, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// They come with the end of the connection, which is no reason. (Where a signal is
			// ignored, commands would ignore it, too.)
			lost := make(chan os.Signal, 1)
			signal.Notify(lost, syscall.SIGHUP, syscall.SIGPIPE)
			defer signal.Stop(lost)
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return failed(s.hands(ctx))
		},
	}
}

// hands works for the brain at the other end of the standard streams.
func (s *streams) hands(ctx context.Context) error {
	if isTerminal(s.stdin) {
		return fmt.Errorf("standard input is a terminal; see %q", "settle hands --help")
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

// sockets is the directory in which the hands of this user are found. A path that is
// too long for sockets is passed over.
func (s *streams) sockets() string {
	if dir := s.getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && len(dir) <= executor.MostDir-len("/settle-hands") {
			return filepath.Join(dir, "settle-hands")
		}
	}
	if os.Getuid() < 0 {
		return "" // Windows
	}
	name := "settle-hands-" + strconv.Itoa(os.Getuid())
	if dir := filepath.Join(os.TempDir(), name); len(dir) <= executor.MostDir {
		return dir
	}
	return "/tmp/" + name
}

// standardStream is standard input and output.
type standardStream struct{ in, out *os.File }

func (t standardStream) Read(data []byte) (int, error)  { return t.in.Read(data) }
func (t standardStream) Write(data []byte) (int, error) { return t.out.Write(data) }

func (t standardStream) Close() error {
	_ = t.in.Close() // it was only read
	return t.out.Close()
}

var _ io.ReadWriteCloser = standardStream{}
