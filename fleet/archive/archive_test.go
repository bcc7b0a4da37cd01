package archive

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/fleet/worker"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/frontend/web"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

const token = "a-token-that-nobody-guesses"

// site is a fleet with its page.
type site struct {
	*fleettest.Place

	url string
}

func newSite(t *testing.T) *site {
	t.Helper()
	temporalServer.Address(t) // or the test fails
	p := fleettest.New(t, &server)
	temporalServer.Engine(t, p)
	s, err := web.NewArchive(
		web.Options{Token: token},
		&Archive{Pool: p.Pool, Logs: p.Logs, Engine: p.Engine},
		"read only",
	)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		h.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return &site{p, h.URL}
}

// works runs a worker until the test ends. The work of session "slow" lasts until its
// turn is interrupted.
func (s *site) works(t *testing.T) (slow <-chan struct{}) {
	t.Helper()
	begun := make(chan struct{}, 1)
	work, err := tool.New("work", "Does one piece of work.", func(ctx context.Context, in struct {
		Token string `json:"token"`
	},
	) (string, error) {
		if strings.HasPrefix(in.Token, "slow") {
			begun <- struct{}{}
			<-ctx.Done()
		}
		return "did " + in.Token, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, err := worker.New(
		t.Context(),
		worker.Config{
			ID:     "w",
			Engine: s.Engine,
			Logs:   s.Logs,
			Slots:  4,
			Session: func(context.Context, fleet.Attempt) (settle.SessionConfig, error) {
				return settle.SessionConfig{
					Model: model.Config{
						Provider:     fleettest.Model{Calls: 3, Call: (*fleettest.Record)(nil).Call},
						ProviderName: "test",
						Name:         "test",
					},
					Permission: settle.Allow, WorkDir: dir, Tools: []tool.Tool{work},
				}, nil
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }() // it is waited for below
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return begun
}

// ask makes a request and returns its answer.
func (s *site) ask(t *testing.T, method, path, body string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// answer decodes the answer to a request that succeeds.
func (s *site) answer(t *testing.T, method, path, body string, into any) {
	t.Helper()
	r := s.ask(t, method, path, body)
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v: %s", method, path, r.Status, err, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

type session struct{ ID, Title, Dir, State, Outcome, Reason, Model, Refuses, Turn string }

// The list has each session once, by its last task, and those of tasks that wait.
func TestList(t *testing.T) {
	s := newSite(t)
	dir := t.TempDir()
	s.Submit(
		t,
		fleet.Task{Session: "a", Input: "1", Prompt: "first\nline", Dir: dir},
		fleet.Task{Session: "a", Input: "2", Prompt: "second", Dir: dir},
		fleet.Task{Session: "b", Input: "1", Prompt: "other", Dir: dir},
	)
	var list struct {
		Sessions []session
		ReadOnly string `json:"read_only"`
	}
	s.answer(t, "GET", "/api/sessions", "", &list)
	want := []session{
		{ID: "b", Title: "other", Dir: dir, State: "queued"},
		{ID: "a", Title: "first", Dir: dir, State: "queued"},
	}
	if diff := cmp.Diff(want, list.Sessions); diff != "" || list.ReadOnly != "read only" {
		t.Errorf("%q: (-want +got):\n%s", list.ReadOnly, diff)
	}
	var one session
	if s.answer(t, "GET", "/api/sessions/a", "", &one); one.ID != "a" || one.Refuses != "read only" {
		t.Errorf("%+v", one)
	}
	s.works(t)
	s.Await(t.Context(), t)
	s.answer(t, "GET", "/api/sessions", "", &list)
	for _, e := range list.Sessions {
		if e.State != "closed" || e.Outcome != string(event.Completed) {
			t.Errorf("%+v", e)
		}
	}
	if s.answer(t, "GET", "/api/sessions/a?turns=1", "", &one); one.Model != "test/test" ||
		one.Outcome != string(event.Completed) ||
		one.State != "closed" {
		t.Errorf("%+v", one)
	}
}

// A session is waiting while a call of one of its tasks waits for a person.
func TestListHeld(t *testing.T) {
	p := fleettest.New(t, &server)
	p.Submit(t, fleet.Task{Session: "s", Prompt: "work"}, fleet.Task{Session: "s", Input: "2", Prompt: "more"})
	for _, r := range []*fleet.Result{
		{Outcome: fleet.OutcomeHeld, Held: []fleet.HeldCall{{ID: "a"}}}, {Outcome: event.Completed},
	} {
		if err := p.Index.End(t.Context(), p.Claim(t, "w"), r); err != nil {
			t.Fatal(err)
		}
	}
	list, err := (&Archive{Pool: p.Pool, Logs: p.Logs}).List(t.Context())
	if err != nil || len(list) != 1 || list[0].State != store.Waiting {
		t.Errorf("%+v, %v", list, err)
	}
}

// A client that comes back again and again sees every event once (C17), while the turn
// runs. An interrupt is answered after the turn's end (C10).
func TestFollowAndInterrupt(t *testing.T) {
	s := newSite(t)
	s.Submit(t, fleet.Task{Session: "slow", Input: "1", Prompt: "go", Dir: t.TempDir()})
	begun := s.works(t)
	var seen []string
	for len(seen) < 6 { // there are more before the call
		s.events(t, "slow", &seen, 2)
	}
	<-begun
	var one session
	if s.answer(t, "GET", "/api/sessions/slow", "", &one); one.State != "running" || one.Turn == "" {
		t.Errorf("%+v", one)
	}
	var ended struct{ Turn, Outcome, Reason, By string }
	s.answer(t, "POST", "/api/sessions/slow/interrupt", "{}", &ended)
	if ended.Turn != one.Turn || ended.Outcome != string(event.Aborted) || ended.Reason != string(event.Interrupted) ||
		ended.By == "" {
		t.Errorf("%+v", ended)
	}
	all := s.Events(t, "slow")
	s.events(t, "slow", &seen, len(all)-len(seen))
	for n, e := range all {
		if text, err := e.AppendJSON(nil); err != nil || n >= len(seen) || seen[n] != string(text) {
			t.Fatalf("event %d: %v", n+1, err)
		}
	}
	export, err := io.ReadAll(s.ask(t, "GET", "/api/sessions/slow/export", "").Body)
	if err != nil || string(export) != strings.Join(seen, "\n")+"\n" {
		t.Errorf("the export has %d bytes: %v", len(export), err)
	}
	var interruption struct{ Turn string }
	if s.answer(t, "POST", "/api/sessions/slow/interrupt", "{}", &interruption); interruption.Turn != "" {
		t.Errorf("nothing was running, and %q was interrupted", interruption.Turn)
	}
	if r := s.ask(t, "GET", "/api/sessions/slow/events?after=999", ""); !strings.Contains(
		read(t, r, 4), "event: resync",
	) {
		t.Error("a cursor beyond the log is not told")
	}
}

// events reads some events and goes away.
func (s *site) events(t *testing.T, session string, seen *[]string, most int) {
	t.Helper()
	r := s.ask(t, "GET", "/api/sessions/"+session+"/events", "", "Last-Event-ID", fmt.Sprint(len(*seen)))
	lines := bufio.NewScanner(r.Body)
	for most > 0 && lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			*seen = append(*seen, data)
			most--
		}
	}
	if err := lines.Err(); err != nil || most > 0 {
		t.Fatalf("%d events are missing: %v", most, err)
	}
	_ = r.Body.Close()
}

// read returns the first lines of an answer.
func read(t *testing.T, r *http.Response, n int) (text string) {
	t.Helper()
	for lines := bufio.NewScanner(r.Body); n > 0 && lines.Scan(); n-- {
		text += lines.Text() + "\n"
	}
	return text
}

// What is not there, or not allowed, is refused.
func TestRefused(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct {
		method, path string
		header       []string
		want         int
	}{
		{"GET", "/api/sessions", []string{"Authorization", "Bearer x"}, http.StatusUnauthorized},
		{"GET", "/api/sessions", []string{"Origin", "http://elsewhere.example"}, http.StatusForbidden},
		{"GET", "/api/sessions/none", nil, http.StatusNotFound},
		{"GET", "/api/sessions/none/events", nil, http.StatusNotFound},
		{"GET", "/api/sessions/none/export", nil, http.StatusNotFound},
		{"POST", "/api/sessions", nil, http.StatusMethodNotAllowed},
		{"POST", "/api/sessions/none/inputs", nil, http.StatusNotFound},
		{"DELETE", "/api/sessions/none", nil, http.StatusMethodNotAllowed},
		{"GET", "/metrics", nil, http.StatusNotFound},
	} {
		if got := s.ask(t, tt.method, tt.path, "", tt.header...); got.StatusCode != tt.want {
			t.Errorf("%s %s %q: %s, want %d", tt.method, tt.path, tt.header, got.Status, tt.want)
		}
	}
}
