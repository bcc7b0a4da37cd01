package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/client/guard"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/web"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// patience bounds the wait of a test for an event. A test that passes never waits that long.
const patience = time.Minute

const token = "a-token-that-nobody-can-guess"

// harness is a server with clients.
type harness struct {
	*testing.T

	host   *settle.Host
	config settle.SessionConfig
	web    *web.Server
	place  *guard.Place
	stops  chan stdio.Stop
	served chan error // result of Serve
	api    document
	http   *http.Client
	base   string
}

// setup configures the server; the zero value of each field has a default.
type setup struct {
	model    *script.Model
	tools    []tool.Tool
	dir      string // data directory; "" keeps sessions in memory
	allow    bool
	limits   web.Limits
	names    []string
	work     string // working directory; "" for one of the test's
	config   func(*settle.SessionConfig)
	observer settle.Observer
	web      func(*web.Options)
	listen   func() (net.Listener, *http.Client)
	base     string // of URLs, with listen
}

func serve(t *testing.T, s setup) *harness {
	t.Helper()
	b := &harness{T: t, stops: make(chan stdio.Stop, 4), served: make(chan error, 1)}
	b.open(s)
	listener, client := net.Listener(nil), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	if s.listen != nil {
		listener, client = s.listen()
		b.base = s.base
	} else {
		place, err := guard.Listen(t.Context(), guard.Address{Addr: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		b.place, listener, b.base = place, place, "http://"+place.Addr().String()
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	b.http = client
	go func() { b.served <- b.web.Serve(listener, b.stops) }() // ends with the stop below
	t.Cleanup(func() {
		b.stop()
		client.CloseIdleConnections()
	})
	b.api = b.describe()
	return b
}

// open makes the host and the server.
func (b *harness) open(s setup) {
	b.Helper()
	c := settle.SessionConfig{Tools: s.tools, WorkDir: s.work, Attended: true}
	if c.WorkDir == "" {
		c.WorkDir = b.TempDir()
	}
	if s.model == nil {
		s.model = script.New().Otherwise(script.Text("done"))
	}
	c.Model = model.Config{Provider: s.model, ProviderName: "script", Name: "m"}
	if s.allow {
		c.Permission = settle.Allow
	}
	if s.config != nil {
		s.config(&c)
	}
	host, err := settle.Open(b.Context(), settle.Config{DataDir: s.dir, Frontend: "serve", Observer: s.observer})
	if err != nil {
		b.Fatal(err)
	}
	b.host, b.config = host, c
	o := web.Options{
		Host: host, Config: c, DataDir: s.dir, WorkDir: c.WorkDir, Model: "script/m", Version: "test",
		Token: token, Names: s.names, Limits: s.limits,
	}
	if s.web != nil {
		s.web(&o)
	}
	b.web, err = web.New(o)
	if err != nil {
		b.Fatal(err)
	}
}

// stop ends the server, once.
func (b *harness) stop() {
	if b.stops == nil {
		return
	}
	b.stops <- stdio.Stop{Reason: event.Shutdown, By: "signal:SIGTERM"}
	if err := <-b.served; err != nil {
		b.Error(err)
	}
	if err := b.web.Close(); err != nil {
		b.Error(err)
	}
	b.stops = nil
}

func (b *harness) url(path string) string { return b.base + path }

// listenFor listens for a number of connections.
func listenFor(t *testing.T, most int) (*guard.Place, error) {
	return guard.Listen(t.Context(), guard.Address{Addr: "127.0.0.1:0", Connections: most})
}

// unfinished checks sessions that are open.
func unfinished() contract.Checker { return contract.Checker{Unfinished: true} }

// answer is the server's response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes a request with the token and checks the response with the description. A body is a
// string of JSON, or a value to encode.
func (b *harness) send(method, path string, body any) answer {
	b.Helper()
	a, err := b.try(method, path, body)
	if err != nil {
		b.Fatal(err)
	}
	if err := b.api.check(method, path, a); err != nil {
		b.Errorf("%s %s: %v; it is %d %s", method, path, err, a.status, a.body)
	}
	return a
}

// try is send for goroutines that a test waits for.
func (b *harness) try(method, path string, body any) (answer, error) {
	var text []byte
	switch body := body.(type) {
	case nil:
	case string:
		text = []byte(body)
	default:
		var err error
		if text, err = json.Marshal(body); err != nil {
			return answer{}, err
		}
	}
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, b.url(path), bytes.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return b.do(r)
}

func (b *harness) do(r *http.Request) (answer, error) {
	res, err := b.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, text}, err
}

// ask sends, wants the status, and decodes the answer.
func ask[T any](b *harness, method, path string, body any, status int) (out T) {
	b.Helper()
	a := b.send(method, path, body)
	if a.status != status {
		b.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.body, status)
	}
	if status != http.StatusNoContent {
		if err := json.Unmarshal(a.body, &out); err != nil {
			b.Fatalf("%s %s: %v: %s", method, path, err, a.body)
		}
	}
	return out
}

// object is the decoded body of a response.
type object = map[string]any

// session creates a session and returns its path.
func (b *harness) session(id string) string {
	b.Helper()
	return "/api/sessions/" + ask[object](b, "POST", "/api/sessions", object{"id": id}, 201)["id"].(string)
}

func (b *harness) input(session, text string) object {
	b.Helper()
	return ask[object](b, "POST", session+"/inputs", object{"text": text}, 202)
}

// message is one of a stream.
type message struct{ id, event, data string }

func (m message) decode() (e event.Event, err error) {
	err = json.Unmarshal([]byte(m.data), &e)
	return e, err
}

// connect opens a stream after the cursor; the returned sequence yields its messages, heartbeats as
// empty messages, until the stream ends.
func (b *harness) connect(ctx context.Context, session string, after uint64) (iter.Seq2[message, error], error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url(session+"/events"), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if after > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(after, 10))
	}
	res, err := b.http.Do(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return nil, fmt.Errorf("%s: %s", res.Status, text)
	}
	return messages(res.Body), nil
}

func messages(body io.ReadCloser) iter.Seq2[message, error] {
	return func(yield func(message, error) bool) {
		defer body.Close()
		in := bufio.NewReader(body)
		var m message
		for {
			line, err := in.ReadString('\n')
			if err == io.EOF && line == "" {
				return
			}
			if err != nil {
				yield(m, err)
				return
			}
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch name {
			case "id":
				m.id = value
			case "event":
				m.event = value
			case "data":
				m.data = value
			case "":
				if !yield(m, nil) {
					return
				}
				m = message{}
			}
		}
	}
}

// watch yields the events of a session from the cursor until the stream ends.
func (b *harness) watch(ctx context.Context, session string, after uint64) iter.Seq[event.Event] {
	return func(yield func(event.Event) bool) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		all, err := b.connect(ctx, session, after)
		if err != nil {
			b.Error(err)
			return
		}
		for m, err := range all {
			if err != nil {
				b.Error(err)
				return
			}
			if m.event != "event" {
				continue
			}
			e, err := m.decode()
			if err != nil {
				b.Error(err)
				return
			}
			if !yield(e) {
				return
			}
		}
	}
}

// until returns the first event for which is returns true.
func (b *harness) until(session string, is func(event.Event) bool) event.Event {
	b.Helper()
	for e := range b.watch(b.Context(), session, 0) {
		if is(e) {
			return e
		}
	}
	b.Fatal("the stream ended before what was waited for")
	return event.Event{}
}

func kind(k event.Kind) func(event.Event) bool {
	return func(e event.Event) bool { return e.Kind() == k }
}

// exported returns the session's log, which must keep the contract.
func (b *harness) exported(session string, c contract.Checker) []event.Event {
	b.Helper()
	a := b.send("GET", session+"/export", nil)
	var all []event.Event
	for line := range bytes.Lines(a.body) {
		var e event.Event
		if err := json.Unmarshal(line, &e); err != nil {
			b.Fatalf("%v: %s", err, line)
		}
		all = append(all, e)
	}
	if err := c.Check(all); err != nil {
		b.Error(err)
	}
	return all
}

func (b *harness) diff(what string, want, got any) {
	b.Helper()
	if d := cmp.Diff(want, got); d != "" {
		b.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// act is a tool that changes something, and calls done when it does.
func act(t *testing.T, done func(context.Context)) tool.Tool {
	t.Helper()
	type in struct {
		What string `json:"what,omitempty"`
	}
	made, err := tool.New("act", "Changes something.", func(ctx context.Context, _ in) (string, error) {
		done(ctx)
		return "done", context.Cause(ctx)
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// jobs gives each session a call that leaves a job behind, which ends when it
// is killed.
func jobs(t *testing.T, killed chan<- string) func(*settle.SessionConfig) {
	return func(c *settle.SessionConfig) {
		c.Toolbox = func(info settle.SessionInfo) (settle.Toolbox, error) {
			return settle.Toolbox{
				Tools: []tool.Tool{act(t, func(ctx context.Context) {
					if _, err := info.Jobs.JobStarted(ctx, event.JobStarted{PID: 7, Command: "server"}); err != nil {
						t.Error(err)
					}
				})},
				Kill: func(ctx context.Context, id string) ([]event.Process, error) {
					killed <- id // room for one
					return nil, info.Jobs.JobEnded(ctx, event.JobEnded{Job: id, How: event.JobKilled})
				},
			}, nil
		}
	}
}
