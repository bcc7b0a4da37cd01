package store

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/proc"
)

// exported is a file with the events of a session.
func exported(t *testing.T, events []event.Event) string {
	t.Helper()
	var text []byte
	for _, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, line...), '\n')
	}
	file := filepath.Join(t.TempDir(), "log.jsonl")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// An imported log that does not end: its open entities are ended, and the effects of its calls are
// unknown.
func TestImportOfALogThatDoesNotEnd(t *testing.T) {
	dir := t.TempDir()
	in := func(item string, d event.Data) event.Event {
		return event.Event{Turn: "t1", Attempt: "a1", Item: item, Data: d}
	}
	log := written(t, dir, "one", append(asking("Wait."),
		in("i2", event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: "c1"}),
		in("i2", event.CallReady{Name: "shell", CallID: "c1", Arguments: "{}"}),
		in("i3", event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: "c2"}),
	)...)
	events := read(t, dir, "one")
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Import(t.Context(), dir, exported(t, events), "two", event.SessionOpened{}); err != nil {
		t.Fatal(err)
	}
	got := read(t, dir, "two")
	if err := contract.Check(got); err != nil {
		t.Error(err)
	}
	state, err := journal.Load(dir, "two")
	if err != nil {
		t.Fatal(err)
	}
	if c := state.Turns[0].Cause; c.By != "import" || c.Message != "the file ends here" {
		t.Errorf("the turn ended as %+v", c)
	}
	var effects []event.Effects
	for _, i := range state.Turns[0].Items[1:] {
		effects = append(effects, i.Effects)
	}
	// the second one had no arguments yet
	if !slices.Equal(effects, []event.Effects{event.EffectsUnknown, event.EffectsNone}) {
		t.Errorf("effects are %q", effects)
	}
	if last := got[len(got)-1].At; !last.Equal(events[len(events)-1].At) {
		t.Errorf("it ended at %v", last)
	}
}

// A session that is made is not there before it is whole, and nothing is left of one that
// cannot be.
func TestCreateIsWhole(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, unfinished+"1")
	if err := errors.Join(
		os.Mkdir(left, 0o700), os.Chtimes(left, time.Time{}, time.Now().Add(-2*unfinishedFor)),
	); err != nil {
		t.Fatal(err)
	}
	opened := []event.Event{{Data: event.SessionOpened{Settle: "x", Dir: "/w"}}, {Data: event.SessionClosed{}}}
	names := func() (all []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	failure := errors.New("the disk is full")
	rest := func(*journal.Log, string) error {
		if list, err := journal.List(dir); err != nil || len(list) > 0 {
			t.Errorf("there is %v, %v", list, err)
		}
		return failure
	}
	if err := create(t.Context(), dir, "s", opened, time.Now, rest); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := create(
		stopped, dir, "s", opened, time.Now, func(*journal.Log, string) error { return nil },
	); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if all := names(); len(all) > 0 {
		t.Errorf("left are %q", all)
	}
	failure = nil
	if err := create(t.Context(), dir, "s", opened, time.Now, rest); err != nil {
		t.Fatal(err)
	}
	if err := create(
		t.Context(), dir, "s", opened, time.Now, rest,
	); err == nil || err.Error() != `session "s" already exists` {
		t.Errorf("got %v", err)
	}
	if err := contract.Check(read(t, dir, "s")); err != nil {
		t.Error(err)
	}
}

// An imported log can name any process. No imported job is running, or can be killed.
func TestImportedJobsAreOver(t *testing.T) {
	dir := t.TempDir()
	in := func(attempt string, d event.Data) event.Event {
		return event.Event{Turn: "t1", Attempt: attempt, Item: "i2", Data: d}
	}
	log := written(t, dir, "one", append(asking("Wait."),
		in("a1", event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: "c1"}),
		in("a1", event.CallReady{Name: "shell", CallID: "c1", Arguments: "{}"}),
		in("", event.CallStarted{}),
		in("", event.JobStarted{Job: "j1", PID: os.Getpid(), Process: proc.Identify(os.Getpid())}),
	)...)
	events := read(t, dir, "one")
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := Import(t.Context(), dir, exported(t, events), "two", event.SessionOpened{}); err != nil {
		t.Fatal(err)
	}
	list, err := ofSession(dir, "two")
	if err != nil || len(list) != 1 || list[0].State != JobOver || len(list[0].Processes) > 0 {
		t.Errorf("the imported session has the jobs %+v, %v", list, err)
	}
	if _, _, err := KillJob(t.Context(), dir, "two/j1"); err == nil || !strings.Contains(err.Error(), "imported") {
		t.Errorf("killing an imported job: %v", err)
	}
}

// The errors of files that are no sessions name the problem.
func TestImportOfSomethingElse(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema_version":"ATIF-v1.7","st`: "unexpected EOF",
		"\ufeff{}":                          "in the format ATIF",
		"hello":                             "invalid character",
	} {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Import(
			t.Context(), t.TempDir(), file, "s", event.SessionOpened{},
		); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// endless is a file: its start, then the letter x without an end. Reading it fails after four times
// the maximum length of a line, so that a test without a bound ends as well.
type endless struct {
	start string
	at    int
	read  int64 // bytes
}

// Read implements [io.Reader].
func (f *endless) Read(p []byte) (int, error) {
	if f.read > 4*maxLogLine {
		return 0, errors.New("nothing bounds what is read")
	}
	n := copy(p, f.start[min(f.at, len(f.start)):])
	if n == 0 {
		n = copy(p, strings.Repeat("x", min(len(p), 64<<10)))
	}
	f.at += n
	f.read += int64(n)
	return n, nil
}

// Seek implements [io.Seeker] for the start of the file, which is all that an import seeks.
func (f *endless) Seek(int64, int) (int64, error) {
	f.at = 0
	return 0, nil
}

var _ io.ReadSeeker = (*endless)(nil)

// A line without an end is refused before it fills the memory: an import reads little more
// than the longest line that it accepts.
func TestImportRefusesEndlessLine(t *testing.T) {
	const begun = `{"v":1,"session":"s","seq":1,"kind":"`
	for name, start := range map[string]string{
		"first line":  begun,
		"second line": begun + `session.opened","at":"2026-01-01T00:00:00Z"}` + "\n{",
		"trajectory":  `{"schema_version":"ATIF-v1.4","steps":[]}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			file := &endless{start: start}
			if _, err := eventsOf(file, "two", event.SessionOpened{}); err == nil ||
				!strings.Contains(err.Error(), "64 MiB") {
				t.Errorf("the import returned %v", err)
			}
			if file.read > maxLogLine+1<<20 {
				t.Errorf("the import read %d MiB of a line that does not end", file.read>>20)
			}
		})
	}
}
