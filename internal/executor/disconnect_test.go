package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// cutter is a stream that ends after some writes and reads, in the middle of one.
type cutter struct {
	io.ReadWriteCloser
	mu   sync.Mutex
	left int
}

func (c *cutter) spend(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n = min(n, c.left)
	c.left -= n
	return n
}

func (c *cutter) Read(data []byte) (int, error) {
	room := c.spend(min(len(data), 512))
	if room == 0 {
		_ = c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.ReadWriteCloser.Read(data[:room])
	c.mu.Lock()
	c.left += room - n
	c.mu.Unlock()
	return n, err
}

func (c *cutter) Write(data []byte) (int, error) {
	room := c.spend(len(data))
	n, err := c.ReadWriteCloser.Write(data[:room])
	if err == nil && room < len(data) {
		_ = c.Close()
		err = io.ErrShortWrite
	}
	return n, err
}

// A stream that is cut again and again, at every place: each command runs once and
// has one ending, no output is lost or comes twice, and nothing is left.
func TestCutEverywhere(t *testing.T) {
	for from := 300; from < 1500; from += 97 {
		t.Run(fmt.Sprint(from), func(t *testing.T) {
			l := newLand(t)
			budget := 1 << 20 // for the first contact
			l.wrap = func(s io.ReadWriteCloser) io.ReadWriteCloser {
				n := budget
				budget = from + 200*l.dials // further each time, or nothing would ever pass
				return &cutter{ReadWriteCloser: s, left: n}
			}
			l.calls["twice"] = func(_ context.Context, q Request) (json.RawMessage, error) {
				return json.RawMessage(fmt.Sprintf("[%s,%s]", q.Args, q.Args)), nil
			}
			r := l.remote(nil)
			mark := filepath.Join(t.TempDir(), "mark")
			l.cut()
			p, out := begin(
				t,
				r,
				"echo ran >> "+mark+"; echo one; read x; echo got $x; exit 7",
				func(c *Command) { c.Input = proc.PipeInput },
			)
			if err := p.Write(t.Context(), []byte("two\n")); err != nil {
				t.Error(err)
			}
			if got, err := r.Call(t.Context(), Request{Name: "twice", Args: json.RawMessage("2")}); err != nil ||
				string(got) != "[2,2]" {
				t.Errorf("got %s, %v", got, err)
			}
			q, _ := begin(t, r, "trap '' TERM; (setsid sleep 1000 &); sleep 1000", nil)
			l.cut()
			q.End(t.Context(), 0)
			exit := wait(t, p)
			awaitExit(t, p)
			text, _ := os.ReadFile(mark)
			if exit.Code != 7 || out.String() != "one\ngot two\n" || string(text) != "ran\n" || p.Lost() != "" ||
				q.Lost() != "" ||
				len(q.Survivors()) > 0 {
				t.Errorf("exit %+v, output %q, ran %q, lost %q and %q", exit, out.String(), text, p.Lost(), q.Lost())
			}
		})
	}
}

// People learn when the connection is lost, the reason, and for how long settle retries; when it is
// back; and when it is lost for good.
func TestConnectionChangesAreReported(t *testing.T) {
	l := newLand(t)
	news := make(chan ConnectionChange, 64)
	r := l.remote(func(c *RemoteConfig) {
		c.Bound, c.Notice = time.Hour, func(n ConnectionChange) { news <- n }
	})
	next := func(lost bool, words ...string) {
		t.Helper()
		select {
		case n := <-news:
			for _, word := range words {
				if n.Lost != lost || !strings.Contains(n.Text, word) {
					t.Errorf("got %+v, want %q", n, word)
				}
			}
		case <-time.After(patience):
			t.Fatal("nothing is said")
		}
	}
	p, out := begin(t, r, "echo on; read x; exit 3", func(c *Command) { c.Input = proc.PipeInput })
	out.await(t, "on\n")
	l.cut()
	next(true, "the connection to the executor was lost: the stream ended", "trying again for up to 1h0m0s")
	next(false, "the connection to the executor is back")
	if err := p.Write(t.Context(), []byte("go\n")); err != nil {
		t.Error(err)
	}
	if exit := wait(t, p); exit.Code != 3 {
		t.Errorf("got %+v", exit)
	}
}

// A stream without data that is not closed is reported as silent.
func TestSilentStreamIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLand(t)
		silent := &muted{}
		l.wrap = silent.wrap
		news := make(chan ConnectionChange, 64)
		l.remote(func(c *RemoteConfig) { c.Notice = func(n ConnectionChange) { news <- n } })
		silent.on.Store(true)
		if n := <-news; n.Text != "the connection to the executor was lost: the other end is silent; trying again for up to 35s" {
			t.Errorf("got %+v", n)
		}
		l.cut() // or it would be waited for
		silent.on.Store(false)
		if n := <-news; n.Lost {
			t.Errorf("got %+v", n)
		}
	})
}

// muted are streams over which nothing comes while it is on.
type muted struct{ on atomic.Bool }

func (m *muted) wrap(s io.ReadWriteCloser) io.ReadWriteCloser { return mutedStream{s, m} }

type mutedStream struct {
	io.ReadWriteCloser
	muted *muted
}

func (s mutedStream) Read(data []byte) (int, error) {
	for {
		n, err := s.ReadWriteCloser.Read(data)
		if err != nil || !s.muted.on.Load() {
			return n, err
		}
	}
}

// Output beyond the bound for a disconnected client is dropped, and the drop is reported.
func TestFlood(t *testing.T) {
	l := newLink(&spool{open: func() (*os.File, error) { return unlinkedFile(t.TempDir()) }, maxBytes: 3 * windowBytes})
	defer l.close()
	piece := bytes.Repeat([]byte("0123456789abcdef"), 2048)
	kept := 0
	for range 8 * windowBytes / len(piece) {
		if l.flood(kindOutput, 1, piece) {
			kept++
		}
	}
	if kept*len(piece) < 3*windowBytes || kept*len(piece) > 4*windowBytes+len(piece) {
		t.Errorf("kept %d bytes", kept*len(piece))
	}
	if l.kept > 2*windowBytes {
		t.Errorf("%d bytes in memory", l.kept)
	}
	var got bytes.Buffer
	from, to := io.Pipe()
	other := newLink(nil)
	sink := struct{ io.WriteCloser }{to}
	l.attach(sink, 0)
	other.attach(struct{ io.WriteCloser }{discard{}}, 0)
	go func() { _ = l.write(sink) }() // ends with the detach below
	end := errors.New("all is there")
	err := other.read(other.stream, newFrames(from), func() {
		if got.Len() == kept*len(piece) {
			_ = from.CloseWithError(end)
		}
	}, func(m message) {
		got.Write(m.data)
		if got.Len() == kept*len(piece) {
			_ = to.CloseWithError(end)
		}
	})
	l.detach(sink)
	if !errors.Is(err, end) || !bytes.Equal(got.Bytes(), bytes.Repeat(piece, kept)) {
		t.Errorf("got %d bytes of %d, %v", got.Len(), kept*len(piece), err)
	}
}

type discard struct{}

func (discard) Write(data []byte) (int, error) { return len(data), nil }
func (discard) Close() error                   { return nil }

// BenchmarkRemote measures a command and a file request over an executor on this machine.
func BenchmarkRemote(b *testing.B) {
	far := benchmarkRemote(b)
	here := &Local{Env: []string{"PATH=" + os.Getenv("PATH")}, Marker: "bench"}
	for _, h := range []struct {
		name     string
		executor Executor
	}{{"here", here}, {"far", far}} {
		b.Run("command/"+h.name, func(b *testing.B) {
			for b.Loop() {
				p, err := h.executor.Start(b.Context(), Command{Script: "true", Dir: "/"})
				await(b, p, err)
			}
		})
	}
	b.Run("call/far", func(b *testing.B) {
		for b.Loop() {
			if _, err := far.Call(b.Context(), Request{Name: "none"}); err == nil {
				b.Fatal("it was done")
			}
		}
	})
	b.Run("megabyte/far", func(b *testing.B) {
		b.SetBytes(1 << 20)
		args := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 1<<20)...), '"')
		for b.Loop() {
			if _, err := far.Call(b.Context(), Request{Name: "none", Args: args}); err == nil {
				b.Fatal("it was done")
			}
		}
	})
}

// benchmarkRemote is another process on this machine.
func benchmarkRemote(b *testing.B) *Remote {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	way := &CommandDialer{
		Command: "exec " + self,
		Env:     []string{"PATH=" + os.Getenv("PATH"), roleVariable + "=" + filepath.Join(b.TempDir(), "hands")},
		Dir:     "/",
		Marker:  "bench",
	}
	r, err := NewRemote(b.Context(), RemoteConfig{Dial: way.Dial, Settle: "test", Session: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := errors.Join(r.Close(context.Background()), way.Close(context.Background())); err != nil {
			b.Error(err)
		}
	})
	return r
}

// talkative is a stream of a command that may have said something.
type talkative struct {
	io.ReadWriteCloser
	requests *atomic.Int64
}

func (t talkative) Stderr() string {
	t.requests.Add(1)
	return "it hurts"
}

// The output of the command that makes the stream is requested when the stream is cut, and not when
// the connection is closed: the request can take as long as the command.
func TestCloseAsksNothing(t *testing.T) {
	l := newLand(t)
	var asked atomic.Int64
	l.wrap = func(s io.ReadWriteCloser) io.ReadWriteCloser { return talkative{s, &asked} }
	news := make(chan ConnectionChange, 64)
	r := l.remote(func(c *RemoteConfig) { c.Notice = func(n ConnectionChange) { news <- n } })
	l.cut()
	for _, want := range []string{"it said: it hurts", "is back"} {
		select {
		case n := <-news:
			if !strings.Contains(n.Text, want) {
				t.Errorf("got %q", n.Text)
			}
		case <-time.After(patience):
			t.Fatal("nothing is said")
		}
	}
	before := asked.Load()
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if asked.Load() != before {
		t.Error("it was asked")
	}
}

// letGo closes a connection to an executor that takes some time to end a command, calls happens
// during that time, and returns the error of Close.
func letGo(t *testing.T, happens func(*land)) error {
	t.Helper()
	l := newLand(t)
	r := l.remote(nil)
	_, out := begin(t, r, "trap '' TERM; echo on; while :; do sleep 1000; done", nil)
	out.await(t, "on\n")
	closed := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { closed <- r.Close(ctx) }()
	l.ending()
	happens(l)
	select {
	case err := <-closed:
		return err
	case <-time.After(patience):
		t.Fatal("it waits for what does not come")
		return nil
	}
}

// An executor that dies during the close reports nothing, and nobody waits for it.
func TestCloseOfTheDead(t *testing.T) {
	if err := letGo(t, (*land).die); err != nil {
		t.Error(err)
	}
}

// A stream that is cut for good during the close.
func TestCloseIsCut(t *testing.T) {
	if err := letGo(t, func(l *land) { l.close(true); l.cut() }); err == nil ||
		!strings.Contains(err.Error(), "within") {
		t.Errorf("got %v", err)
	}
}

// ending waits until the executor ends the commands of a closed connection.
func (l *land) ending() {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		l.mu.Lock()
		server := l.server
		l.mu.Unlock()
		server.mu.Lock()
		b := server.host
		server.mu.Unlock()
		if b.link.position() >= 2 { // the start, and that it is over
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatal("nobody lets go")
		}
	}
}
