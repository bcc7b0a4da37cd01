package rewind

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/file"
)

// bench is a directory in which a model with the real file tools works.
type bench struct {
	*testing.T
	dir, data, session string
	limits             changes.Limits
	interrupted        bool // an interrupt comes while the changes of a command are recorded
	together           bool // the calls of a turn are in one response
	canFail            bool // calls can fail
}

// work begins with files, and runs a turn for each list of calls, of which each is a
// tool with its arguments.
func work(t *testing.T, begin map[string]string, turns ...[]call) *bench {
	t.Helper()
	b := &bench{T: t, dir: t.TempDir(), data: t.TempDir(), session: "s"}
	for name, content := range begin {
		b.put(name, content)
	}
	b.turns(turns...)
	return b
}

type call struct {
	tool string
	args map[string]string
	do   func(*bench) // another program's change before the call
}

func write(path, content string) call {
	return call{tool: "write", args: map[string]string{"path": path, "content": content}}
}

func edit(path, from, to string) call {
	return call{tool: "edit", args: map[string]string{"path": path, "old_string": from, "new_string": to}}
}

// meanwhile has another program change a file before the call.
func meanwhile(c call, do func(*bench)) call {
	c.do = do
	return c
}

func patch(lines ...string) call {
	return call{
		tool: "apply_patch",
		args: map[string]string{"input": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"},
	}
}

func (b *bench) turns(turns ...[]call) {
	b.Helper()
	var steps []script.Step
	for _, calls := range turns {
		var all []script.Step
		for _, c := range calls {
			raw, err := json.Marshal(c.args)
			if err != nil {
				b.Fatal(err)
			}
			first := script.Do(func() {
				if c.do != nil {
					c.do(b)
				}
			})
			all = append(all, script.Call(c.tool, string(raw)))
			if !b.together {
				steps = append(steps, script.Turn(first, script.Call(c.tool, string(raw))))
			}
		}
		if b.together {
			steps = append(steps, script.Turn(all...))
		}
		steps = append(steps, script.Text("done"))
	}
	host, err := settle.Open(b.Context(), settle.Config{DataDir: b.data})
	if err != nil {
		b.Fatal(err)
	}
	session, err := host.Session(b.Context(), b.session, settle.SessionConfig{
		Model: model.Config{
			Provider: script.New(steps...), ProviderName: "script", Name: "m",
		}, WorkDir: b.dir, Permission: settle.Allow,
		Toolbox: func(info settle.SessionInfo) (settle.Toolbox, error) {
			kept := disk.SessionContents(info.OutputDir)
			intend := func(call tool.Call, files json.RawMessage) error {
				return kept.Intend(call.ID, call.Args, files)
			}
			tools := file.NewWorkspace(file.Config{Keep: kept.Keep, Intend: intend}).Tools()
			recorder, commands := b.recorder(info.OutputDir, b.limits)
			return settle.Toolbox{Tools: append(tools, commands...), Close: recorder.Close}, nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	for n := range turns {
		if _, err := session.Run(b.Context(), "turn "+string(rune('1'+n))); err != nil {
			b.Fatal(err)
		}
	}
	for _, t := range session.State().Turns {
		for _, i := range t.Items {
			if i.Type() == event.ToolCall && i.Status != event.ItemCompleted && !b.canFail {
				b.Fatalf("%s: %s", i.Content().Name, i.Content().Output)
			}
		}
	}
	if err := host.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) put(name, content string) {
	b.Helper()
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(b.path(name), []byte(content), 0o644); err != nil {
		b.Fatal(err)
	}
}

// files returns the contents of the files in the directory, by path.
func (b *bench) files() map[string]string {
	b.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if info, statErr := os.Stat(path); err != nil || d.IsDir() || statErr != nil || info.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(b.dir, path)
		out[filepath.ToSlash(name)] = string(content)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func (b *bench) wants(what string, want map[string]string) {
	b.Helper()
	if diff := cmp.Diff(want, b.files()); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (b *bench) plan(input string) *Plan {
	b.Helper()
	p, err := Read(b.Context(), b.data, b.session, input)
	if err != nil {
		b.Fatal(err)
	}
	return p
}

func (b *bench) fork(p *Plan) Report {
	b.Helper()
	r, err := p.Fork(b.Context(), RestoreFiles)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func (b *bench) undo(at string) Report {
	b.Helper()
	p, err := ReadSnapshot(b.Context(), at)
	if err != nil {
		b.Fatal(err)
	}
	r, err := p.Undo(b.Context(), at)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func did(p *Plan) (out []string) {
	for _, f := range p.Files {
		out = append(out, string(f.Do)+" "+f.Path)
	}
	slices.Sort(out)
	return out
}

// Every kind of change is undone, and that can be undone.
func TestEveryKindOfChange(t *testing.T) {
	begin := map[string]string{
		"edited": "one\n", "binary": "\x00\xff\r\nbin", "deleted": "d\n", "moved": "m\n", "twice": "1\n",
		"both": "b\n", "empty": "", "same": "s\n",
	}
	b := work(t, begin,
		[]call{edit("same", "s", "t"), edit("same", "t", "s")},
		[]call{
			edit(
				"edited", "one", "two",
			), write("sub/deep/new", "n\n"), edit("twice", "1", "2"), edit("twice", "2", "3"),
			patch(
				"*** Delete File: deleted", "*** Update File: moved", "*** Move to: sub/moved", "-m", "+mm",
				"*** Add File: patched", "+p",
			),
			patch(
				"*** Delete File: both",
			), write("both", "anew\n"), write("empty", "full\n"), write("short", "x\n"), patch(
				"*** Delete File: short",
			),
			{tool: "read", args: map[string]string{"path": "binary"}},
			edit("binary", "bin", "BIN"),
		},
	)
	left := b.files()
	p := b.plan("")
	want := []string{
		"recreate deleted", "recreate moved", "remove patched", "remove sub", "remove sub/deep", "remove sub/deep/new",
		"remove sub/moved", "restore binary", "restore both", "restore edited", "restore empty", "restore twice", "same short",
	}
	if diff := cmp.Diff(want, did(p)); diff != "" {
		t.Error(diff)
	}
	b.wants("a plan changes nothing", left)
	r := b.fork(p)
	b.wants("restored", begin)
	if len(r.Restored) != 12 {
		t.Errorf("%s", r.Line())
	}
	state, err := journal.Load(b.data, r.Session)
	if err != nil || len(state.Turns) != 1 {
		t.Errorf("the copy has %d turns, %v", len(state.Turns), err)
	}
	again := b.undo(r.Snapshot)
	b.wants("undone", left)
	b.undo(again.Snapshot)
	b.wants("undone twice", begin)
	if got := b.plan(""); len(got.Changes()) > 0 || len(got.kept()) > 0 {
		t.Errorf("there is still something to do: %v", did(got))
	}
	// The copy has the contents that the original had stored, and restores files from its own
	// contents.
	if err := store.Delete(t.Context(), b.data, b.session); err != nil {
		t.Fatal(err)
	}
	b.session = r.Session
	if got := did(b.plan("1")); !slices.Equal(got, []string{"same same"}) {
		t.Errorf("in the copy: %v", got)
	}
	if err := store.Delete(t.Context(), b.data, b.session); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(b.data, "output")); len(left) > 0 {
		t.Errorf("deleted sessions leave %v, %v", left, err)
	}
}

// Later changes by other programs are kept, and reported.
func TestChangesOfOthersAreKept(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n", "d": "1\n", "e": "1\n"}, []call{
		edit("a", "1", "2"), edit("b", "1", "2"), patch("*** Delete File: c"), edit("d", "1", "2"), write("new", "n\n"),
		edit("e", "1", "2"), meanwhile(edit("e", "2", "3"), func(b *bench) { b.put("e", "2\nformatted\n") }),
	})
	b.put("a", "mine\n")
	b.put("c", "mine\n")
	b.put("new", "mine\n")
	if err := os.Remove(b.path("d")); err != nil {
		t.Fatal(err)
	}
	p := b.plan("1")
	want := []string{"keep a", "keep c", "keep d", "keep new", "restore b", "restore e"}
	if diff := cmp.Diff(want, did(p)); diff != "" {
		t.Error(diff)
	}
	text := strings.Join(p.Lines(), "\n")
	for _, want := range []string{
		"keep     a  (another program or rewind changed it since then)", "keep     c  (another program or rewind created it since then)", "keep     d  (another program or rewind deleted it since then)",
		"restore  b", "restore  e  (another program changed it in between; that change is undone as well)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in:\n%s", want, text)
		}
	}
	// Between the plan and the restoring, too.
	b.put("b", "mine\n")
	b.fork(p)
	b.wants("kept", map[string]string{"a": "mine\n", "b": "mine\n", "c": "mine\n", "e": "1\n", "new": "mine\n"})
}

// Links that lead elsewhere by now are not followed.
func TestLinks(t *testing.T) {
	b := work(t, map[string]string{"real/a": "1\n", "real/b": "1\n", "c": "1\n", "other": "1\n"})
	for link, to := range map[string]string{"a": "real/a", "dir": "real"} {
		if err := os.Symlink(to, b.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	b.turns([]call{edit("a", "1", "2"), edit("dir/b", "1", "2"), edit("c", "1", "2")})
	b.put("elsewhere", "2\n")
	if err := errors.Join(os.Remove(b.path("c")), os.Symlink("elsewhere", b.path("c"))); err != nil {
		t.Fatal(err)
	}
	p := b.plan("")
	if diff := cmp.Diff([]string{"keep c", "restore a", "restore dir/b"}, did(p)); diff != "" {
		t.Error(diff)
	}
	b.fork(p)
	b.wants(
		"restored",
		map[string]string{"real/a": "1\n", "a": "1\n", "real/b": "1\n", "other": "1\n", "elsewhere": "2\n", "c": "2\n"},
	)
	if info, err := os.Lstat(b.path("a")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v", err)
	}
}

// A file that was deleted or moved comes back with its mode.
func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // it has no such modes
	}
	b := work(t, map[string]string{"script": "1\n", "secret": "1\n", "moved": "1\n"})
	for name, mode := range map[string]fs.FileMode{"script": 0o755, "secret": 0o600, "moved": 0o750} {
		if err := os.Chmod(b.path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	b.turns(
		[]call{
			edit("script", "1", "2"),
			patch("*** Delete File: secret", "*** Update File: moved", "*** Move to: there", "-1", "+2"),
		},
	)
	r := b.fork(b.plan(""))
	for name, want := range map[string]fs.FileMode{"script": 0o755, "secret": 0o600, "moved": 0o750} {
		if info, err := os.Stat(b.path(name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	entries, err := os.ReadDir(r.Snapshot)
	if err != nil || len(entries) != 3 { // script, there, manifest
		t.Errorf("the snapshot has %v, %v", entries, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
}

// After an interruption at any point of a rewind, a second rewind and the snapshot both lead to the
// expected files.
func TestCrashes(t *testing.T) {
	begin := map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"}
	calls := []call{edit("a", "1", "2"), edit("b", "1", "2"), patch("*** Delete File: c"), write("new", "n\n")}
	for restored := range 5 {
		b := work(t, begin, calls)
		left := b.files()
		p := b.plan("")
		todo := p.Changes()
		at := filepath.Join(b.data, "output", "fork", "rewound-x")
		if err := p.copyTo(t.Context(), at, "fork", todo); err != nil {
			t.Fatal(err)
		}
		b.wants("copied", left)
		for _, f := range todo[:restored] { // and then it died
			content, err := p.content(sumOf(f.Was))
			if err != nil && f.Was != nil {
				t.Fatal(err)
			}
			if err := f.restore(t.Context(), nil, f.Left, f.Was, content); err != nil {
				t.Fatal(err)
			}
		}
		b.fork(b.plan(""))
		b.wants("went back again", begin)
		b.undo(at)
		b.wants("undone", left)
	}
	// A copy that was cut off names nothing, and nothing was changed.
	b := work(t, begin, calls)
	at := t.TempDir()
	if err := os.WriteFile(filepath.Join(at, "0001-a"), []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSnapshot(t.Context(), at); err == nil {
		t.Error("a snapshot without its manifest was read")
	}
	at = filepath.Join(b.dir, "a", "no")
	if err := b.plan("").copyTo(t.Context(), at, "fork", b.plan("").Changes()); err == nil {
		t.Error("a snapshot was made where there can be none")
	}
}

func sumOf(p *changes.Version) string {
	if p == nil {
		return ""
	}
	return p.SHA256
}

// A file whose content is not stored, or was never recorded, stays unchanged.
func TestContentsThatAreGone(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n", "b": "1\n"}, []call{edit("a", "1", "2"), edit("b", "1", "3")})
	kept := filepath.Join(settle.Store{Dir: b.data}.OutputDir(b.session), "files")
	if err := os.Remove(filepath.Join(kept, disk.Sum([]byte("1\n")))); err != nil {
		t.Fatal(err)
	}
	p := b.plan("")
	if diff := cmp.Diff([]string{"keep a", "keep b"}, did(p)); diff != "" {
		t.Error(diff)
	}
	if r := b.fork(p); r.Snapshot != "" || r.Session == "" {
		t.Errorf("%+v", r)
	}
	// A log of an earlier version.
	c := &collector{dir: b.dir, byPath: map[string]*File{}}
	c.changes(
		[]file.Change{
			{Path: "a", Kind: file.Update, SHA256: disk.Sum([]byte("2\n"))},
			{Path: "n", Kind: file.Create, SHA256: "x"},
			{Path: "d", Kind: file.Delete},
		},
	)
	for n, want := range []bool{true, false, true} {
		if got := c.files[n].unrecorded; got != want {
			t.Errorf("%s: %t, want %t", c.files[n].Path, got, want)
		}
	}
}

// Paths of edits by an earlier host in another directory are relative to that directory. Only
// absolute paths still name the changed file.
func TestEditsOfOtherDirectory(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n", "b": "1\n"})
	ran := b.dir
	here, err := disk.Resolve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b.dir = here
	b.put("a", "2\n")
	b.put("abs", "1\n")
	b.put("sub/n", "n\n")
	abs := b.path("abs")
	b.dir = ran
	b.turns([]call{edit("a", "1", "2"), write("sub/n", "n\n"), edit(abs, "1", "2")})
	b.dir = here
	b.turns([]call{edit("abs", "2", "1"), edit("abs", "1", "3"), write("new", "n\n")})
	p := b.plan("1")
	if len(p.Uncovered) != 2 || p.Uncovered[0].Why != "it ran in another directory, "+ran {
		t.Errorf("not covered: %v", p.Uncovered)
	}
	if diff := cmp.Diff([]string{"remove new", "restore abs"}, did(p)); diff != "" {
		t.Error(diff)
	}
	b.fork(p)
	b.wants("restored", map[string]string{"a": "2\n", "abs": "1\n", "sub/n": "n\n"})
}

// cut makes a session that is as it was when its host was killed after a call had done
// its work, the n-th, and before its result was written.
func (b *bench) cut(n int, as string) {
	b.Helper()
	log, _, err := journal.Open(b.Context(), journal.Options{Dir: b.data, Session: as})
	if err != nil {
		b.Fatal(err)
	}
	var events []event.Event
	for e, err := range journal.Read(b.Context(), b.data, b.session, 0) {
		if err != nil {
			b.Fatal(err)
		}
		if d, ok := e.Data.(event.ItemEnded); ok && d.Type == event.ToolCall {
			if n--; n == 0 {
				break
			}
		}
		e.Session = ""
		events = append(events, e)
	}
	all := settle.Store{Dir: b.data}
	err = errors.Join(
		log.Update(func(event.State) []event.Event { return events }), log.Close(b.Context()),
		disk.SessionContents(all.OutputDir(b.session)).CopyTo(disk.SessionContents(all.OutputDir(as))),
	)
	if err != nil {
		b.Fatal(err)
	}
	b.session = as
}

// A change without a recorded result is undone if the file has the content that the call would
// leave: settle was killed after the change. If the file has its old content, the change was not
// made. If it has any other content, another program wrote it.
func TestResultsThatWereNeverWritten(t *testing.T) {
	begin := map[string]string{"a": "1\n", "b": "1\n", "m": "1\n"}
	for name, tt := range map[string]struct {
		call call
		then func(*bench)
		do   []string
		left map[string]string
	}{
		"made":    {edit("a", "1", "2"), nil, []string{"restore a"}, begin},
		"created": {write("new", "n\n"), nil, []string{"remove new"}, begin},
		"patched": {
			patch("*** Delete File: a", "*** Update File: m", "*** Move to: there", "-1", "+2"), nil,
			[]string{"recreate a", "recreate m", "remove there"},
			begin,
		},
		"not made": {edit("a", "1", "2"), func(b *bench) { b.put("a", "1\n") }, []string{"same a"}, begin},
		"half made": {
			patch("*** Delete File: a", "*** Update File: b", "-1", "+2"), func(b *bench) { b.put("a", "1\n") },
			[]string{"restore b", "same a"},
			begin,
		},
		"another's": {
			edit("a", "1", "2"), func(b *bench) { b.put("a", "mine\n") },
			[]string{"keep a"},
			map[string]string{"a": "mine\n", "b": "1\n", "m": "1\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := work(t, begin, []call{tt.call})
			if tt.then != nil {
				tt.then(b)
			}
			b.cut(1, "killed")
			p := b.plan("")
			if diff := cmp.Diff(tt.do, did(p)); diff != "" || len(p.Uncovered) > 0 {
				t.Errorf("%s, not covered %v", diff, p.Uncovered)
			}
			b.fork(p)
			b.wants("restored", tt.left)
		})
	}
	// An unrecorded change is not covered, and another call's record is none.
	b := work(t, begin, []call{edit("a", "1", "2")})
	b.cut(1, "killed")
	path := filepath.Join(settle.Store{Dir: b.data}.OutputDir("killed"), "files", "intents.jsonl")
	for _, content := range []string{
		"", `{"call":"i000001","arguments":"0","files":{"files":[{"path":"a","kind":"create"}]}}`,
		`{"call":"i0000`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if p := b.plan(""); len(p.Files) > 0 || len(p.Uncovered) != 1 || !strings.Contains(
			strings.Join(p.Lines(), "\n"), "was not recorded",
		) {
			t.Errorf("%q: %v, %v", content, did(p), p.Uncovered)
		}
	}
}

// A failed edit changes nothing: the file still has the content of the edit before it.
func TestFailedEditIsNoChange(t *testing.T) {
	mode := func(mode fs.FileMode) func(*bench) {
		return func(b *bench) {
			if err := os.Chmod(b.path("a"), mode); err != nil {
				b.Error(err)
			}
		}
	}
	for _, tt := range []struct {
		begin         map[string]string
		first, failed call
		want          string
	}{
		{map[string]string{"a": "1\n"}, edit("a", "1", "2"), edit("a", "2", "3"), "restore a"},
		{nil, write("a", "2\n"), write("a", "3\n"), "remove a"},
	} {
		b := work(t, tt.begin)
		b.canFail = true
		b.turns([]call{tt.first, meanwhile(tt.failed, mode(0o444))})
		mode(0o644)(b)
		b.wants("left", map[string]string{"a": "2\n"})
		if diff := cmp.Diff([]string{tt.want}, did(b.plan("1"))); diff != "" {
			t.Errorf("after a failed %s: %s", tt.failed.tool, diff)
		}
	}
}

func TestInputs(t *testing.T) {
	b := work(t, nil, []call{write("a", "1\n")}, []call{write("a", "2\n")})
	for _, input := range []string{"", "2", "n000002", "t000002"} {
		if p := b.plan(input); p.Turn != "t000002" || p.Input != "turn 2" ||
			!slices.Equal(did(p), []string{"restore a"}) {
			t.Errorf("%q: %s, %v", input, p.Turn, did(p))
		}
	}
	var unknown *InputError
	if _, err := Read(t.Context(), b.data, b.session, "3"); !errors.As(err, &unknown) || len(unknown.Inputs) != 2 {
		t.Errorf("%v", err)
	}
	if _, err := Read(t.Context(), b.data, "none", ""); err == nil {
		t.Error("a session that is not there was read")
	}
}

// Uncovered commands and children are listed, once, and cannot act on a terminal.
func TestUncovered(t *testing.T) {
	all := []Uncovered{
		{Kind: Command, Text: "make"},
		{Kind: Command, Text: "make"},
		{Kind: Command, Text: "printf '\x1b[2J'"},
		{Kind: Child, Text: "look"},
		{Kind: Call, Text: "write {}"},
	}
	for range 20 {
		all = append(all, Uncovered{Kind: Command, Text: strings.Repeat("x", len(all))})
	}
	lines := (&Plan{Uncovered: all}).Lines()
	text := strings.Join(lines, "\n")
	if strings.Contains(text, "\x1b") || strings.Count(text, "$ make") != 1 || !strings.Contains(
		text, "child agent: look",
	) || !strings.Contains(lines[len(lines)-1], "more") {
		t.Errorf("%s", text)
	}
}

// A session in which a turn runs is left alone.
func TestRunning(t *testing.T) {
	b := work(t, nil, []call{write("a", "1\n")})
	log, _, err := journal.Open(t.Context(), journal.Options{Dir: b.data, Session: b.session})
	if err != nil {
		t.Fatal(err)
	}
	err = log.Update(func(event.State) []event.Event {
		return []event.Event{
			{By: "host", Data: event.SessionOpened{Settle: "x", Dir: b.dir}},
			{By: "user", Data: event.InputAccepted{Input: "n9", Text: "go"}},
			{Turn: "t000002", Data: event.TurnStarted{Inputs: []string{"n9"}}},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var running *RunningError
	if _, err := Read(t.Context(), b.data, b.session, "1"); !errors.As(err, &running) {
		t.Errorf("%v", err)
	}
	if err := log.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.fork(b.plan("1")) // its host died: nothing runs
	b.wants("restored", map[string]string{})
}
