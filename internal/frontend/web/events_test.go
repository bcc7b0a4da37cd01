package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/model/script"
)

// collect follows a session to its end over connections that drop at random,
// and returns the lines that came.
func (b *harness) collect(session string, random *rand.Rand) (lines []string, err error) {
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	for {
		all, err := b.connect(ctx, session, uint64(len(lines)))
		if err != nil {
			return nil, err
		}
		left := random.IntN(60)
		for m, err := range all {
			switch {
			case err != nil:
				return nil, err
			case m.event == "closed":
				return lines, nil
			case m.event == "event":
				lines = append(lines, m.data)
				if want := fmt.Sprint(len(lines)); m.id != want {
					return nil, fmt.Errorf("event %s came after event %d", m.id, len(lines)-1)
				}
			case m.event != "":
				return nil, fmt.Errorf("there is a %q: %s", m.event, m.data)
			}
			if left--; left <= 0 {
				break // the connection is dropped
			}
		}
	}
}

// C17: clients that drop and return at random have the same log in the end.
func TestDroppingClients(t *testing.T) {
	for _, clients := range []int{2, 50} {
		t.Run(fmt.Sprint(clients), func(t *testing.T) {
			words := strings.Fields(strings.Repeat("one two three four ", 50))
			b := serve(t, setup{dir: t.TempDir(), model: script.New().Otherwise(script.Text(words...))})
			session := b.session("shared")
			got := make([][]string, clients)
			var wg sync.WaitGroup
			for n := range clients {
				wg.Go(func() { // ends with the session
					var err error
					if got[n], err = b.collect(session, rand.New(rand.NewPCG(uint64(clients), uint64(n)))); err != nil {
						t.Error(err)
					}
				})
			}
			const turns = 10
			for range turns {
				b.input(session, "go on")
			}
			b.until(session, func(e event.Event) bool { return e.Terminal() && e.Turn == "t000010" })
			ask[object](b, "DELETE", session, nil, 204)
			wg.Wait()
			b.exported(session, contract.Checker{})
			want := strings.Split(strings.TrimSpace(string(b.send("GET", session+"/export", nil).body)), "\n")
			for n := range clients {
				b.diff(fmt.Sprintf("log of client %d", n), want, got[n])
			}
		})
	}
}

// A cursor that the log does not reach is answered with resync, one that is
// none with a problem.
func TestCursors(t *testing.T) {
	dir := t.TempDir()
	b := serve(t, setup{dir: dir})
	open, shut := b.session("open"), b.session("shut")
	ask[object](b, "DELETE", shut, nil, 204)
	for _, c := range []struct {
		session, after, header string
		want                   []string
	}{
		{open, "?after=2", "", []string{"resync 1"}},
		{open, "", "99", []string{"resync 1"}},
		{open, "", "garbage", []string{"resync 1"}},
		{open, "", "1.of-an-earlier-server", []string{"resync 1"}},
		{open, "?after=7", "0", []string{"event 1"}},
		{open, "", "18446744073709551615", []string{"resync 1"}},
		{shut, "?after=3", "", []string{"resync 2"}},
		{shut, "", "garbage", []string{"resync 2"}},
		{shut, "?after=2", "", []string{"closed 2"}},
		{shut, "?after=1", "", []string{"event 2", "closed 2"}},
		{shut, "", "", []string{"event 1", "event 2", "closed 2"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url(c.session+"/events"+c.after), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		if c.header != "" {
			r.Header.Set("Last-Event-ID", c.header)
		}
		res, err := b.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for m := range messages(res.Body) {
			if m.event == "" {
				continue
			}
			var at struct{ Seq uint64 }
			if err := json.Unmarshal([]byte(m.data), &at); err != nil {
				t.Error(err)
			}
			if got = append(got, fmt.Sprintf("%s %d", m.event, at.Seq)); len(got) == len(c.want) && m.event == "event" {
				break // it would go on
			}
		}
		cancel()
		b.diff(fmt.Sprintf("%s%s with %q", c.session, c.after, c.header), c.want, got)
	}
	for _, after := range []string{"-1", "x", "1.5", "18446744073709551616"} {
		ask[object](b, "GET", open+"/events?after="+after, nil, http.StatusBadRequest)
	}
}

// Every watcher of a session learns that it is closed, after its last event.
func TestWatchersReceiveSessionClosed(t *testing.T) {
	b := serve(t, setup{model: script.New().Otherwise(script.Stall())})
	session := b.session("s")
	b.input(session, "hello")
	b.until(session, kind(event.KindAttemptStarted))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	all, err := b.connect(ctx, session, 0)
	if err != nil {
		t.Fatal(err)
	}
	b.stop()
	var kinds []event.Kind
	last := ""
	for m, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		last = m.event
		if e, err := m.decode(); m.event == "event" && err == nil {
			kinds = append(kinds, e.Kind())
			if d, ok := e.Data.(event.TurnAborted); ok && (d.Reason != event.Shutdown || e.By != "signal:SIGTERM") {
				t.Errorf("the turn was aborted: %v by %s", d, e.By)
			}
		}
	}
	if n := len(kinds); last != "closed" || n < 2 ||
		kinds[n-1] != event.KindSessionClosed || kinds[n-2] != event.KindTurnAborted {
		t.Errorf("it ends with %q after %v", last, kinds)
	}
}

// Subscribers beyond the bound receive a request to come later; one that leaves makes room.
func TestTooManySubscribers(t *testing.T) {
	s := setup{}
	s.limits.Subscribers = 1
	b := serve(t, s)
	session := b.session("s")
	for range b.watch(t.Context(), session, 0) {
		a := b.send("GET", session+"/events", nil)
		if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
			t.Errorf("%d %v %s", a.status, a.header, a.body)
		}
		break
	}
}
