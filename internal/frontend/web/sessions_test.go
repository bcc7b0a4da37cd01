package web_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/settle-agent/settle"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/frontend/web"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model/script"
)

// A session is created, used, closed, read while it is closed, and opened again
// by being used.
func TestSession(t *testing.T) {
	b := serve(t, setup{dir: t.TempDir()})
	session := b.session("first")
	if got := b.input(session, "Say it.\nNow."); got["again"] != false || got["seq"] != 2.0 {
		t.Errorf("the receipt is %v", got)
	}
	b.until(session, event.Event.Terminal)
	open := ask[object](b, "GET", session, nil, 200)
	if open["state"] != "idle" || open["model"] != "script/m" {
		t.Errorf("open: %v", open)
	}
	ask[object](b, "DELETE", session, nil, 204)
	ask[object](b, "DELETE", session, nil, 204)
	shut := ask[object](b, "GET", session, nil, 200)
	if shut["state"] != "closed" || shut["model"] != "script/m" || shut["seq"] != open["seq"].(float64)+1 {
		t.Errorf("closed: %v, after %v", shut, open)
	}
	var ends string
	all, err := b.connect(t.Context(), session, 0)
	if err != nil {
		t.Fatal(err)
	}
	events := 0
	for m, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		if m.event == "event" {
			events++
		}
		ends = m.event
	}
	if want := len(b.exported(session, contract.Checker{})); ends != "closed" || events != want {
		t.Errorf("a closed session's stream has %d events and ends with %q; want %d events", events, ends, want)
	}
	if len(b.host.Sessions()) > 0 {
		t.Error("reading a session opened it")
	}
	b.input(session, "Again.")
	b.until(session, func(e event.Event) bool { return e.Terminal() && e.Turn == "t000002" })
	b.exported(session, unfinished())
}

func TestList(t *testing.T) {
	b := serve(t, setup{dir: t.TempDir(), model: script.New().Otherwise(script.Stall())})
	b.session("idle")
	ask[object](b, "DELETE", b.session("closed"), nil, 204)
	running := b.session("running")
	b.input(running, "  Fix the test.\nIt fails.")
	b.until(running, kind(event.KindAttemptStarted))
	list := ask[struct{ Sessions []object }](b, "GET", "/api/sessions", nil, 200).Sessions
	var got [][3]any
	for _, s := range list {
		got = append(got, [3]any{s["id"], s["state"], s["title"]})
	}
	b.diff(
		"list", [][3]any{{"running", "running", "Fix the test."}, {"closed", "closed", ""}, {"idle", "idle", ""}}, got,
	)
}

// The list has the child agents of an open session under it, marks sessions without work, and has
// the settings of a new session.
func TestListHasChildrenAndDefaults(t *testing.T) {
	dir := t.TempDir()
	b := serve(t, setup{dir: dir})
	work := b.workDir()
	for id, child := range map[string]string{"parent": "child", "child": "grandchild"} {
		log, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: id})
		if err != nil {
			t.Fatal(err)
		}
		err = log.Update(func(event.State) []event.Event {
			return []event.Event{
				{By: "host", Data: event.SessionOpened{Dir: work}},
				{By: "host", Data: event.ChildStarted{Child: "c000001", Session: child, Title: "Look into " + child}},
				{By: "host", Data: event.ChildEnded{Child: "c000001", Outcome: event.Failed}},
				{By: "host", Data: event.SessionClosed{}},
			}
		})
		if err := errors.Join(err, log.Close(t.Context())); err != nil {
			t.Fatal(err)
		}
		ask[object](b, "POST", "/api/sessions", object{"id": id}, 201)
	}
	childOf := func(parent, id string) object {
		return object{"id": id, "parent": parent, "title": "Look into " + id, "state": "closed", "outcome": "failed"}
	}
	list := ask[struct {
		Sessions []object
		New      object
	}](b, "GET", "/api/sessions", nil, 200)
	b.diff("new", object{"dir": work, "model": "script/m"}, list.New)
	for _, s := range list.Sessions {
		if s["id"] == "where" && s["trivial"] != true {
			t.Errorf("an empty session: %v", s)
		}
		if s["id"] == "parent" {
			b.diff("children", []any{
				childOf("parent", "child"), childOf("child", "grandchild"),
			}, s["children"])
			return
		}
	}
	t.Errorf("the parent is not listed: %v", list.Sessions)
}

// A session that is sent input must exist; one that is opened need not.
func TestMissingSession(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		b := serve(t, setup{dir: dir})
		for _, r := range [][2]string{
			{"GET", ""},
			{"DELETE", ""},
			{"GET", "/events"},
			{"GET", "/export"},
			{"POST", "/inputs"},
			{"DELETE", "/inputs/n000001"},
			{"POST", "/interrupt"},
			{"POST", "/approvals/p000001"},
			{"POST", "/calls/i000001/cancel"},
			{"POST", "/jobs/j000001/kill"},
		} {
			body := any(nil)
			switch r[1] {
			case "/inputs":
				body = object{"text": "hello"}
			case "/approvals/p000001":
				body = object{"verdict": "approved"}
			}
			if p := ask[object](b, r[0], "/api/sessions/nowhere"+r[1], body, 404); p["type"] != "urn:settle:problem:no-session" {
				t.Errorf("%s %s: %v", r[0], r[1], p)
			}
		}
	}
}

// TestHeldSession: another process is named; reading does not need it.
func TestHeldSession(t *testing.T) {
	dir := t.TempDir()
	b := serve(t, setup{dir: dir})
	log, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: "held"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	work := b.workDir()
	if err := log.Update(func(event.State) []event.Event { return []event.Event{{Data: event.SessionOpened{Dir: work}}} }); err != nil {
		t.Fatal(err)
	}
	p := ask[object](b, "POST", "/api/sessions/held/inputs", object{"text": "hello"}, 409)
	if holder, ok := p["holder"].(object); !ok || holder["pid"] != float64(os.Getpid()) ||
		p["type"] != "urn:settle:problem:session-held" {
		t.Errorf("%v", p)
	}
	ask[object](b, "POST", "/api/sessions", object{"id": "held"}, 409)
	if s := ask[object](b, "GET", "/api/sessions/held", nil, 200); s["host"].(object)["pid"] != float64(os.Getpid()) ||
		!strings.Contains(s["refuses"].(string), "another process") {
		t.Errorf("a host whose identity the log does not have: %v", s)
	}
	b.exported("/api/sessions/held", unfinished())
}

// A client sees which process has a session open, and whether this server would take it from there.
func TestSnapshotNamesHost(t *testing.T) {
	dir := t.TempDir()
	host := serve(t, setup{dir: dir})
	session, work := host.session("s"), host.workDir()
	for _, take := range []bool{false, true} {
		b := serve(t, setup{dir: dir, work: work, web: func(o *web.Options) { o.Take = take }})
		s := ask[object](b, "GET", session, nil, 200)
		want := object{"pid": float64(os.Getpid()), "kind": "serve"}
		if take {
			want["takes"] = true
		}
		if diff := cmp.Diff(any(want), s["host"]); diff != "" || s["refuses"] == nil != take {
			t.Errorf("%s%v", diff, s["refuses"])
		}
		b.stop()
	}
	if s := ask[object](host, "GET", session, nil, 200); s["host"] != nil {
		t.Errorf("the host itself names %v", s["host"])
	}
	host.stop()
	if s := ask[object](serve(t, setup{dir: dir, work: work}), "GET", session, nil, 200); s["host"] != nil {
		t.Errorf("a closed session has %v", s["host"])
	}
}

// workDir returns the host's working directory.
func (b *harness) workDir() string {
	b.Helper()
	return ask[object](b, "GET", b.session("where"), nil, 200)["dir"].(string)
}

// A session of another directory is not gone on with in this one.
func TestSessionOfAnotherDirectory(t *testing.T) {
	dir := t.TempDir()
	first := serve(t, setup{dir: dir})
	session := first.session("s")
	first.stop()
	second := serve(t, setup{dir: dir})
	p := ask[object](second, "POST", session+"/inputs", object{"text": "hello"}, 409)
	if p["type"] != "urn:settle:problem:other-directory" {
		t.Errorf("%v", p)
	}
	ask[object](second, "GET", session, nil, 200)
}

// TestDamagedSession: a log that is damaged can be seen, listed and gone on
// with (C20).
func TestDamagedSession(t *testing.T) {
	dir := t.TempDir()
	b := serve(t, setup{dir: dir})
	session := b.session("torn")
	b.input(session, "hello")
	b.until(session, event.Event.Terminal)
	ask[object](b, "DELETE", session, nil, 204)
	path := filepath.Join(dir, "sessions", "torn.log")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 0xff
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ask[object](b, "GET", session, nil, 200)
	if list := string(b.send("GET", "/api/sessions", nil).body); !strings.Contains(list, `"problem":`) {
		t.Errorf("the list does not tell: %s", list)
	}
	last := ""
	all, err := b.connect(t.Context(), session, 0)
	if err != nil {
		t.Fatal(err)
	}
	for m := range all {
		last = m.event
	}
	if last != "problem" {
		t.Errorf("the stream ends with %q", last)
	}
	if a, err := b.try("GET", session+"/export", nil); err == nil {
		t.Errorf("the export does not tell: %d %s", a.status, a.body)
	}
	b.input(session, "go on")
	b.until(session, func(e event.Event) bool { return e.Kind() == event.KindSessionRecovered })
}

func TestBadSessionIDs(t *testing.T) {
	b := serve(t, setup{dir: t.TempDir()})
	for _, id := range []string{".hidden", "-x", "a b", "ä", strings.Repeat("x", 129), "a/b", "..\\x", "a\x00b"} {
		ask[object](b, "POST", "/api/sessions", object{"id": id}, http.StatusBadRequest)
	}
}

// A session whose host died is opened when a client watches it again: its open entities are ended,
// which the client sees (C1, C2). A session that another process holds is not opened.
func TestWatchingEndsWhatADeadHostLeft(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	left := func(id string) *journal.Log {
		log, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: id})
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Update(func(event.State) []event.Event {
			return []event.Event{
				{By: "host", Data: event.SessionOpened{Dir: work, PID: os.Getpid()}},
				{By: "api", Data: event.InputAccepted{Input: "n000001", Text: "hello"}},
				{Turn: "t000001", By: "api", Data: event.TurnStarted{Inputs: []string{"n000001"}}},
			}
		}); err != nil {
			t.Fatal(err)
		}
		return log
	}
	shut := func(log *journal.Log) {
		if err := log.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	shut(left("dead"))
	held := left("held")
	defer shut(held)
	b := serve(t, setup{dir: dir, config: func(c *settle.SessionConfig) { c.WorkDir = work }})
	e := b.until("/api/sessions/dead", event.Event.Terminal)
	if d, ok := e.Data.(event.TurnAborted); !ok || d.Reason != event.Crashed {
		t.Errorf("the turn ends with %+v", e)
	}
	b.exported("/api/sessions/dead", unfinished())
	n := 0
	for range b.watch(t.Context(), "/api/sessions/held", 0) {
		n++
	}
	b.diff("events of the one that is held", 3, n)
	if got := ask[object](b, "DELETE", "/api/sessions/held", nil, http.StatusConflict); got["type"] != "urn:settle:problem:session-held" {
		t.Errorf("closing it: %v", got)
	}
}
