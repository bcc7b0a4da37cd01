package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hostsocket"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest/leak"
)

// roleVar makes the test binary, run anew, play a part of its own.
const roleVar = "JOURNAL_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		os.Exit(play(role, os.Args[1:]))
	}
	os.Exit(leak.Run(m))
}

// play runs a role; every role reports its errors on stdout.
func play(role string, args []string) int {
	ctx := context.Background()
	l, _, err := Open(ctx, Options{Dir: args[0], Session: args[1]})
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	switch role {
	case "open":
		err = l.Close(ctx)
	case "hold":
		err = hold(l)
	case "ignore":
		signal.Ignore(syscall.SIGTERM)
		err = hold(l)
	case "serve":
		err = serve(l, args[0])
	case "crowd":
		err = crowd(l, args[0])
	case "linger":
		err = linger(l)
	case "reused":
		err = pretend(l, func(id *event.Identity) { id.Started++ })
	case "embeds":
		if err = l.Update(one(event.Event{Data: event.SessionOpened{PID: os.Getpid(), Process: proc.Self(), Frontend: event.FrontendLibrary}})); err == nil {
			fmt.Println("held")
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
			err = l.Close(ctx)
		}
	case "elsewhere":
		err = pretend(l, func(id *event.Identity) { id.Namespace += "x" })
	case "bequeath":
		err = bequeath(l)
	case "write":
		err = writeForEver(l)
	}
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	fmt.Println("done")
	return 0
}

// hold keeps the log open until standard input ends.
func hold(l *Log) error {
	if err := identify(l, proc.Self()); err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return l.Close(context.Background())
}

// identify records who holds the log, as a session does.
func identify(l *Log, process *event.Identity) error {
	return l.Update(one(event.Event{Data: event.SessionOpened{PID: os.Getpid(), Process: process}}))
}

// serve holds another session as well, and releases either when it is asked to.
func serve(l *Log, dir string) error {
	other, _, err := Open(context.Background(), Options{Dir: dir, Session: "s2"})
	if err != nil {
		return err
	}
	if err := identify(other, proc.Self()); err != nil {
		return err
	}
	logs := map[string]*Log{"s1": l, "s2": other}
	server := hostsocket.NewServer(dir, hostsocket.Service{Release: func(ctx context.Context, session string) error {
		if logs[session] == nil {
			return hostsocket.ErrNotHeld
		}
		return logs[session].Close(ctx)
	}})
	if err := server.Listen(); err != nil {
		return err
	}
	if err := hold(l); err != nil {
		return err
	}
	return errors.Join(server.Close(), other.Close(context.Background()))
}

// crowd holds another session as well, and answers nobody.
func crowd(l *Log, dir string) error {
	other, _, err := Open(context.Background(), Options{Dir: dir, Session: "s2"})
	if err != nil {
		return err
	}
	if err := identify(other, proc.Self()); err != nil {
		return err
	}
	return errors.Join(hold(l), other.Close(context.Background()))
}

// linger ends in good order when it is asked to, once it may.
func linger(l *Log) error {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if err := identify(l, proc.Self()); err != nil {
		return err
	}
	fmt.Println("held")
	<-asked
	fmt.Println("asked")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return l.Close(context.Background())
}

// pretend holds the log with a changed identity of the holder, until a line on standard input.
func pretend(l *Log, change func(*event.Identity)) error {
	id := proc.Self()
	change(id)
	if err := identify(l, id); err != nil {
		return err
	}
	fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	return l.Close(context.Background())
}

// bequeath lets a child inherit the lock, and waits for its own end. The child
// ends when its standard input does.
func bequeath(l *Log) error {
	child := exec.Command("cat")
	child.Stdin = os.Stdin
	child.ExtraFiles = []*os.File{l.LockFile()}
	if err := child.Start(); err != nil {
		return err
	}
	fmt.Println("bequeathed", child.Process.Pid)
	return child.Wait()
}

// writeForEver writes turns and prints every event that a subscriber sees.
func writeForEver(l *Log) error {
	go func() { // ends with the process
		for e, err := range l.Events(context.Background(), l.Seq()) {
			line, encodeErr := e.AppendJSON(nil)
			if err != nil || encodeErr != nil {
				fmt.Println("error:", err, encodeErr)
				return
			}
			_, _ = os.Stdout.Write(append(line, '\n'))
		}
	}()
	for l.Err() == nil {
		for _, f := range script() {
			if err := l.Update(f); err != nil {
				return err
			}
		}
	}
	return l.Err()
}

// script returns a turn in updates that fit any state: first they end the entities that the last
// writer left open.
func script() []func(event.State) []event.Event {
	within := func(data event.Data) func(event.State) []event.Event {
		return func(s event.State) []event.Event {
			turn := s.Running()
			e := event.Event{Turn: turn.ID, Data: data}
			if _, ok := data.(event.AttemptStarted); ok {
				e.Attempt = s.NextAttempt()
				return []event.Event{e}
			}
			e.Attempt = turn.Attempt().ID
			if e.Item = s.NextItem(0); len(turn.Items) > 0 {
				e.Item = turn.Items[len(turn.Items)-1].ID
			}
			return []event.Event{e}
		}
	}
	out := []func(event.State) []event.Event{
		endings(event.Abort(event.Crashed, "host")),
		func(s event.State) []event.Event {
			if s.Open {
				return []event.Event{{Data: event.SessionRecovered{}}}
			}
			return nil
		},
		one(opened()),
		func(s event.State) []event.Event {
			return []event.Event{{By: "user", Data: event.InputAccepted{Input: s.NextInput(), Text: "go"}}}
		},
		func(s event.State) []event.Event {
			return []event.Event{{Turn: s.NextTurn(), Data: event.TurnStarted{Inputs: []string{s.Waiting[0].ID}}}}
		},
		within(event.AttemptStarted{Step: 1, N: 1}),
		within(event.ItemStarted{Type: event.Message}),
	}
	for i := range 100 {
		out = append(out, within(event.ItemDelta{Stream: event.Text, Text: fmt.Sprint("word ", i, " ")}))
	}
	return out
}

// actor is a test binary that plays a role.
type actor struct {
	*exec.Cmd
	stdin interface{ Close() error }
	lines *bufio.Scanner
}

func start(t testing.TB, role, dir, session string) *actor {
	t.Helper()
	return startCommand(t, exec.Command(os.Args[0], dir, session), role)
}

func startCommand(t testing.TB, cmd *exec.Cmd, role string) *actor {
	t.Helper()
	cmd.Env = append(os.Environ(), roleVar+"="+role)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a := &actor{Cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
	a.lines.Buffer(nil, 1<<20)
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return a
}

// expect reads a line that begins with the word and returns the rest.
func (a *actor) expect(t testing.TB, word string) string {
	t.Helper()
	if !a.lines.Scan() {
		t.Fatalf("the %s ended before it said %q", a.Env[len(a.Env)-1], word)
	}
	rest, ok := strings.CutPrefix(a.lines.Text(), word)
	if !ok {
		t.Fatalf("it said %q, not %q", a.lines.Text(), word)
	}
	return strings.TrimSpace(rest)
}

// open opens the session's log and closes it with the test.
func open(t testing.TB, o Options) (*Log, Opened) {
	t.Helper()
	if o.Session == "" {
		o.Session = "s1"
	}
	l, opened, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l, opened
}

// update applies the events one by one.
func update(t testing.TB, l *Log, events ...event.Event) {
	t.Helper()
	for _, e := range events {
		if err := l.Update(one(e)); err != nil {
			t.Fatal(err)
		}
	}
}

// written returns the bytes of a log with two turns, of which the second is
// open, and where in it each record begins.
func written(t testing.TB) (raw []byte, starts []int) {
	t.Helper()
	dir := t.TempDir()
	l, opened := open(t, Options{Dir: dir})
	begin(t, l)
	update(t, l, delta("one "), delta("two"))
	if err := l.Update(endings(event.Abort(event.Interrupted, "user"))); err != nil {
		t.Fatal(err)
	}
	second := func(e event.Event) event.Event {
		e.Turn, e.Attempt, e.Item = "t000002", "a000002", "i000002"
		return e
	}
	update(
		t, l,
		event.Event{By: "user", Data: event.InputAccepted{Input: "n000002", Text: "go on"}},
		event.Event{Turn: "t000002", Data: event.TurnStarted{Inputs: []string{"n000002"}}},
		event.Event{Turn: "t000002", Attempt: "a000002", Data: event.AttemptStarted{Step: 1, N: 1}},
		second(event.Event{Data: event.ItemStarted{Type: event.Message}}),
		second(delta("three")),
	)
	closeLog(t, l)
	raw, err := os.ReadFile(opened.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(header(formatVersion)); i < len(raw); i += bytes.IndexByte(raw[i:], '\n') + 1 {
		starts = append(starts, i)
	}
	return raw, starts
}

// place writes the bytes as the log of session s1 into a new data directory.
func place(t testing.TB, raw []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	put(t, dir, raw)
	return dir
}

func put(t testing.TB, dir string, raw []byte) {
	t.Helper()
	path, err := logPath(dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(sessionsDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// stateOf folds all of the log's events.
func stateOf(t testing.TB, l *Log) event.State {
	t.Helper()
	var state event.State
	for _, e := range collectUntil(t, l, l.Seq()) {
		var err error
		if state, err = event.Fold(state, e); err != nil {
			t.Fatal(err)
		}
	}
	return state
}
