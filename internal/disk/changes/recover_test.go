//go:build linux && machine

package changes

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/disk"
)

// killed returns the store that a host leaves if it is killed now, and whose last sign of life
// was at that time.
func (f *fixture) killed(alive time.Time) *disk.ContentStore {
	f.Helper()
	store := disk.NewContentStore(filepath.Join(f.TempDir(), "files"), 1<<30)
	if err := os.CopyFS(store.BaseDir(), os.DirFS(f.store.BaseDir())); err != nil {
		f.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(store.BaseDir(), logName+"1"), alive, alive); err != nil {
		f.Fatal(err)
	}
	return store
}

// recovered returns the record of the call that a killed host left, if the next host works in a
// directory.
func (f *fixture) recovered(store *disk.ContentStore, dir string) Record {
	f.Helper()
	held, err := disk.HoldWorkDir(dir)
	if err != nil {
		f.Fatal(err)
	}
	defer held.Close()
	r := NewRecorder(f.Context(), Config{Dir: held, Store: store, Limits: Limits{Time: time.Minute}})
	if err := r.Close(f.Context()); err != nil {
		f.Fatal(err)
	}
	record := RecordOf(store.Intents()("c1", []byte("{}")))
	if record == nil {
		f.Fatal("the call has no record")
	}
	return *record
}

// The files of another directory are not the changes of a killed host's command: neither in a
// directory with another path, nor in one that got the path since then.
func TestKilledHostInOtherDirectory(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1"})
	f.Begin(t.Context(), "c1", []byte("{}"))
	f.bash("echo 2 >a; echo n >new")
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "mine"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(what, dir, want string) {
		t.Helper()
		r := f.recovered(f.killed(time.Now()), dir)
		if len(r.Files) > 0 || !strings.Contains(r.Why, want) {
			t.Errorf("%s: %q, %q", what, words(r), r.Why)
		}
	}
	later := time.Now().Add(time.Minute)
	f.wants("the same directory", f.recovered(f.killed(later), f.dir), "~a", "+new")
	check("another path", elsewhere, "another directory, "+f.path())
	f.bash("mv $PWD $PWD.moved; mkdir $PWD; echo mine >$PWD/mine")
	check("another directory with the path", f.dir, f.dir+" is another directory now")
}

// An earlier version of settle did not log the directory.
func TestKilledHostInUnknownDirectory(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1"})
	store := disk.NewContentStore(filepath.Join(t.TempDir(), "files"), 1<<30)
	call := map[string]any{"call": "c1", "arguments": disk.Sum([]byte("{}"))}
	begin, err := json.Marshal(map[string]any{"begin": call})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(store.BaseDir(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store.BaseDir(), logName+"1"), begin, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := f.recovered(store, f.dir); len(r.Files) > 0 || !strings.Contains(r.Why, "directory is unknown") {
		t.Errorf("%q, %q", words(r), r.Why)
	}
}

// A folder that was moved into the tree after the host's end is not the command's: only the ctime
// of the folder itself shows when it came.
func TestKilledHostLeavesMovedDirectories(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"kept/a": "1", "old/b": "1", "swapped/c": "1"})
	outside := t.TempDir()
	f.bash("mkdir -p " + outside + "/in/deep " + outside + "/swapped; cd " + outside +
		"; echo mine >in/deep/mine; echo mine >swapped/c; echo mine >swapped/mine")
	f.Begin(t.Context(), "c1", []byte("{}"))
	f.bash("mkdir made; echo n >made/n; echo n >kept/n; echo 2 >kept/a")
	alive := f.ctime("kept/a").Add(time.Millisecond + clockStep)
	store := f.killed(alive)
	f.bash("sleep 0.05; mv " + outside + "/in .; mv swapped gone; mv " + outside +
		"/swapped .; mv old renamed; >kept/late")
	r := f.recovered(store, f.dir)
	want := []string{
		"+?gone", "+?gone/c", "+?in", "+?in/deep", "+?in/deep/mine", "~kept/a", "+?kept/late", "+kept/n",
		"+made", "+made/n", "-old", "-old/b", "+?renamed", "+?renamed/b", "~?swapped/c", "+?swapped/mine",
	}
	if diff := cmp.Diff(want, words(r)); diff != "" || r.Why != "" {
		t.Errorf("(-want +got):\n%s %s", diff, r.Why)
	}
}

// A host can be killed after a command has ended and before the session's log has its result. The
// record is not lost: neither for a rewind before the next host, nor after it.
func TestKilledHostKeepsRecordsOfEndedCalls(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1"})
	f.record("echo 2 >a; echo n >new")
	store := f.killed(time.Now())
	f.bash("echo mine >mine")
	root, err := f.held.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	left := Cut(t.Context(), Config{Store: store, Limits: Limits{Time: time.Minute}}, root)
	if record := RecordOf(left.Intended("c1", []byte("{}"))); record == nil {
		t.Error("Cut has no record")
	} else {
		f.wants("before the next host", *record, "~a", "+new")
	}
	f.wants("after it", f.recovered(store, f.dir), "~a", "+new")
}

// A file that comes right after the kill, as from the shell's next command, is not the command's.
func TestKilledHostLeavesLaterFiles(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1", "b": "1"})
	f.Begin(t.Context(), "c1", []byte("{}"))
	f.bash("echo 2 >a; sleep 0.05; echo 2 >b; echo mine >mine")
	for late, want := range map[time.Duration][]string{
		0:                         {"~?a", "~?b", "+?mine"},
		clockStep + 1:             {"~a", "~?b", "+?mine"},
		clockStep + 1 + time.Hour: {"~a", "~b", "+mine"},
	} {
		f.wants(late.String(), f.recovered(f.killed(f.ctime("a").Add(late)), f.dir), want...)
	}
}

func (f *fixture) ctime(name string) time.Time {
	f.Helper()
	info, err := os.Lstat(filepath.Join(f.dir, name))
	if err != nil {
		f.Fatal(err)
	}
	return time.Unix(0, nodeOf(info).CTime)
}

// path returns the canonical path of the directory.
func (f *fixture) path() string {
	f.Helper()
	path, err := disk.Resolve(f.dir)
	if err != nil {
		f.Fatal(err)
	}
	return path
}

// Wherever a kill cuts the log after a call, a change of the call is in its record or still to be found by a
// comparison with the logged tree.
func TestCutLogLosesNoChange(t *testing.T) {
	f := newFixture(t, Limits{}, map[string]string{"a": "1"})
	one := f.Begin(t.Context(), "c1", nil)
	two := f.Begin(t.Context(), "c2", nil)
	name := f.base.path(logName)
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f.put("a", "22")
	f.End(t.Context(), one)
	log, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(before); n <= len(log); n++ {
		dir := t.TempDir()
		for path, content := range map[string][]byte{logName + "1": log[:n], logName + "2": nil} {
			if err := os.WriteFile(filepath.Join(dir, path), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		l, err := readBase(dir)
		if err != nil {
			t.Fatal(err)
		}
		if e := l.tree.entries["a"]; len(l.ended) == 0 && (e == nil || e.SHA256 != disk.Sum([]byte("1"))) {
			t.Errorf("the change is lost after %d bytes of %d:\n%s", n, len(log), log[:n])
		}
	}
	f.End(t.Context(), two)
}
