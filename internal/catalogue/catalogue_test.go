package catalogue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/modeltest/leak"
)

// listVar makes the test binary, run anew, list a data directory.
const listVar = "CATALOGUE_TEST_LIST"

func TestMain(m *testing.M) {
	if dir := os.Getenv(listVar); dir != "" {
		os.Exit(listAlone(dir))
	}
	os.Exit(leak.Run(m))
}

// listAlone prints the number of sessions it finds, many times.
func listAlone(dir string) int {
	for range 10 {
		c, err := Open(context.Background(), dir)
		if err != nil {
			fmt.Println("error:", err)
			return 1
		}
		list, err := c.List(context.Background(), Query{})
		if err := errors.Join(err, c.Close()); err != nil {
			fmt.Println("error:", err)
			return 1
		}
		fmt.Println(len(list))
	}
	return 0
}

// session writes the log of a session with one turn, which ends for the
// reason, or does not end.
func session(t testing.TB, dir, id, text string, reason event.Reason) {
	t.Helper()
	l, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func(s event.State) []event.Event{
		func(event.State) []event.Event {
			return []event.Event{{Data: event.SessionOpened{Dir: "/work/" + id}}}
		},
		func(event.State) []event.Event {
			return []event.Event{{Data: event.InputAccepted{Input: "n1", Text: text}}}
		},
		func(s event.State) []event.Event {
			start := event.TurnStarted{Inputs: []string{"n1"}, Provider: "script", Model: "demo"}
			return []event.Event{{Turn: s.NextTurn(), Data: start}}
		},
		func(s event.State) []event.Event {
			if reason == "" {
				return nil
			}
			return event.Endings(s, event.Abort(reason, "user"))
		},
	} {
		if err := l.Update(f); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB, dir string) *Catalogue {
	t.Helper()
	c, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ids(t testing.TB, c *Catalogue, q Query) string {
	t.Helper()
	list, err := c.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Session)
	}
	return strings.Join(out, " ")
}

func diff(t testing.TB, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Fatalf("%s (-want +got):\n%s", what, d)
	}
}

// three makes a data directory with three sessions.
func three(t testing.TB) (dir string) {
	t.Helper()
	dir = t.TempDir()
	session(t, dir, "s1", "\n  Fix the Über-test  \nplease: it fails 100% of the time", event.Interrupted)
	session(t, dir, "s2", "write a poem", "")
	session(t, dir, "s3", strings.Repeat("é", 300), event.LimitReached)
	return dir
}

func TestList(t *testing.T) {
	dir := three(t)
	c := open(t, dir)
	list, err := c.List(t.Context(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.List(t.Context(), Query{}) // from the database
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "second list", list, again)
	if !list[2].Created.Before(list[2].Updated) || !list[2].Updated.Before(list[0].Created) {
		t.Errorf("the times are %v to %v and %v", list[2].Created, list[2].Updated, list[0].Created)
	}
	for i := range list {
		list[i].Created, list[i].Updated = list[0].Created, list[0].Created
	}
	at := list[0].Created
	diff(t, "list", []Entry{
		{
			Session: "s3",
			Dir:     "/work/s3",
			Title:   strings.Repeat("é", 100),
			Model:   "script/demo",
			Outcome: event.Aborted,
			Reason:  event.LimitReached,
			Created: at,
			Updated: at,
			Seq:     4,
		},
		{
			Session: "s2",
			Dir:     "/work/s2",
			Title:   "write a poem",
			Model:   "script/demo",
			Outcome: event.Aborted,
			Reason:  event.Crashed,
			Created: at,
			Updated: at,
			Seq:     3,
		},
		{
			Session: "s1",
			Dir:     "/work/s1",
			Title:   "Fix the Über-test",
			Model:   "script/demo",
			Outcome: event.Aborted,
			Reason:  event.Interrupted,
			Created: at,
			Updated: at,
			Seq:     4,
		},
	}, list)
}

// A turn runs if a process holds its session, and not just because its end is missing in the log.
func TestRunningFollowsTheLock(t *testing.T) {
	dir := three(t)
	c := open(t, dir)
	running := func() bool {
		list, err := c.List(t.Context(), Query{Text: "poem"})
		if err != nil || len(list) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		if e := list[0]; e.Running == (e.Reason == event.Crashed) {
			t.Errorf("it is %+v", e)
		}
		return list[0].Running
	}
	if running() {
		t.Error("it runs, and nobody holds it")
	}
	l, _, err := journal.Open(t.Context(), journal.Options{Dir: dir, Session: "s2"})
	if err != nil {
		t.Fatal(err)
	}
	if !running() {
		t.Error("it is held, and does not run")
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if running() {
		t.Error("it runs again")
	}
}

// A session is listed by its first line with a task, even if that is not its first input.
func TestTitle(t *testing.T) {
	said := func(texts ...string) (out []event.Input) {
		for _, text := range texts {
			in := event.Input{Text: text}
			if text == "" {
				in.Images = []event.Image{{MediaType: "image/png", Data: []byte("x")}}
			}
			out = append(out, in)
		}
		return out
	}
	turn := func(texts ...string) *event.Turn { return &event.Turn{Inputs: said(texts...)} }
	entered := &event.Turn{Inputs: []event.Input{{Text: "git status", Command: true}}}
	for want, state := range map[string]event.State{
		"":             {},
		"waits":        {Waiting: said("waits")},
		"one":          {Turns: []*event.Turn{turn(" \n one \ntwo"), turn("three")}, Waiting: said("four")},
		"what?":        {Turns: []*event.Turn{turn(""), turn("", "what?")}},
		"Fix the lock": {Turns: []*event.Turn{turn("hi"), turn("Hello,\n\nFix the lock\nnow")}},
		"Hello there!": {Turns: []*event.Turn{turn("Hello there!"), turn("ok?")}},
		"Fix it":       {Turns: []*event.Turn{entered, turn("Fix it")}},
		"git status":   {Turns: []*event.Turn{entered}},
		"(pictures)":   {Turns: []*event.Turn{turn(""), turn("")}, Waiting: said("")},
	} {
		diff(t, "the title", want, Title(state))
	}
}

// A session in which nothing was done is marked, so that lists can fold it.
func TestTrivial(t *testing.T) {
	turn := func(text string, cause *event.Cause) *event.Turn {
		return &event.Turn{Inputs: []event.Input{{Text: text}}, Cause: cause}
	}
	failed := event.Fail(&event.Failure{})
	for _, c := range []struct {
		name  string
		state event.State
		want  bool
	}{
		{"empty", event.State{}, true},
		{"waits", event.State{Waiting: []event.Input{{Text: "hi"}}}, false},
		{"greeting", event.State{Turns: []*event.Turn{turn("hi", event.Complete())}}, true},
		{"failed", event.State{Turns: []*event.Turn{turn("fix it", failed), turn("again", failed)}}, true},
		{"runs", event.State{Turns: []*event.Turn{turn("hi", nil)}}, false},
		{"interrupted", event.State{Turns: []*event.Turn{turn("fix it", event.Abort(event.Interrupted, "tui"))}}, false},
		{"works later", event.State{Turns: []*event.Turn{turn("fix it", failed), turn("again", event.Complete())}}, false},
	} {
		diff(t, c.name, c.want, EntryOf(c.state).Trivial)
	}
}

func TestSearch(t *testing.T) {
	c := open(t, three(t))
	for _, q := range []struct {
		Query
		want string
	}{
		{Query{}, "s3 s2 s1"},
		{Query{Limit: 2}, "s3 s2"},
		{Query{Text: "POEM"}, "s2"},
		{Query{Text: "über"}, "s1"},
		{Query{Text: "100%"}, "s1"},
		{Query{Text: "100_"}, ""},
		{Query{Text: "work/s"}, "s3 s2 s1"},
		{Query{Dir: "/work/s2"}, "s2"},
		{Query{Dir: "/work"}, ""},
		{Query{Text: "s3"}, "s3"},
	} {
		diff(t, fmt.Sprintf("%+v", q.Query), q.want, ids(t, c, q.Query))
	}
}

// TestExcept: a session that the caller knows better is neither listed nor
// read, nor forgotten.
func TestExcept(t *testing.T) {
	dir := three(t)
	c := open(t, dir)
	ids := func(q Query) (ids []string) {
		t.Helper()
		list, err := c.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			ids = append(ids, e.Session)
		}
		return ids
	}
	diff(t, "without one", []string{"s3", "s1"}, ids(Query{Except: func(id string) bool { return id == "s2" }}))
	known, err := c.load(t.Context())
	if _, found := known["s2"]; err != nil || found {
		t.Errorf("the log of the session that was excepted was read (%v)", err)
	}
	diff(t, "with it", []string{"s3", "s2", "s1"}, ids(Query{}))
	diff(t, "without it again", []string{"s3", "s1"}, ids(Query{Except: func(id string) bool { return id == "s2" }}))
	if known, err = c.load(t.Context()); err != nil || len(known) != 3 {
		t.Errorf("the catalogue has %d sessions (%v), want all 3", len(known), err)
	}
}

func TestListFollowsTheLogs(t *testing.T) {
	dir := three(t)
	c := open(t, dir)
	diff(t, "first", "s3 s2 s1", ids(t, c, Query{}))
	session(t, dir, "s4", "a poem in prose", event.Interrupted)
	if err := journal.Delete(t.Context(), dir, "s2"); err != nil {
		t.Fatal(err)
	}
	diff(t, "later", "s4", ids(t, c, Query{Text: "poem"}))
	log, later := filepath.Join(dir, "sessions", "s1.log"), time.Now().Add(time.Hour)
	if err := errors.Join(os.WriteFile(log, []byte("scribble"), 0o600), os.Chtimes(log, later, later)); err != nil {
		t.Fatal(err)
	}
	list, err := c.List(t.Context(), Query{})
	if err != nil || len(list) != 3 || list[0].Session != "s1" || list[0].Problem == "" {
		t.Fatalf("got %+v, %v", list, err)
	}
}

func TestEmptyDataDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with a ? and a # and 100%")
	c := open(t, dir)
	diff(t, "list", "", ids(t, c, Query{}))
	info, err := os.Stat(path(dir))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got %v, %v", info, err)
	}
}

// damage makes the database unusable, each in its way.
func damage(t *testing.T, dir, how string) {
	t.Helper()
	c := open(t, dir)
	ids(t, c, Query{})
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path(dir))
	if err != nil {
		t.Fatal(err)
	}
	switch how {
	case "garbage":
		raw = []byte(strings.Repeat("not a database ", 1000))
	case "half":
		raw = raw[:len(raw)/2]
	case "header":
		raw[3] ^= 0xff
	case "page":
		for i := 4096; i < len(raw); i++ {
			raw[i] ^= 0x55
		}
	case "zeros":
		clear(raw)
	}
	if err := os.WriteFile(path(dir), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDamagedDatabaseIsMadeAnew(t *testing.T) {
	for _, how := range []string{"garbage", "half", "header", "page", "zeros"} {
		t.Run(how, func(t *testing.T) {
			dir := three(t)
			damage(t, dir, how)
			diff(t, "list", "s3 s2 s1", ids(t, open(t, dir), Query{}))
		})
	}
	t.Run("while it is open", func(t *testing.T) {
		dir := three(t)
		c := open(t, dir)
		diff(t, "list", "s3 s2 s1", ids(t, c, Query{}))
		damage(t, dir, "page")
		list, err := c.List(t.Context(), Query{})
		var warning *Warning
		if len(list) != 3 || err != nil && !errors.As(err, &warning) {
			t.Fatalf("got %+v, %v", list, err)
		}
	})
}

func TestOlderDatabaseIsMadeAnew(t *testing.T) {
	dir := three(t)
	execute(t, dir, "CREATE TABLE session (id TEXT); INSERT INTO session VALUES ('old')")
	diff(t, "list", "s3 s2 s1", ids(t, open(t, dir), Query{}))
}

// Rows of an older settle are made again: they can differ, such as the title of a session that
// begins with a picture.
func TestOlderRowsAreMadeAnew(t *testing.T) {
	dir := three(t)
	ids(t, open(t, dir), Query{})
	execute(t, dir, "UPDATE session SET title = ''; PRAGMA user_version = 2")
	list, err := open(t, dir).List(t.Context(), Query{})
	if err != nil || len(list) != 3 || slices.ContainsFunc(list, func(e Entry) bool { return e.Title == "" }) {
		t.Fatalf("got %+v, %v", list, err)
	}
}

func execute(t *testing.T, dir, script string) {
	t.Helper()
	db, err := sql.Open("sqlite", path(dir))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// An unusable database is left alone, reported, and not needed.
func TestUnusableDatabase(t *testing.T) {
	for name, spoil := range map[string]func(t *testing.T, dir string){
		"newer":       func(t *testing.T, dir string) { execute(t, dir, "PRAGMA user_version = 99") },
		"a directory": func(t *testing.T, dir string) { mkdir(t, path(dir)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := three(t)
			spoil(t, dir)
			c, err := Open(t.Context(), dir)
			var warning *Warning
			if !errors.As(err, &warning) || warning.Path != path(dir) {
				t.Fatalf("got %v, want a Warning", err)
			}
			diff(t, "list", "s3 s2 s1", ids(t, c, Query{}))
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

// Sixteen processes at once, on a database that is there, is not, or is broken.
func TestManyProcesses(t *testing.T) {
	for _, how := range []string{"missing", "there", "garbage"} {
		t.Run(how, func(t *testing.T) {
			dir := three(t)
			if how != "missing" {
				damage(t, dir, how)
			}
			var all [16]*exec.Cmd
			var out [16]strings.Builder
			for i := range all {
				all[i] = exec.Command(os.Args[0])
				all[i].Env = append(os.Environ(), listVar+"="+dir)
				all[i].Stdout = &out[i]
				if err := all[i].Start(); err != nil {
					t.Fatal(err)
				}
			}
			for i, cmd := range all {
				err := cmd.Wait()
				if want := strings.Repeat("3\n", 10); err != nil || out[i].String() != want {
					t.Errorf("process %d: %v, it said\n%s", i, err, out[i].String())
				}
			}
		})
	}
}

// BenchmarkList lists 1,000 sessions that have not changed.
func BenchmarkList(b *testing.B) {
	dir := b.TempDir()
	for i := range 1000 {
		session(b, dir, fmt.Sprint("s", i), "do something", event.Interrupted)
	}
	c := open(b, dir)
	for b.Loop() {
		if list, err := c.List(b.Context(), Query{}); err != nil || len(list) != 1000 {
			b.Fatal(len(list), err)
		}
	}
}

// Looking for sessions where there are none makes nothing.
func TestListOfNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	s := Shelf{Dir: dir}
	list, err := s.List(t.Context(), Query{})
	if err = errors.Join(err, s.Close()); err != nil || len(list) > 0 {
		t.Errorf("got %v, %v", list, err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("there is a data directory")
	}
}
