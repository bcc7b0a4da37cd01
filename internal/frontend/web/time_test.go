package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// pipes is a network in memory, for virtual time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// virtually runs a test in virtual time, with a server in memory.
func virtually(t *testing.T, s setup, test func(*harness, *pipes)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		s.base = "http://localhost"
		s.listen = func() (net.Listener, *http.Client) {
			return p, &http.Client{Transport: &http.Transport{
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) },
			}}
		}
		test(serve(t, s), p)
	})
}

// A stream without events shows that it is alive.
func TestHeartbeats(t *testing.T) {
	virtually(t, setup{}, func(b *harness, _ *pipes) {
		session := b.session("s")
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		all, err := b.connect(ctx, session, 1)
		if err != nil {
			b.Fatal(err)
		}
		begin := time.Now()
		var got []string
		for m, err := range all {
			if err != nil {
				b.Fatal(err)
			}
			now := fmt.Sprintf("%s%v", m.event, time.Since(begin))
			if len(got) > 0 && got[len(got)-1] == now {
				continue
			}
			switch got = append(got, now); len(got) {
			case 3:
				<-time.After(10 * time.Second)
				b.input(session, "hello") // puts the heartbeat off
			case 5:
				cancel()
				// The first message has the delay of reconnects.
				b.diff("messages", []string{"0s", "15s", "30s", "event40s", "55s"}, got)
				return
			}
		}
	})
}

// C17: a client that never reads is dropped, and holds nobody up until then.
func TestReaderThatNeverReads(t *testing.T) {
	words := strings.Fields(strings.Repeat("many words to fill what there is of buffers ", 2000))
	virtually(
		t,
		setup{dir: t.TempDir(), model: script.New().Otherwise(script.Text(words...))},
		func(b *harness, p *pipes) {
			session := b.session("s")
			deaf, err := p.dial(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := io.WriteString(deaf, "GET "+session+"/events HTTP/1.1\r\nHost: localhost\r\n"+bearer+"\r\n\r\n"); err != nil {
				b.Fatal(err)
			}
			synctest.Wait()
			begin := time.Now()
			b.input(session, "flood")
			b.until(session, event.Event.Terminal)
			if took := time.Since(begin); took > time.Second {
				b.Errorf("the others waited for %v", took)
			}
			<-time.After(11 * time.Second)
			synctest.Wait()
			if _, err := io.Copy(io.Discard, deaf); err != nil {
				b.Error(err)
			}
			if took := time.Since(begin); took > 12*time.Second {
				b.Errorf("it was dropped after %v", took)
			}
		},
	)
}

// The same over TCP, where buffers have some room.
func TestReaderThatNeverReadsTCP(t *testing.T) {
	word := strings.Repeat("word ", 20_000)
	s := setup{dir: t.TempDir(), model: script.New().Otherwise(script.Repeat(60, script.Text(word)))}
	s.limits.WriteTimeout = time.Second
	b := serve(t, s)
	session := b.session("s")
	deaf, err := net.Dial("tcp", b.place.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	if _, err := io.WriteString(deaf, "GET "+session+"/events HTTP/1.1\r\nHost: localhost\r\n"+bearer+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	b.input(session, "flood")
	b.patiently(session)
	b.stop() // is not held up either, and says so
}

// patiently reads a turn to its end, and comes again if it was too slow.
func (b *harness) patiently(session string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	for last := uint64(0); ; {
		all, err := b.connect(ctx, session, last)
		if err != nil {
			b.Fatal(err)
		}
		for m, err := range all {
			if err != nil {
				break
			}
			if m.event != "event" {
				continue
			}
			if last, err = strconv.ParseUint(m.id, 10, 64); err != nil {
				b.Fatal(err)
			}
			if strings.Contains(m.data[:min(len(m.data), 200)], `"kind":"turn.completed"`) {
				return
			}
		}
	}
}

// A client that sends its request a byte at a time is cut off, in its headers
// or in its body, and one that sends nothing more as well.
func TestSlowloris(t *testing.T) {
	for _, c := range []struct {
		name, request string
		bytes         bool // go on, a byte a second
		within        time.Duration
	}{
		{"nothing", "", false, 11 * time.Second},
		{"headers", "GET /api/sessions HTTP/1.1\r\nHost: localhost\r\nX: ", true, 11 * time.Second},
		{"body", "POST /api/sessions HTTP/1.1\r\nHost: localhost\r\n" + bearer + "\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n ", true, 70 * time.Second},
		{"no further request", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", false, 121 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtually(t, setup{}, func(b *harness, p *pipes) {
				slow, err := p.dial(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				begin := time.Now()
				over := make(chan struct{})
				go func() { // ends with the connection
					defer close(over)
					_, _ = io.Copy(io.Discard, slow)
				}()
				_, err = io.WriteString(slow, c.request)
				for err == nil && c.bytes {
					<-time.After(time.Second)
					_, err = io.WriteString(slow, " ")
				}
				<-over
				if took := time.Since(begin); took > c.within {
					b.Errorf("it was cut off after %v", took)
				}
			})
		})
	}
}

// Waits are bounded: an input that does not come is not waited for forever, and is not interrupted
// when it comes later.
func TestAnswerTimeout(t *testing.T) {
	virtually(t, setup{}, func(b *harness, _ *pipes) {
		session := b.session("s")
		begin := time.Now()
		ask[object](b, "POST", session+"/interrupt", object{"input": "later"}, 504)
		if took := time.Since(begin); took != 30*time.Second {
			b.Errorf("it was answered after %v", took)
		}
		ask[object](b, "POST", session+"/inputs", object{"text": "hello", "input": "later"}, 202)
		if e := b.until(session, event.Event.Terminal); e.Kind() != event.KindTurnCompleted {
			b.Errorf("the turn ended with %v", e.Data)
		}
	})
}

// A stop answers who waits for an outcome; a second one takes the grace away.
func TestStops(t *testing.T) {
	var release chan struct{}
	s := setup{
		allow:  true,
		tools:  []tool.Tool{act(t, func(context.Context) { <-release })},
		config: func(c *settle.SessionConfig) { c.InterruptGrace = 6 * time.Second },
	}
	for stops, within := range map[int]time.Duration{1: 7 * time.Second, 2: 2 * time.Second} {
		s.model = script.New(script.Call("act", `{}`))
		virtually(t, s, func(b *harness, _ *pipes) {
			release = make(chan struct{}) // of the virtual time
			defer close(release)
			session := b.session("s")
			b.input(session, "hello")
			b.until(session, kind(event.KindCallStarted))
			begin := time.Now()
			b.stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM"}
			b.until(session, kind(event.KindInterruptRequested))
			told := make(chan answer, 1)
			go func() { // ends with the turn
				a, _ := b.try("POST", session+"/interrupt", nil)
				told <- a
			}()
			if stops == 2 {
				<-time.After(time.Second)
				b.stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM"}
			}
			if err := <-b.served; err != nil {
				b.Error(err)
			}
			if took := time.Since(begin); took > within {
				b.Errorf("with %d stops it took %v", stops, took)
			}
			if a := <-told; a.status != 200 || !strings.Contains(string(a.body), `"reason":"shutdown"`) {
				b.Errorf("who waited was told %d %s", a.status, a.body)
			}
			b.stops = nil
			if err := b.web.Close(); err != nil {
				b.Error(err)
			}
		})
	}
}

// Work that does not stop is named after eight seconds, or at once at the third stop.
func TestStopsThatAreNotHeard(t *testing.T) {
	for stops, within := range map[int]time.Duration{1: 9 * time.Second, 3: time.Second} {
		s := setup{config: func(c *settle.SessionConfig) {
			c.Toolbox = func(settle.SessionInfo) (settle.Toolbox, error) {
				return settle.Toolbox{Close: func(ctx context.Context) error {
					<-ctx.Done()
					return errors.New("it did not stop")
				}}, nil
			}
		}}
		virtually(t, s, func(b *harness, _ *pipes) {
			b.session("stuck")
			begin := time.Now()
			for range stops {
				b.stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM"}
			}
			err := <-b.served
			if took := time.Since(begin); took > within || err == nil || !strings.Contains(err.Error(), "stuck") {
				b.Errorf("with %d stops it took %v and ended with %v", stops, took, err)
			}
			b.stops = nil
			_ = b.host.Close(b.Context()) // waits until it has ended after all
		})
	}
}
