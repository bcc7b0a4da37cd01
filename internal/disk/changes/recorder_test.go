//go:build linux && machine

package changes

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/disk"
)

// fixture is a directory with a recorder.
type fixture struct {
	*testing.T
	dir   string
	held  *disk.WorkDir
	store *disk.ContentStore
	*Recorder
}

func newFixture(t *testing.T, limits Limits, files map[string]string) *fixture {
	t.Helper()
	f := &fixture{T: t, dir: t.TempDir(), store: disk.NewContentStore(filepath.Join(t.TempDir(), "files"), 1<<30)}
	for name, content := range files {
		f.put(name, content)
	}
	held, err := disk.HoldWorkDir(f.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.Close)
	if limits.Time == 0 {
		limits.Time = time.Minute // the machine of a test can be busy
	}
	f.held = held
	f.open(limits)
	return f
}

func (f *fixture) open(limits Limits) {
	f.Recorder = NewRecorder(f.Context(), Config{Dir: f.held, Store: f.store, Limits: limits})
	r := f.Recorder
	f.Cleanup(func() { _ = r.Close(context.Background()) })
}

func (f *fixture) put(name, content string) {
	f.Helper()
	name = filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) bash(script string) {
	f.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = f.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		f.Fatalf("%s: %v: %s", script, err, out)
	}
}

// record returns the record of a call that runs the script.
func (f *fixture) record(script string) Record {
	f.Helper()
	c := f.Begin(f.Context(), "c1", []byte("{}"))
	f.bash(script)
	record, ok := f.End(f.Context(), c)
	if !ok {
		f.Fatal("the call has no record")
	}
	return record
}

// words describes a record: + for a created, - for a deleted and ~ for a changed entry.
func words(r Record) (out []string) {
	for _, c := range r.Files {
		mark := "~"
		switch {
		case c.Before == nil:
			mark = "+"
		case c.After == nil:
			mark = "-"
		}
		if c.Why != "" {
			mark += "?"
		}
		out = append(out, mark+c.Path)
	}
	return out
}

func (f *fixture) wants(what string, r Record, want ...string) {
	f.Helper()
	if diff := cmp.Diff(want, words(r)); diff != "" || r.Why != "" {
		f.Errorf("%s (-want +got):\n%s %s", what, diff, r.Why)
	}
}

func TestRecordNamesOnlyChangesOfTheCall(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1", "b": "1", "sub/c": "1"})
	f.wants("nothing", f.record("true"))
	f.wants("reads", f.record("cat a; touch b"))
	f.wants("a change and its opposite", f.record("echo 2 >a; printf 1 >a"))
	f.put("b", "by somebody else")
	f.wants("after a change by others", f.record("echo 2 >a"), "~a")
	f.wants("same size and time", f.record("printf 12 >b; touch -r a b; printf 34 >b; touch -r a b"), "~b")
	f.wants("at once afterwards", f.record("printf 56 >b; touch -r a b"), "~b")
	f.wants("moved", f.record("mv sub there"), "-sub", "-sub/c", "+there", "+there/c")
	content, err := f.store.Get(disk.Sum([]byte("34")))
	if err != nil || string(content) != "34" {
		t.Errorf("the store has %q, %v", content, err)
	}
}

// Ignored files, files that tools generate, git's own files, FIFOs and strange names are left out.
// A change of the rules creates and deletes nothing.
func TestRecordLeavesOut(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{".gitignore": "out/\n*.log\n", "out/x": "1", "a.log": "1"})
	f.wants("ignored", f.record("echo 2 >out/x; for d in node_modules .git sub/.hg; do mkdir -p $d; touch $d/x; done"),
		"+sub")
	f.wants("an ignored file is recorded", f.record("echo 2 >a.log"), "~a.log")
	f.wants("others", f.record(`mkfifo fifo; echo x >$'\xff'; touch .settle-x.tmp`))
	f.wants("no more ignored", f.record("rm .gitignore"), "-.gitignore")
	f.wants("but known from then on", f.record("echo 3 >out/x"), "~out/x")
	f.wants("ignored again", f.record("echo out/ >.gitignore"), "+.gitignore")
}

func TestRecordWithinLimits(t *testing.T) {
	f := newFixture(t, Limits{Bytes: 8000}, map[string]string{"big": strings.Repeat("x", 1500), "a": "1"})
	f.wants("a large file", f.record("echo 2 >a; echo y >>big"), "~a", "~?big")
	f = newFixture(t, Limits{Bytes: 800}, nil)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
		f.put(name, strings.Repeat(name, 90))
	}
	f.wants("no room for the last", f.record("echo 2 >a; echo 2 >j; rm i; head -c 95 /dev/zero >new"),
		"~a", "-?i", "~?j", "+new")
	f = newFixture(t, Limits{Files: 3}, map[string]string{"a": "1", "b": "1"})
	f.wants("within", f.record("echo 2 >a"), "~a")
	if r := f.record("touch c d e"); r.Why != "the directory has more than 3 files" {
		t.Errorf("%+v", r)
	}
	if r := f.record("rm c d e"); !strings.Contains(r.Why, "so settle does not record") {
		t.Errorf("%+v", r)
	}
	f = newFixture(t, Limits{Time: time.Nanosecond}, map[string]string{"a": "1"})
	for range maxSlow {
		if r := f.record("echo 2 >a"); !strings.Contains(r.Why, "it took longer than 1ns") {
			t.Errorf("%+v", r)
		}
	}
	if r := f.record("true"); !strings.Contains(r.Why, "so settle does not record") {
		t.Errorf("%+v", r)
	}
	f = newFixture(t, Limits{}, nil)
	r := f.record("touch {0001..1200}")
	if len(r.Files) != maxNamed || r.More != 200 {
		t.Errorf("%d and %d more", len(r.Files), r.More)
	}
}

// The data directory of settle can lie in the working directory.
func TestRecordLeavesOutDataDir(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"data/log": "1", "a": "1"})
	f.config.DataDir = filepath.Join(f.dir, "data")
	f.wants("its files", f.record("echo 2 >data/log; echo 2 >a"), "~a")
}

func TestRecordsOfCallsAtTheSameTimeNameEachOther(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1", "b": "1"})
	one := f.Begin(t.Context(), "c1", nil)
	f.bash("echo 2 >a")
	two := f.Begin(t.Context(), "c2", nil)
	done := f.Beside("edit")
	f.bash("echo 3 >a; echo 2 >b")
	done()
	first, _ := f.End(t.Context(), one)
	f.bash("echo 3 >b")
	second, _ := f.End(t.Context(), two)
	f.wants("the first", first, "~a", "~b")
	f.wants("the second", second, "~b")
	if diff := cmp.Diff([][]string{{"c2", "edit"}, {"c1", "edit"}}, [][]string{first.With, second.With}); diff != "" {
		t.Error(diff)
	}
	if !second.Files[0].isAfter(first.Files[1]) {
		t.Errorf("%+v does not follow %+v", second.Files[0], first.Files[1])
	}
}

func (c Change) isAfter(other Change) bool { return Same(c.Before, other.After) }

// An interrupted call does not wait for its record, which becomes an intent.
func TestInterruptedCallsAreIntents(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1"})
	ctx, cancel := context.WithCancel(t.Context())
	c := f.Begin(ctx, "c1", []byte("{}"))
	f.bash("echo 2 >a")
	cancel()
	if r, ok := f.End(ctx, c); ok {
		t.Errorf("a record: %+v", r)
	}
	f.Leave(ctx, c)
	f.awaitEnd(c)
	stuck := f.Begin(t.Context(), "c2", []byte("{}")) // never returns
	f.bash("rm a")
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_ = stuck
	for call, want := range map[string]string{"c1": "~a", "c2": "-a"} {
		r := RecordOf(f.store.Intents()(call, []byte("{}")))
		if r == nil {
			t.Fatalf("%s has no intent", call)
		}
		f.wants(call, *r, want)
	}
	if _, err := os.Stat(f.store.BaseDir()); err == nil {
		t.Error("the base is still there")
	}
}

// awaitEnd waits until the record of a call is made.
func (f *fixture) awaitEnd(c *Call) {
	isActive := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Contains(f.active, c)
	}
	for isActive() {
		runtime.Gosched()
	}
}

// A call that Close recorded keeps its record if its goroutine comes later.
func TestInterruptedCallIsRecordedOnce(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1"})
	c := f.Begin(t.Context(), "c1", []byte("{}"))
	f.bash("echo 2 >a")
	f.mu.Lock()
	f.leave(t.Context(), c)
	f.leave(t.Context(), c)
	f.mu.Unlock()
	r := RecordOf(f.store.Intents()("c1", []byte("{}")))
	if r == nil {
		t.Fatal("the call has no intent")
	}
	f.wants("the first record", *r, "~a")
}

// The base does not grow with each change, and can be read after it was written anew.
func TestBaseIsWrittenAnew(t *testing.T) {
	f := newFixture(t, Limits{Bytes: 40_000}, map[string]string{"keep": "kept"})
	for n := range 40 {
		f.wants("a change", f.record("head -c 4000 /dev/urandom >a"), map[bool]string{true: "+a", false: "~a"}[n == 0])
	}
	if f.base.number == 1 || f.base.size > 40_000 {
		t.Errorf("the base has the number %d and %d bytes", f.base.number, f.base.size)
	}
	c := f.Begin(t.Context(), "c9", []byte("{}"))
	f.bash("rm keep a")
	l, err := readBase(f.store.BaseDir())
	if err != nil || len(l.open) != 1 {
		t.Fatalf("%v, %v", l, err)
	}
	if content, err := l.Get(disk.Sum([]byte("kept"))); string(content) != "kept" {
		t.Errorf("%q, %v", content, err)
	}
	f.End(t.Context(), c)
}

// A base that was damaged, or is not a base, leads to no record, and is removed.
func TestDamagedBase(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1"})
	for name, content := range map[string]string{
		"tree-1": "{\"begin\":{\"call\":\"c\"}}\n{\"path\":\"../x\",\"entry\":{}}\n{", "contents-1": "", "other": "x",
	} {
		if err := os.MkdirAll(f.store.BaseDir(), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.store.BaseDir(), name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.open(Limits{})
	if left, err := os.ReadDir(f.store.BaseDir()); !os.IsNotExist(err) {
		t.Errorf("the damaged base has %v, %v", left, err)
	}
	f.wants("afterwards", f.record("echo 2 >a"), "~a")
}

// A file that was moved from a place that no walk looks at is the only copy of its content.
func TestRecordNamesEntriesThatMayHaveBeenMoved(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"node_modules/x": "1", "known": "2"})
	outside := t.TempDir()
	f.bash("touch -d @1000 node_modules/x; echo out >" + outside + "/file; ln -s nowhere " + outside +
		"/link; touch -hd @1000 " + outside + "/*")
	f.wants("from an ignored directory", f.record("mv node_modules modules"), "+modules", "+?modules/x")
	f.wants("from outside", f.record("mv "+outside+"/* ."), "+?file", "+?link")
	f.wants("in the tree", f.record("touch -d @1000 known; mv known there; cp -P link link2; touch -hd @1000 link2"),
		"-known", "+link2", "+there")
}

// Beyond the bound, created entries are left out first.
func TestRecordLeavesOutCreatedEntriesFirst(t *testing.T) {
	f := newFixture(t, Limits{}, nil)
	f.bash("mkdir b; touch b/{001..600}")
	r := f.record("mv b a")
	deleted := 0
	for _, c := range r.Files {
		if c.After == nil {
			deleted++
		}
	}
	if deleted != 601 || len(r.Files) != maxNamed || r.More != 202 || r.Files[0].Path != "a" {
		t.Errorf("%d deleted of %d, and %d more", deleted, len(r.Files), r.More)
	}
}

// treeWhile returns the tree after a call if the files change between the walk and the reads.
func (f *fixture) treeWhile(old *tree, script string) *tree {
	f.Helper()
	root, err := f.held.Open()
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	w, err := tour(f.Context(), root, f.config.Limits, "")
	if err != nil {
		f.Fatal(err)
	}
	f.bash(script)
	c := copier{root: root, limits: f.config.Limits, until: time.Now().Add(time.Minute), old: old, after: true}
	t, err := c.complete(f.Context(), w)
	if err != nil {
		f.Fatal(err)
	}
	return t
}

// A file that is missing while a walk looks at it was neither created nor deleted by a call.
func TestRecordIgnoresEntriesThatVanishInWalk(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1"})
	before := f.treeWhile(nil, "mv a b")
	f.bash("mv b a")
	if all := compare(before, f.treeWhile(before, "true")); len(all) > 0 {
		t.Errorf("changes: %+v", all)
	}
}

// What a walk after a call missed is compared with the tree before that call after the next call.
func TestRecordNamesEntriesThatAnEarlierWalkMissed(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1", "dir/sub/b": "1", "same/c": "1"})
	f.bash("ln -s a link")
	before := f.treeWhile(nil, "true")
	f.bash("mkdir made; echo 1 >made/d; echo 1 >new")
	missing := f.treeWhile(before, "rm link; mv a a2; mv dir dir2; mv same same2; mv made made2; mv new new2")
	f.wants("a walk in which entries vanish", Record{Files: compare(before, missing)}, "+made")
	f.bash("mv a2 a; ln -s dir link; mv same2 same; echo 2 >a; rm -r dir2; mv made2 made; mv new2 new")
	after := f.treeWhile(missing, "true")
	f.wants(
		"the next walk", Record{Files: compare(missing, after)},
		"~a", "-dir", "-dir/sub", "-dir/sub/b", "~link", "+made/d", "+new",
	)
}
