package executor

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// CommandDialer runs a command whose standard input and output lead to an executor, such as "ssh
// host settle executor".
type CommandDialer struct {
	Command string
	// Env is the whole environment of the command, and Dir its directory.
	Env []string
	Dir string
	// Marker and Lock are as in [proc.Spec].
	Marker string
	Lock   *os.File
	// Install, if set, copies settle to the other machine if it is missing there.
	Install *Install

	mu      sync.Mutex
	tunnels []*tunnel // whose processes can run
	group   sync.WaitGroup
}

// tunnel is one run of the command. After its stream is closed, its process runs until Close:
// the executor can be one of its descendants.
type tunnel struct {
	process *proc.Process
	from    *io.PipeReader
	stderr  proc.Tail
	ctx     context.Context // ends with the stream
	cancel  context.CancelFunc
}

// Dial runs the command and returns its standard input and output.
func (w *CommandDialer) Dial(ctx context.Context) (io.ReadWriteCloser, error) {
	shell, ok := findShell()
	if !ok {
		return nil, errors.New("cannot run a command: there is neither bash nor sh")
	}
	command := w.Command
	if w.Install != nil {
		var err error
		if command, err = w.Install.command(command); err != nil {
			return nil, err
		}
	}
	from, to := io.Pipe()
	t := &tunnel{from: from, stderr: proc.Tail{Max: reportedTailBytes}}
	p, err := proc.Start(ctx, proc.Spec{
		Argv:   append(shell, command),
		Dir:    w.Dir,
		Env:    proc.TrustedEnv(w.Env),
		Input:  proc.PipeInput,
		Stdout: to,
		Stderr: &t.stderr,
		Rest:   proc.KeepRest,
		Marker: w.Marker,
		Lock:   w.Lock,
	})
	if err != nil {
		return nil, err
	}
	t.process = p
	t.ctx, t.cancel = context.WithCancel(context.Background())
	w.mu.Lock()
	w.tunnels = append(w.tunnels, t)
	w.mu.Unlock()
	w.group.Go(func() { // ends with the process, which Close ends
		_, _ = p.Wait(context.Background())
		_ = to.CloseWithError(io.EOF)
		<-p.Done()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tunnels = slices.DeleteFunc(w.tunnels, func(open *tunnel) bool { return open == t })
	})
	if w.Install != nil {
		if err := w.Install.prepare(ctx, t); err != nil {
			_ = t.Close()
			return nil, withStderr(t, err)
		}
	}
	return t, nil
}

// Close ends all runs of the command and their descendants.
func (w *CommandDialer) Close(ctx context.Context) error {
	w.mu.Lock()
	tunnels := slices.Clone(w.tunnels)
	w.mu.Unlock()
	for _, t := range tunnels {
		_ = t.Close()
	}
	var wg sync.WaitGroup
	for _, t := range tunnels {
		wg.Go(func() { t.process.End(ctx, proc.DefaultGrace) }) // ends with ctx
	}
	wg.Wait()
	done := make(chan struct{})
	go func() { // ends with the processes
		w.group.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (t *tunnel) Read(data []byte) (int, error) { return t.from.Read(data) }

func (t *tunnel) Write(data []byte) (int, error) {
	if err := t.process.Write(t.ctx, data); err != nil {
		return 0, err
	}
	return len(data), nil
}

// Close ends the stream in both directions.
func (t *tunnel) Close() error {
	t.cancel()
	_ = t.from.CloseWithError(io.ErrClosedPipe) // never fails
	return t.process.CloseInput()
}

// saidTimeout bounds the wait for the standard error of a failed command.
const saidTimeout = time.Second

// Stderr returns the end of the command's standard error.
func (t *tunnel) Stderr() string {
	_ = t.Close()
	ctx, cancel := context.WithTimeout(context.Background(), saidTimeout)
	defer cancel()
	_, _ = t.process.Wait(ctx)
	return strings.TrimSpace(t.stderr.String())
}
