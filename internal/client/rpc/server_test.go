package rpc_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/rpc"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/script"
)

// frontend has no protocol but a few methods.
type frontend struct {
	*rpc.Server
	release chan struct{}   // lets "wait" go on
	stopped chan stdio.Stop // the stop that ended it

	mu    sync.Mutex // guards order
	order []string   // in which requests were served
}

type params struct {
	ThreadID string `json:"threadId"`
	Name     string `json:"name"`
}

func (f *frontend) Handle(_ context.Context, r *jsonrpc.Request) {
	f.Dispatch(f.Life, r, map[string]rpc.Method{
		"note": rpc.Of(f.note),
		"wait": rpc.Of(func(ctx context.Context, p params) (any, error) {
			<-f.release
			return f.note(ctx, p)
		}),
		"later": rpc.Later(func(ctx context.Context, r *jsonrpc.Request, p params) error {
			f.Go(func() {
				<-f.Ended()
				_ = f.Notify(f.Life, "last", nil)
				r.Reply(p.Name)
			})
			return nil
		}),
		"same": rpc.Always(7),
	})
}

func (f *frontend) note(_ context.Context, p params) (any, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order = append(f.order, p.Name)
	return p.Name, nil
}

// start serves a client. The returned channel takes a stop for the server; stopped has the server's
// result. They are separate: a server that ends can still receive a stop.
func start(t *testing.T) (*frontend, *clienttest.Peer, chan<- stdio.Stop) {
	t.Helper()
	f, place, stops := &frontend{
		release: make(chan struct{}), stopped: make(chan stdio.Stop, 1),
	}, clienttest.NewPlace(t), make(chan stdio.Stop, 1)
	peer := clienttest.Serve(t, place, jsonrpc.V2, func(in io.Reader, out io.Writer) error {
		f.Server = rpc.New(rpc.Options{
			In: in, Out: out, Sessions: place.Sessions(
				script.New(), "test",
			), Dir: place.Dir, Stops: stops, CloseTimeout: clienttest.CloseTimeout,
		}, rpc.Protocol{Dialect: jsonrpc.V2, Handler: f})
		stop, err := f.Serve(context.Background())
		if stop != nil {
			f.stopped <- *stop
		}
		return err
	})
	return f, peer, stops
}

// Requests about one thread are served in order; requests about other threads do not wait for them.
func TestLanes(t *testing.T) {
	f, peer, _ := start(t)
	var sent []*jsonrpc.Outgoing
	for _, c := range []struct{ method, thread, name string }{
		{"wait", "a", "1"}, {"note", "a", "2"}, {"wait", "a", "3"}, {"note", "a", "4"},
	} {
		sent = append(sent, peer.Send(c.method, params{c.thread, c.name}))
	}
	for _, thread := range []string{"b", ""} {
		if err := peer.Conn.Call(t.Context(), "note", params{thread, "other"}, nil); err != nil {
			t.Error(err)
		}
	}
	close(f.release)
	for _, o := range sent {
		if err := o.Wait(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff([]string{"other", "other", "1", "2", "3", "4"}, f.order); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An invalid request is answered with an error, even if its method answers by itself.
func TestRefusals(t *testing.T) {
	_, peer, _ := start(t)
	peer.Refused(jsonrpc.CodeMethodNotFound, "none", nil)
	for _, method := range []string{"note", "later"} {
		peer.Refused(jsonrpc.CodeInvalidParams, method, map[string]any{"name": 3})
		peer.Refused(jsonrpc.CodeInvalidParams, method, map[string]any{"threadId": 3})
	}
	var same int
	if err := peer.Conn.Call(t.Context(), "same", nil, &same); err != nil || same != 7 {
		t.Errorf("%d, %v", same, err)
	}
}

// Messages that remain after the end of the input are sent.
func TestLastWords(t *testing.T) {
	_, peer, _ := start(t)
	sent := peer.Send("later", params{"a", "goodbye"})
	if err := peer.Conn.Call(t.Context(), "same", nil, nil); err != nil { // by now it has come
		t.Fatal(err)
	}
	peer.End()
	var got string
	if err := sent.Wait(t.Context(), &got); err != nil || got != "goodbye" {
		t.Errorf("%q, %v", got, err)
	}
	if !strings.Contains(strings.Join(peer.Lines(), "\n"), `"method":"last"`) {
		t.Error("the last notification did not come")
	}
}

// A stop ends the server, which returns the stop.
func TestStop(t *testing.T) {
	f, peer, stops := start(t)
	stops <- stdio.Stop{By: "signal:SIGTERM", Code: 143}
	if err := peer.Ended(); err != nil {
		t.Error(err)
	}
	if stop := <-f.stopped; stop.Code != 143 {
		t.Errorf("it ended by %+v", stop)
	}
}
