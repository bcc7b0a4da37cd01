package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/internal/jsonrpc"
)

// script is a small language, a line a step. After each step everything runs
// until it waits.
//
//	> TEXT             the other side writes a line; ‹v› is the dialect's mark
//	>> TEXT            the same without a newline
//	< TEXT             the next line that it reads
//	<nothing           it reads nothing
//	eof                it closes its end
//	gone               it reads no more: writing fails
//	stall, go on       writing blocks, writing goes on
//	handled TEXT       the handler is told: a request's method, its parameters and, last, its id
//	reply ID JSON      the handler answers
//	fail ID TEXT       the handler answers with a plain error
//	ctx ID TEXT        the cause by which the context of a request ended; "open" if it did not
//	cancel ID TEXT     Cancel is called, and returns TEXT
//	notify N METHOD    a notification is sent from a goroutine named N
//	call N METHOD      a request is sent from a goroutine named N
//	stop N             the context of what N sends ends
//	result N TEXT      what N got; "pending" if it still waits
//	close              Close is called with an hour's time
//	hours N            time passes
//	done TEXT          the connection is done, and Wait returns TEXT
//	ended, not ended   whether something may still come in
//	not done           the connection is not done
type script struct {
	t    *testing.T
	conn *jsonrpc.Conn
	in   *io.PipeWriter
	out  *gate
	mark string

	mu       sync.Mutex // guards the fields below
	handled  []string
	requests map[string]*request
	sent     map[string]*sending
}

type request struct {
	*jsonrpc.Request
	ctx context.Context
}

type sending struct {
	stop   context.CancelCauseFunc
	result string
}

// gate is a writer that blocks or fails on request.
type gate struct {
	mu     sync.Mutex // guards the fields below
	wait   *sync.Cond
	closed bool // blocks
	err    error
	b      bytes.Buffer
}

func newGate() *gate {
	g := &gate{}
	g.wait = sync.NewCond(&g.mu)
	return g
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.closed && g.err == nil {
		g.wait.Wait()
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.b.Write(p)
}

func (g *gate) set(closed bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed, g.err = closed, err
	g.wait.Broadcast()
}

// line takes the next line that was written, or "".
func (g *gate) line() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	line, _ := g.b.ReadString('\n')
	return strings.TrimSuffix(line, "\n")
}

func (s *script) Handle(ctx context.Context, r *jsonrpc.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := r.Method
	if r.Params != nil {
		told += " " + string(r.Params)
	}
	if !r.IsNotification() {
		told += " " + string(r.ID)
		s.requests[string(r.ID)] = &request{Request: r, ctx: ctx}
	}
	s.handled = append(s.handled, told)
	if r.Method == "echo" || r.IsNotification() { // the answer to a notification is dropped
		r.Reply(r.Params)
	}
}

// play runs a script in a dialect.
func play(t *testing.T, d jsonrpc.Dialect, o jsonrpc.Options, steps string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		in, w := io.Pipe()
		s := &script{t: t, in: w, out: newGate(), requests: map[string]*request{}, sent: map[string]*sending{}}
		if d == jsonrpc.V2 {
			s.mark = `"jsonrpc":"2.0",`
		}
		o.In, o.Out, o.Dialect, o.Handler = in, s.out, d, s
		s.conn = jsonrpc.New(o)
		s.conn.Start(t.Context())
		for n, step := range strings.Split(strings.TrimSpace(steps), "\n") {
			step = strings.ReplaceAll(strings.TrimSpace(step), "‹v›", s.mark)
			if err := s.step(step); err != nil {
				t.Errorf("step %d, %q: %v", n+1, step, err)
			}
		}
		s.out.set(false, nil)
		_ = s.in.Close()
		for id := range s.requests {
			s.requests[id].Reply(nil)
		}
		<-s.conn.Done()
		for _, sent := range s.sent {
			sent.stop(nil)
		}
	})
}

func (s *script) step(step string) error {
	verb, rest, _ := strings.Cut(step, " ")
	name, rest2, _ := strings.Cut(rest, " ")
	defer synctest.Wait()
	switch verb {
	case "", "#":
	case ">", ">>":
		if verb == ">" {
			rest += "\n"
		}
		_, err := s.in.Write([]byte(rest))
		return err
	case "<", "<nothing":
		return same(s.out.line(), rest)
	case "eof":
		return s.in.Close()
	case "gone":
		s.out.set(false, errors.New("nobody reads"))
	case "stall":
		s.out.set(true, nil)
	case "go":
		s.out.set(false, nil)
	case "handled":
		return same(s.next(), rest)
	case "reply", "fail", "ctx", "cancel":
		return s.request(verb, name, rest2)
	case "notify", "call", "stop", "result":
		return s.send(verb, name, rest2)
	default:
		return s.life(step)
	}
	return nil
}

// next returns the next call of the handler.
func (s *script) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.handled) == 0 {
		return ""
	}
	next := s.handled[0]
	s.handled = s.handled[1:]
	return next
}

func (s *script) request(verb, id, text string) error {
	if verb == "cancel" {
		return same(strconv.FormatBool(s.conn.Cancel([]byte(id))), text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.requests[id]
	if r == nil {
		return fmt.Errorf("no request %s", id)
	}
	switch verb {
	case "reply":
		r.Reply(json.RawMessage(text))
	case "fail":
		r.Fail(errors.New(text))
	case "ctx":
		if r.ctx.Err() == nil {
			return same("open", text)
		}
		return same(context.Cause(r.ctx).Error(), text)
	}
	return nil
}

func (s *script) send(verb, name, method string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch verb {
	case "stop":
		s.sent[name].stop(errors.New("stopped"))
		return nil
	case "result":
		return same(s.sent[name].result, method)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	one := &sending{stop: stop, result: "pending"}
	s.sent[name] = one
	go func() { // waited for by the bubble; ends with its context or the connection
		var result string
		var err error
		if verb == "notify" {
			result, err = "sent", s.conn.Notify(ctx, method, nil)
		} else {
			err = s.conn.Call(ctx, method, map[string]int{"n": 1}, &result)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if one.result = result; err != nil {
			one.result = err.Error()
		}
	}()
	return nil
}

func (s *script) life(step string) error {
	done, ended := closed(s.conn.Done()), closed(s.conn.Ended())
	switch {
	case step == "close":
		go func() { // waited for by the bubble; ends within the hour
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			_ = s.conn.Close(ctx)
		}()
	case strings.HasPrefix(step, "hours "):
		n, err := strconv.Atoi(strings.TrimPrefix(step, "hours "))
		time.Sleep(time.Duration(n) * time.Hour)
		return err
	case step == "not done" && done, step == "ended" && !ended, step == "not ended" && ended:
		return fmt.Errorf("done: %v, ended: %v", done, ended)
	case strings.HasPrefix(step, "done"):
		if !done {
			return errors.New("the connection is not done")
		}
		text := "well"
		if err := s.conn.Wait(context.Background()); err != nil {
			text = err.Error()
		}
		return same(text, strings.TrimPrefix(step, "done "))
	case step != "not done" && step != "ended" && step != "not ended":
		return errors.New("no such step")
	}
	return nil
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func same(got, want string) error {
	if got != want {
		return fmt.Errorf("got  %s\nwant %s", got, want)
	}
	return nil
}
