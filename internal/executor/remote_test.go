package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// patience bounds the wait of a test for an event.
const patience = 30 * time.Second

// land is a machine with an executor, and streams that a test can cut.
type land struct {
	t        *testing.T
	maintain time.Duration
	calls    map[string]func(context.Context, Request) (json.RawMessage, error)
	wrap     func(io.ReadWriteCloser) io.ReadWriteCloser // of each stream
	mu       sync.Mutex
	server   *Server
	open     []net.Conn
	shut     bool // nobody gets through
	dials    int
	dialed   chan struct{} // has room for one
	group    sync.WaitGroup
}

func newLand(t *testing.T) *land {
	l := &land{
		t:      t,
		dialed: make(chan struct{}, 1),
		calls:  map[string]func(context.Context, Request) (json.RawMessage, error){},
	}
	l.server = l.executor()
	t.Cleanup(func() {
		l.cut()
		l.mu.Lock()
		server := l.server
		l.mu.Unlock()
		server.Close()
		l.group.Wait()
	})
	return l
}

func (l *land) executor() *Server {
	local := local(l.t)
	local.Calls = l.calls
	dir := l.t.TempDir()
	return &Server{
		Settle: "test",
		Local:  local,
		Keep:   l.maintain,
		Spool:  func() (*os.File, error) { return unlinkedFile(dir) },
	}
}

// die replaces the executor by another one, as if it had been killed.
func (l *land) die() {
	l.mu.Lock()
	old := l.server
	l.server = l.executor()
	l.mu.Unlock()
	l.cut()
	old.Close()
}

func (l *land) Dial(context.Context) (io.ReadWriteCloser, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dials++
	select {
	case l.dialed <- struct{}{}:
	default:
	}
	if l.shut {
		return nil, errors.New("no route")
	}
	ours, theirs := net.Pipe()
	l.open = append(l.open, ours)
	server := l.server
	l.group.Go(func() {
		g, err := AcceptClient(theirs, "test", Machine{Name: "land", OS: "linux", Shell: "bash", Dir: "/"})
		if err == nil {
			_ = server.Serve(g)
		}
	})
	if l.wrap != nil {
		return l.wrap(ours), nil
	}
	return ours, nil
}

// await waits until a client has connected since the last call.
func (l *land) await() {
	l.t.Helper()
	select {
	case <-l.dialed:
	case <-time.After(patience):
		l.t.Fatal("nobody comes back")
	}
}

// cut ends every stream.
func (l *land) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.open {
		_ = c.Close()
	}
	l.open = nil
}

func (l *land) close(shut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shut = shut
}

func (l *land) remote(change func(*RemoteConfig)) *Remote {
	l.t.Helper()
	c := RemoteConfig{Dial: l.Dial, Settle: "test", Session: "s", Epoch: 1, Lease: patience, Return: patience}
	if change != nil {
		change(&c)
	}
	r, err := NewRemote(l.t.Context(), c)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = r.Close(ctx) // other tests check its error
	})
	return r
}

// sink takes output, and signals that there is more.
type sink struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	more chan struct{}
}

func newSink() *sink { return &sink{more: make(chan struct{}, 1)} }

func (s *sink) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
	return s.buf.Write(data)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// await waits until a text has come.
func (s *sink) await(t *testing.T, text string) {
	t.Helper()
	timeout := time.After(patience)
	for !strings.Contains(s.String(), text) {
		select {
		case <-s.more:
		case <-timeout:
			t.Fatalf("%q did not come; there is %q", text, s.String())
		}
	}
}

func begin(t *testing.T, h Executor, script string, change func(*Command)) (*proc.Process, *sink) {
	t.Helper()
	out := newSink()
	c := Command{Script: script, Dir: t.TempDir(), Output: out}
	if change != nil {
		change(&c)
	}
	p, err := h.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p, out
}

func wait(t *testing.T, p *proc.Process) proc.Exit {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	exit, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func awaitExit(t *testing.T, p *proc.Process) {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		t.Fatal("it is not gone")
	}
}

func TestRemoteCommand(t *testing.T) {
	r := newLand(t).remote(nil)
	p, out := begin(t, r, `echo "$WORD"; pwd; exit 3`, func(c *Command) { c.Env = []string{"WORD=said"} })
	if exit := wait(t, p); exit.Code != 3 || !strings.HasPrefix(out.String(), "said\n/") || p.PID() == 0 ||
		!p.IsRemote() {
		t.Errorf("got %+v, %q", exit, out.String())
	}
	awaitExit(t, p)
	if p.Lost() != "" || len(p.Survivors()) > 0 {
		t.Errorf("lost %q, survivors %v", p.Lost(), p.Survivors())
	}
}

func TestRemoteCommandDoesNotStart(t *testing.T) {
	r := newLand(t).remote(nil)
	_, err := r.Start(t.Context(), Command{Script: "true", Dir: "/", Workdir: "none/here"})
	if err == nil || !strings.Contains(err.Error(), `cannot run in "none/here"`) {
		t.Errorf("got %v", err)
	}
}

func TestRemoteEnd(t *testing.T) {
	r := newLand(t).remote(nil)
	p, out := begin(t, r, `trap "" TERM; (setsid sleep 1000 &) ; echo on; sleep 1000`, nil)
	out.await(t, "on\n")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if left := p.End(ctx, 10*time.Millisecond); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	if exit := p.Exit(); exit.Signal != 9 {
		t.Errorf("got %+v", exit)
	}
}

func TestRemoteLeavesARest(t *testing.T) {
	r := newLand(t).remote(nil)
	p, _ := begin(t, r, "sleep 1000 & echo done", nil)
	wait(t, p)
	if rest := p.Rest(); len(rest) != 1 || rest[0].PID == 0 {
		t.Errorf("rest %v", rest)
	}
	p.End(t.Context(), 0)
	awaitExit(t, p)
}

func TestRemoteInput(t *testing.T) {
	r := newLand(t).remote(nil)
	p, out := begin(t, r, "read x; echo got $x; cat", func(c *Command) { c.Input = proc.PipeInput })
	if err := p.Write(t.Context(), []byte("one\n")); err != nil {
		t.Fatal(err)
	}
	out.await(t, "got one\n")
	if err := p.CloseInput(); err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	q, _ := begin(t, r, "sleep 1000", nil)
	if err := q.Write(t.Context(), []byte("x")); !errors.Is(err, proc.ErrNoInput) {
		t.Errorf("got %v", err)
	}
	q.End(t.Context(), 0)
}

func TestRemoteCall(t *testing.T) {
	l := newLand(t)
	l.calls["twice"] = func(_ context.Context, q Request) (json.RawMessage, error) {
		return json.RawMessage(fmt.Sprintf("[%s,%s]", q.Args, q.Args)), nil
	}
	l.calls["fails"] = func(context.Context, Request) (json.RawMessage, error) { return nil, errors.New("it is full") }
	l.calls["waits"] = func(ctx context.Context, _ Request) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, errors.New("cut")
	}
	r := l.remote(nil)
	if got, err := r.Call(t.Context(), Request{Name: "twice", Args: json.RawMessage("2")}); err != nil ||
		string(got) != "[2,2]" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := r.Call(t.Context(), Request{Name: "fails"}); err == nil || err.Error() != "it is full" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := r.Call(ctx, Request{Name: "waits"}); err == nil {
		t.Error("a call that was cancelled did not fail")
	}
}

// Messages on a stream that was cut come over the next one, once.
func TestRemoteComesBack(t *testing.T) {
	l := newLand(t)
	r := l.remote(nil)
	flag := filepath.Join(t.TempDir(), "flag")
	p, out := begin(
		t, r,
		"i=0; echo on; until test -e "+flag+"; do sleep 0.01; done; while [ $i -lt 2000 ]; do i=$((i+1)); echo $i; done; exit 7",
		nil,
	)
	out.await(t, "on\n")
	l.cut()
	if err := os.WriteFile(flag, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		l.await()
		l.cut()
	}
	if exit := wait(t, p); exit.Code != 7 {
		t.Errorf("got %+v", exit)
	}
	var want strings.Builder
	want.WriteString("on\n")
	for i := range 2000 {
		fmt.Fprintln(&want, i+1)
	}
	if out.String() != want.String() {
		t.Errorf("the output differs: %d bytes, want %d", len(out.String()), want.Len())
	}
}

// C7: the commands of a client that does not come back end with the lease. If it does, their output
// and endings are there.
func TestLease(t *testing.T) {
	l := newLand(t)
	r := l.remote(func(c *RemoteConfig) { c.Lease, c.Return = 10*time.Second, 20*time.Millisecond })
	p, out := begin(t, r, `trap "echo bye; exit 5" TERM; echo on; while :; do sleep 0.01; done`, nil)
	out.await(t, "on\n")
	l.close(true)
	l.cut()
	awaitExit(t, l.server.host.command(1).process) // there
	l.close(false)
	awaitExit(t, p)
	if exit := p.Exit(); exit.Code != 5 || !strings.HasSuffix(out.String(), "bye\n") || p.Lost() != "" {
		t.Errorf("got %+v, %q, lost %q", exit, out.String(), p.Lost())
	}
	q, _ := begin(t, r, "exit 4", nil) // the same executor works on
	if exit := wait(t, q); exit.Code != 4 {
		t.Errorf("got %+v", exit)
	}
}

// If the executor died, the outcome of its calls is unknown, and another executor runs later calls.
func TestReplacedExecutorLosesRunningCalls(t *testing.T) {
	l := newLand(t)
	r := l.remote(nil)
	asked := make(chan struct{})
	l.calls["waits"] = func(ctx context.Context, _ Request) (json.RawMessage, error) {
		close(asked)
		<-ctx.Done()
		return nil, errors.New("cut")
	}
	p, out := begin(t, r, "echo on; sleep 1000", nil)
	out.await(t, "on\n")
	failed := make(chan error, 1)
	go func() {
		_, err := r.Call(context.Background(), Request{Name: "waits"})
		failed <- err
	}()
	<-asked
	l.die()
	awaitExit(t, p)
	if p.Lost() == "" || !p.Exit().Lost {
		t.Errorf("lost %q, exit %+v", p.Lost(), p.Exit())
	}
	var lost *LostError
	if err := <-failed; !errors.As(err, &lost) {
		t.Errorf("got %v", err)
	}
	q, _ := begin(t, r, "exit 4", nil)
	if exit := wait(t, q); exit.Code != 4 {
		t.Errorf("got %+v", exit)
	}
}

// An executor that is out of reach for longer than the lease.
func TestRemoteUnreachableBeyondLease(t *testing.T) {
	l := newLand(t)
	r := l.remote(func(c *RemoteConfig) { c.Bound = 20 * time.Millisecond })
	p, out := begin(t, r, "echo on; sleep 1000", nil)
	out.await(t, "on\n")
	l.close(true)
	l.cut()
	awaitExit(t, p)
	if !strings.Contains(p.Lost(), "no route") {
		t.Errorf("lost %q", p.Lost())
	}
	_, err := r.Start(t.Context(), Command{Script: "true", Dir: "/"})
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) {
		t.Errorf("got %v", err)
	}
	l.close(false)
	q, _ := begin(t, r, "exit 4", nil)
	if exit := wait(t, q); exit.Code != 4 {
		t.Errorf("got %+v", exit)
	}
}

// An interrupt while the executor is unreachable is answered, and commands that were not sent do
// not run.
func TestInterruptWhileAway(t *testing.T) {
	l := newLand(t)
	noticed := make(chan struct{}, 16)
	r := l.remote(func(c *RemoteConfig) { c.Notice = func(ConnectionChange) { noticed <- struct{}{} } })
	p, out := begin(t, r, "echo on; sleep 1000", nil)
	out.await(t, "on\n")
	l.close(true)
	l.cut()
	<-noticed
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if left := p.End(ctx, 0); len(left) != 1 || !strings.Contains(left[0].Why, "is unreachable") {
		t.Errorf("left %v", left)
	}
	mark := filepath.Join(t.TempDir(), "ran")
	if _, err := r.Start(ctx, Command{Script: "echo > " + mark, Dir: "/"}); err == nil {
		t.Error("it started")
	}
	l.close(false)
	awaitExit(t, p) // the end was sent when it could be
	q, _ := begin(t, r, "true", nil)
	wait(t, q)
	if _, err := os.Stat(mark); err == nil {
		t.Error("C5: a call that had ended was run")
	}
}

// Another host, with the session's next fencing epoch: running commands are ended and reported, and
// the earlier host is refused.
func TestAnotherHostEndsCommands(t *testing.T) {
	l := newLand(t)
	first := l.remote(nil)
	p, out := begin(t, first, "echo on; sleep 1000", nil)
	out.await(t, "on\n")
	done, _ := begin(t, first, "true", nil)
	wait(t, done)
	awaitExit(t, done)
	second := l.remote(func(c *RemoteConfig) { c.Epoch = 2 })
	ended := second.Ended()
	found := false
	for _, e := range ended {
		found = found || e.Command == "echo on; sleep 1000" && e.PID == p.PID() && e.Tail == "on\n"
	}
	if !found {
		t.Errorf("reported %+v", ended)
	}
	awaitExit(t, p)
	if p.Lost() == "" {
		t.Error("the first client still knows it")
	}
	if _, err := first.Start(t.Context(), Command{Script: "true", Dir: "/"}); err == nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("got %v", err)
	}
	q, _ := begin(t, second, "exit 4", nil)
	if exit := wait(t, q); exit.Code != 4 {
		t.Errorf("got %+v", exit)
	}
}

// C5: an id is used once.
func TestStartTwice(t *testing.T) {
	l := newLand(t)
	r := l.remote(nil)
	mark := filepath.Join(t.TempDir(), "mark")
	p, _ := begin(t, r, "echo ran >> "+mark, nil)
	wait(t, p)
	awaitExit(t, p)
	r.mu.Lock()
	id := r.last
	s := &pendingStart{command: Command{Script: "again"}, result: make(chan startResult, 1)}
	r.starting[id] = s
	r.link.push(kindStart, id, encode(startOrder{Script: "echo ran >> " + mark, Dir: "/"}))
	r.mu.Unlock()
	again := <-s.result
	if again.err != nil {
		t.Fatal(again.err)
	}
	awaitExit(t, again.process)
	text, _ := os.ReadFile(mark)
	if string(text) != "ran\n" || again.process.PID() != p.PID() || !again.process.Exit().OK() {
		t.Errorf("ran: %q, pid %d and %d", text, p.PID(), again.process.PID())
	}
}

func TestForeignProgramIsRefused(t *testing.T) {
	for name, say := range map[string]string{
		"no executor answered": "bash: settle: command not found\n",
		"with version":         preface,
	} {
		_, err := NewRemote(
			t.Context(),
			RemoteConfig{Settle: "test", Dial: func(context.Context) (io.ReadWriteCloser, error) {
				ours, theirs := net.Pipe()
				go func() {
					defer theirs.Close()
					from := newFrames(theirs)
					_, _ = from.skipTo()
					_, _ = from.next()
					_, _ = io.WriteString(theirs, say)
					if say == preface {
						_ = send(theirs, frameHello, hello{Version: 99, Settle: "9", Machine: &Machine{}})
					}
				}()
				return ours, nil
			}},
		)
		if err == nil || !strings.Contains(err.Error(), name) && !strings.Contains(err.Error(), "with version 99") {
			t.Errorf("got %v, want %q", err, name)
		}
	}
}
