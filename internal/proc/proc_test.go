package proc

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/test/setsid"
	"github.com/settle-agent/settle/modeltest/leak"
)

func TestMain(m *testing.M) {
	setsid.Command()
	RunAsSupervisor()
	os.Exit(leak.Run(setsid.With(m)))
}

// sink keeps everything, and signals each arrival.
type sink struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func newSink() *sink { return &sink{more: make(chan struct{}, 1)} }

func (s *sink) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf.Write(data)
	select {
	case s.more <- struct{}{}:
	default:
	}
	return len(data), nil
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// await waits for a text in the output.
func (s *sink) await(t *testing.T, text string) {
	t.Helper()
	for !strings.Contains(s.String(), text) {
		select {
		case <-s.more:
		case <-t.Context().Done():
			t.Fatalf("no %q in the output: %q", text, s.String())
		case <-time.After(patience):
			t.Fatalf("no %q in the output within %v: %q", text, patience, s.String())
		}
	}
}

// patience bounds the wait of a test for an event; no result is measured against it.
const patience = 30 * time.Second

func sh(script string) Spec {
	return Spec{Argv: []string{"sh", "-c", script}, Env: []string{"PATH=" + os.Getenv("PATH")}}
}

// begin starts a command and ends it with the test.
func begin(t *testing.T, spec Spec) (*Process, *sink) {
	t.Helper()
	out := newSink()
	spec.Stdout = out
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		p.End(ctx, 0)
	})
	return p, out
}

func wait(t *testing.T, p *Process) Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	exit, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("Wait: %v", err)
	}
	if ctx.Err() != nil {
		t.Fatalf("the command has exited, and Wait did not return within %v", patience)
	}
	return exit
}

func done(t *testing.T, p *Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatalf("not done within %v; left: %v", patience, p.Remains())
	}
}

func TestExit(t *testing.T) {
	tests := []struct {
		script string
		want   Exit
		output string
	}{
		{"true", Exit{}, ""},
		{"echo out; echo err >&2; echo out", Exit{}, "out\nerr\nout\n"},
		{"echo partial; exit 3", Exit{Code: 3}, "partial\n"},
		{"kill -9 $$", Exit{Code: 137, Signal: 9}, ""},
		{"exec >&- 2>&-; exit 4", Exit{Code: 4}, ""},
		{"cat", Exit{}, ""}, // standard input is empty
	}
	for _, test := range tests {
		t.Run(test.script, func(t *testing.T) {
			p, out := begin(t, sh(test.script))
			if got := wait(t, p); got != test.want {
				t.Errorf("exit %+v, want %+v", got, test.want)
			}
			if got := out.String(); got != test.output {
				t.Errorf("output %q, want %q", got, test.output)
			}
			done(t, p)
		})
	}
}

func TestStartErrors(t *testing.T) {
	tests := []struct {
		name string
		spec Spec
		want string
	}{
		{"empty", Spec{}, "cannot start a command: it is empty"},
		{"no program", Spec{Argv: []string{"no-such-program"}}, `cannot start "no-such-program"`},
		{"no directory", Spec{Argv: []string{"true"}, Dir: "/no/such/place"}, `directory "/no/such/place"`},
		{"file as directory", Spec{Argv: []string{"true"}, Dir: "/dev/null"}, "it is not one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Start(t.Context(), test.spec)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		why := fmt.Errorf("stop it")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if _, err := Start(ctx, sh("true")); err == nil || !strings.Contains(err.Error(), "stop it") {
			t.Errorf("error %v, want the context's cause", err)
		}
	})
}

// C8: the call ends with its foreground process, even if another process holds the pipe.
func TestGrandchildHoldsThePipe(t *testing.T) {
	spec := sh("echo before; sleep 1000 & echo after")
	spec.Rest = KeepRest
	p, out := begin(t, spec)
	wait(t, p)
	if got, want := out.String(), "before\nafter\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	rest := p.Rest()
	if len(rest) != 1 || rest[0].Command != "sleep 1000" {
		t.Errorf("rest %v, want the sleep", rest)
	}
	if survivors := p.End(t.Context(), time.Second); len(survivors) > 0 {
		t.Errorf("survivors %v", survivors)
	}
}

// gated is a sink that takes nothing until its gate opens.
type gated struct {
	*sink
	gate chan struct{}
}

func (g gated) Write(data []byte) (int, error) {
	<-g.gate // opened by the test
	return g.sink.Write(data)
}

// C4: on a busy machine, the output of a command can take long from the pipe to the writer. It is
// not lost for that.
func TestOutputOfABusyMachine(t *testing.T) {
	out := gated{newSink(), make(chan struct{})}
	spec := sh("echo hi")
	spec.Stdout = out
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	const busy = 600 * time.Millisecond
	time.AfterFunc(busy, func() { close(out.gate) })
	wait(t, p)
	if got := out.String(); got != "hi\n" {
		t.Errorf("output %q", got)
	}
	done(t, p)
}

// A writer that hangs keeps nobody who has a bound.
func TestHangingWriter(t *testing.T) {
	out := gated{newSink(), make(chan struct{})}
	spec := sh("echo hi; exit 3")
	spec.Stdout = out
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if exit, err := p.Wait(ctx); err != nil || exit.Code != 3 {
		t.Errorf("got %+v, %v", exit, err)
	}
	close(out.gate)
	done(t, p)
	if got := out.String(); got != "hi\n" {
		t.Errorf("output %q", got)
	}
}

func TestInput(t *testing.T) {
	spec := sh("read line; echo got $line; cat")
	spec.Input = PipeInput
	p, out := begin(t, spec)
	if err := p.Write(t.Context(), []byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	out.await(t, "got one\ntwo\n")
	if err := p.CloseInput(); err != nil {
		t.Fatal(err)
	}
	wait(t, p)
}

// An interrupt reaches the command and its group, once it listens, and nobody when it
// is gone.
func TestInterrupt(t *testing.T) {
	for _, terminal := range []*Size{nil, {Rows: 24, Cols: 80}} {
		spec := sh("trap 'echo interrupted; exit 7' INT; echo ready; while :; do sleep 1000 & wait; done")
		spec.Terminal = terminal
		p, out := begin(t, spec)
		out.await(t, "ready")
		p.Interrupt()
		if exit := wait(t, p); exit.Code != 7 {
			t.Errorf("exit %+v", exit)
		}
		out.await(t, "interrupted")
		p.End(t.Context(), 0)
		done(t, p)
		p.Interrupt()
	}
}

// A command is silent when no process holds its output, even if processes still run.
func TestSilent(t *testing.T) {
	spec := sh("sleep 1000 >/dev/null 2>&1 & echo left")
	spec.Rest = KeepRest
	p, out := begin(t, spec)
	wait(t, p)
	<-p.Silent()
	if got := out.String(); got != "left\n" {
		t.Errorf("output %q", got)
	}
	select {
	case <-p.Done():
		t.Error("nothing was left")
	default:
	}
	p.End(t.Context(), 0)
	<-p.Silent()

	spec = sh("sleep 1000 & exit 0")
	spec.Rest = KeepRest
	p, _ = begin(t, spec)
	wait(t, p)
	silent := p.Silent()
	select {
	case <-silent:
		t.Error("it is silent while somebody holds its output")
	default:
	}
	p.End(t.Context(), 0)
	<-silent
}

func TestTerminal(t *testing.T) {
	spec := sh("test -t 0 && test -t 1 && echo yes; stty size; read line; echo got $line; sleep 1000")
	spec.Terminal = &Size{Rows: 33, Cols: 111}
	p, out := begin(t, spec)
	out.await(t, "yes\r\n33 111\r\n")
	if err := p.Write(t.Context(), []byte("word\n")); err != nil {
		t.Fatal(err)
	}
	out.await(t, "got word\r\n")
	p.End(t.Context(), 0)
	done(t, p)
}

// Run returns after the work at the end of its command.
func TestRunAwaitsConclusion(t *testing.T) {
	for range 50 {
		var concluded atomic.Bool
		c := Command{Argv: []string{"/bin/sh", "-c", "exit 0"}}
		c.Starter = func(ctx context.Context, spec Spec) (*Process, error) {
			spec.Ended = func() { concluded.Store(true) }
			return Start(ctx, spec)
		}
		if _, err := Run(t.Context(), c); err != nil || !concluded.Load() {
			t.Fatalf("got %v, concluded: %t", err, concluded.Load())
		}
	}
}

func TestRun(t *testing.T) {
	env := []string{"PATH=" + os.Getenv("PATH")}
	got, err := Run(
		t.Context(),
		Command{Argv: []string{"sh", "-c", "cat; echo oops >&2; exit 2"}, Env: env, Stdin: []byte("text")},
	)
	if err != nil || got.Code != 2 || string(got.Stdout) != "text" || string(got.Stderr) != "oops\n" {
		t.Errorf("Run gave %+v, %v", got, err)
	}
	got, err = Run(t.Context(), Command{Argv: []string{"yes"}, Env: env, MaxBytes: 1000})
	if err != nil || !got.Truncated || len(got.Stdout) != 1000 {
		t.Errorf("endless output: %d bytes, truncated %v, %v", len(got.Stdout), got.Truncated, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fmt.Errorf("enough"))
	if _, err = Run(ctx, Command{Argv: []string{"sleep", "1000"}, Env: env}); err == nil ||
		!strings.Contains(err.Error(), "enough") {
		t.Errorf("cancelled: %v", err)
	}
}
