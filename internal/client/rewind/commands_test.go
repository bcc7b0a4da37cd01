//go:build linux && machine

package rewind

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
	"github.com/settle-agent/settle/internal/journal"
)

func bash(command string) call {
	return call{tool: "shell", args: map[string]string{"command": command}}
}

// tree describes all of the directory but git's own files: kinds, modes, targets and contents.
func (b *bench) tree() map[string]string {
	b.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			text += " " + target
		case info.Mode().IsRegular():
			content, _ := os.ReadFile(path)
			text += " " + string(content)
		}
		name, _ := filepath.Rel(b.dir, path)
		if name != "." {
			out[name] = text
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return out
}

const project = `git init -q; mkdir -p src/deep src/empty; echo one >a; echo two >src/b; echo three >src/deep/c
ln -s a link; ln -s src dir; chmod 600 src/b; chmod 755 a; git add -A; git commit -qm one; git checkout -qb other
echo changed >a; echo new >new; git rm -q src/deep/c; git add -A; git commit -qm two; git checkout -q master`

// Each command is undone by one rewind, and that rewind by its snapshot.
func TestCommandsAreUndone(t *testing.T) {
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "init.defaultBranch")
	t.Setenv("GIT_CONFIG_VALUE_0", "master")
	for _, script := range []string{
		"rm -rf src",
		"rm -rf *",
		"mv src there; mv a src2",
		"sed -i s/one/1/ a; echo more >>src/b",
		"git checkout -q other",
		"chmod 700 src; chmod 644 a; chmod 500 src/deep",
		"rm link; ln -s src/b link; ln -sfn src/deep dir",
		"rm a; mkdir a; echo x >a/x; rm -r src; echo file >src",
		"rm link; echo file >link; rm src/b; ln -s ../a src/b",
		"mkdir -p x/y/z; echo n >x/y/z/n; mkdir empty; rmdir src/empty",
		"printf 1111 >same; echo ONE >a; touch -r src a; touch -d @1000 link src/b",
		"echo once >a; mv a b; mv b a; echo twice >a",
		`echo x >$'new\nline'; echo y >-rf; echo z >'*'; mkdir '$(id)'; echo w >'$(id)/ü'`,
		"cp -a src copy; rm -rf src; mv copy src; echo end >src/b",
		"echo .git-like >.gitx; mkdir .github; echo ci >.github/ci",
		"chmod 000 src/deep/c",
	} {
		t.Run(script, func(t *testing.T) {
			b := work(t, nil)
			b.run(project)
			before := b.tree()
			b.turns([]call{bash(script)})
			after := b.tree()
			p := b.plan("")
			if len(p.kept()) > 0 || len(p.Uncovered) > 0 {
				t.Errorf("not undone: %v, %v", p.kept(), p.Uncovered)
			}
			r := b.fork(p)
			if diff := cmp.Diff(before, b.tree()); diff != "" {
				t.Errorf("after the rewind (-want +got):\n%s", diff)
			}
			b.undo(r.Snapshot)
			if diff := cmp.Diff(after, b.tree()); diff != "" {
				t.Errorf("after its undoing (-want +got):\n%s", diff)
			}
		})
	}
}

// Edits and commands in turn are one history of a file.
func TestEditsAndCommandsTogether(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n", "b": "1\n"},
		[]call{edit("a", "1", "2"), bash("echo 3 >a"), edit("a", "3", "4"), write("c", "c\n"), bash("rm c; mv b d")})
	p := b.plan("")
	if diff := cmp.Diff([]string{"recreate b", "remove d", "restore a", "same c"}, did(p)); diff != "" {
		t.Error(diff)
	}
	if text := strings.Join(p.Lines(), "\n"); strings.Contains(text, "another program") {
		t.Errorf("settle's own changes are another program's:\n%s", text)
	}
	b.fork(p)
	b.wants("restored", map[string]string{"a": "1\n", "b": "1\n"})
}

// Later changes by others are kept: contents, modes, kinds, and files in folders that a command
// made.
func TestCommandsKeepChangesOfOthers(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n", "d": "1\n", "e": "1\n"},
		[]call{bash("echo 2 >a; echo 2 >b; rm c; echo 2 >d; mkdir made; echo n >made/n; echo 2 >e")})
	b.put("a", "mine\n")
	b.put("c", "mine\n")
	b.put("made/mine", "mine\n")
	b.run("chmod 600 b; rm d; ln -s a d")
	p := b.plan("")
	want := []string{"keep a", "keep b", "keep c", "keep d", "keep made", "remove made/n", "restore e"}
	if diff := cmp.Diff(want, did(p)); diff != "" {
		t.Error(diff)
	}
	if text := strings.Join(p.Lines(), "\n"); !strings.Contains(text, "made/  (mine is in it)") {
		t.Errorf("it says:\n%s", text)
	}
	b.fork(p)
	b.wants("kept", map[string]string{
		"a": "mine\n", "b": "2\n", "c": "mine\n", "d": "mine\n", "made/mine": "mine\n", "e": "1\n",
	})
}

// A file that became a directory, and a directory that became a file, stay where others' changes
// leave no room for what was there.
func TestRewindKeepsPathsWithoutRoom(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n", "b": "1\n", "c/d/e": "1\n", "f/g": "1\n", "h": "1\n"},
		[]call{bash("rm a b; mkdir -p a/sub b/sub; echo n >a/sub/n; echo n >b/sub/n; rm -r c f; mv h f")})
	b.put("a/sub/mine", "mine\n")
	b.put("c", "mine\n")
	b.put("f", "mine\n")
	p := b.plan("")
	if diff := cmp.Diff([]string{
		"keep a", "keep a/sub", "keep c", "keep c/d", "keep c/d/e", "keep f", "keep f/g", "recreate h",
		"remove a/sub/n", "remove b/sub", "remove b/sub/n", "restore b",
	}, did(p)); diff != "" {
		t.Error(diff)
	}
	text := strings.Join(p.Lines(), "\n")
	for _, want := range []string{"a/  (sub is in it)", "sub/  (mine is in it)", "c/d/  (c is a file now)"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in:\n%s", want, text)
		}
	}
	b.fork(p)
	b.wants("kept", map[string]string{
		"a/sub/mine": "mine\n", "b": "1\n", "c": "mine\n", "f": "mine\n", "h": "1\n",
	})
}

// Unrecorded changes are listed with their reason.
func TestCommandsThatCannotBeUndone(t *testing.T) {
	b := work(t, map[string]string{"big": strings.Repeat("x", 2000), ".gitignore": "build\n", "build/out": "1\n"})
	b.limits = changes.Limits{Bytes: 8000}
	b.turns([]call{
		bash("echo y >>big; head -c 1500 /dev/zero >zeros; echo 2 >build/out; mkdir node_modules; >node_modules/x"),
	})
	p := b.plan("")
	if diff := cmp.Diff([]string{"keep big", "keep zeros"}, did(p)); diff != "" {
		t.Error(diff)
	}
	text := strings.Join(p.Lines(), "\n")
	for _, want := range []string{
		"  by $ echo y >>big; ", "big  (it is larger than 1000 bytes)", "Not recorded: what commands changed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in:\n%s", want, text)
		}
	}
	b = work(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	b.limits = changes.Limits{Files: 2}
	b.turns([]call{bash("rm a")}, []call{bash("rm b")})
	p = b.plan("1")
	want := []Uncovered{
		{Command, "rm a", "the directory has more than 2 files"},
		{Command, "rm b", "the directory has more than 2 files, so settle does not record what commands change there"},
	}
	if diff := cmp.Diff(want, p.Uncovered); diff != "" || len(p.Files) > 0 {
		t.Errorf("%v: %s", did(p), diff)
	}
}

// A log that was changed, or a record of another directory, cannot name a place outside, in .git,
// or through a link.
func TestRecordsStayInside(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n"}, []call{bash("echo 2 >a")})
	outside := t.TempDir()
	b.run("mkdir -p .git; ln -s " + outside + " out")
	if err := os.WriteFile(filepath.Join(outside, "x"), []byte("2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	was := &changes.Version{SHA256: disk.Sum([]byte("1\n")), Mode: "0644"}
	left := &changes.Version{SHA256: disk.Sum([]byte("2\n")), Mode: "0600"}
	for _, name := range []string{
		"../" + filepath.Base(outside) + "/x", filepath.Join(outside, "x"), "out/x", ".git/config", "sub/.GIT/hooks/x",
		"", ".", "a/../../x", "a//x",
	} {
		for _, left := range []*changes.Version{nil, left} {
			p := b.plan("")
			p.Files = []File{{Was: was, Left: left, isInTree: true}}
			p.Files[0].Dir, p.Files[0].Path = b.dir, name
			root, err := openRoot(b.dir)
			if err != nil {
				t.Fatal(err)
			}
			err = p.Files[0].restore(t.Context(), root, left, was, []byte("1\n"))
			root.Close()
			if err == nil {
				t.Errorf("%q was restored", name)
			}
		}
	}
	if text, err := os.ReadFile(filepath.Join(outside, "x")); string(text) != "2\n" {
		t.Errorf("outside: %q, %v", text, err)
	}
}

// A host was killed while a command ran: files that had changed by then are restored, and later
// changes stay. It makes no difference whether the session was opened since.
func TestCommandOfKilledHost(t *testing.T) {
	for _, isOpened := range []bool{false, true} {
		t.Run(fmt.Sprintf("opened %t", isOpened), func(t *testing.T) {
			one := bash("echo 2 >a; rm b; echo n >new; rm -r sub; echo 2 >c")
			b := work(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n", "sub/d": "1\n"}, []call{one})
			after := b.tree()
			args, err := json.Marshal(one.args)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []string{"a", "b", "c", "sub/d"} { // as before the command
				b.put(f, "1\n")
			}
			b.run("rm new")
			b.cut(1, "killed")
			output := settle.Store{Dir: b.data}.OutputDir(b.session)
			if err := os.RemoveAll(filepath.Join(output, "files")); err != nil {
				t.Fatal(err)
			}
			r, _ := b.recorder(output, changes.Limits{})
			running := r.Begin(t.Context(), b.lastCall(), args)
			b.run(one.args["command"])
			base, saved := filepath.Join(output, "files", "base"), filepath.Join(t.TempDir(), "base")
			b.run("cp -a " + base + " " + saved)
			later := time.Now().Add(time.Minute) // the host lived on after the changes
			if err := os.Chtimes(filepath.Join(saved, "tree-1"), later, later); err != nil {
				t.Fatal(err)
			}
			r.End(t.Context(), running)
			if err := r.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.run("rm -r " + filepath.Dir(base) + "; mkdir " + filepath.Dir(base) + "; cp -a " + saved + " " + base)
			if isOpened {
				r, _ := b.recorder(output, changes.Limits{})
				if err := r.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := os.Stat(base); err == nil {
					t.Error("the base is still there")
				}
			}
			p := b.plan("")
			want := []string{
				"recreate b", "recreate sub", "recreate sub/d", "remove new", "restore a", "restore c",
			}
			if diff := cmp.Diff(want, did(p)); diff != "" || len(p.Uncovered) > 0 {
				t.Fatalf("%s, not covered %v", diff, p.Uncovered)
			}
			left := b.fork(p)
			b.wants("restored", map[string]string{"a": "1\n", "b": "1\n", "c": "1\n", "sub/d": "1\n"})
			b.undo(left.Snapshot)
			if diff := cmp.Diff(after, b.tree()); diff != "" {
				t.Errorf("undone (-want +got):\n%s", diff)
			}
			if isOpened {
				return
			}
			// The host died long before the changes: another program made them.
			past := time.Now().Add(-time.Minute)
			if err := os.Chtimes(filepath.Join(base, "tree-1"), past, past); err != nil {
				t.Fatal(err)
			}
			want = []string{"keep a", "keep c", "keep new", "recreate b", "recreate sub", "recreate sub/d"}
			if diff := cmp.Diff(want, did(b.plan(""))); diff != "" {
				t.Errorf("changes of somebody else (-want +got):\n%s", diff)
			}
		})
	}
}

// lastCall is the id of the session's last call.
func (b *bench) lastCall() (id string) {
	b.Helper()
	s, err := journal.Load(b.data, b.session)
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range s.Turns {
		for _, i := range t.Items {
			if i.Type() == event.ToolCall {
				id = i.ID
			}
		}
	}
	return id
}

// Calls that ran at the same time are both named.
func TestCommandsAtTheSameTime(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n", "b": "1\n"})
	b.together = true
	b.turns([]call{
		bash("sleep 0.2; echo 2 >a; sleep 0.2; echo 3 >b"), bash("sleep 0.3; echo 2 >b; sleep 0.4; echo 3 >a"),
	})
	p := b.plan("")
	if diff := cmp.Diff([]string{"restore a", "restore b"}, did(p)); diff != "" {
		t.Fatal(diff)
	}
	for _, f := range p.Files {
		if len(f.By) != 2 || f.Between || !strings.Contains(strings.Join(f.By, " "), "sleep 0.4") {
			t.Errorf("%s: by %q, between %t", f.Path, f.By, f.Between)
		}
	}
	b.fork(p)
	b.wants("restored", map[string]string{"a": "1\n", "b": "1\n"})
}

// A command of an earlier host in another directory is listed, and its paths are not applied to
// the directory of the last host: the files there can be equal by chance.
func TestCommandsOfOtherDirectory(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n", "b": "1\n"}, []call{bash("echo 2 >a; rm b; echo n >new"), bash("cat a")})
	ran := b.dir
	b.dir = t.TempDir()
	b.put("a", "2\n")
	b.put("new", "n\n")
	before := b.tree()
	b.turns([]call{bash("echo 3 >c")})
	p := b.plan("1")
	want := []Uncovered{{Command, "echo 2 >a; rm b; echo n >new", "it ran in another directory, " + ran}}
	if diff := cmp.Diff(want, p.Uncovered); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"remove c"}, did(p)); diff != "" {
		t.Error(diff)
	}
	b.fork(p)
	if diff := cmp.Diff(before, b.tree()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// The same directory by the path of a link is the same directory.
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(ran, link); err != nil {
		t.Fatal(err)
	}
	b.dir = link
	b.turns([]call{bash("true")})
	if diff := cmp.Diff([]string{"recreate b", "remove new", "restore a"}, did(b.plan("1"))); diff != "" {
		t.Error(diff)
	}
}

// An interrupt can come after a command has returned: its record is then not part of its result. A call of an
// MCP server without a record is listed.
func TestCommandsInterruptedAfterTheirEndAreUndone(t *testing.T) {
	b := work(t, map[string]string{"a": "1\n"})
	b.interrupted = true
	b.turns([]call{bash("echo 2 >a; echo n >new")}, []call{{tool: "server__do", args: map[string]string{}}})
	p := b.plan("1")
	if diff := cmp.Diff([]string{"remove new", "restore a"}, did(p)); diff != "" {
		t.Error(diff)
	}
	want := []Uncovered{{Call, "server__do {}", "its changes were not recorded"}}
	if diff := cmp.Diff(want, p.Uncovered); diff != "" {
		t.Error(diff)
	}
}

// A command that ran at the same time, or later, does not hide that an earlier call created a
// directory.
func TestDirectoriesOfNewFilesAndCommands(t *testing.T) {
	b := work(t, nil, []call{write("a/b/new", "n\n"), bash("rm -r a")})
	if diff := cmp.Diff([]string{"same a", "same a/b", "same a/b/new"}, did(b.plan(""))); diff != "" {
		t.Error(diff)
	}
	b = work(t, nil, []call{write("a/b/new", "n\n"), bash("rm a/b/new; touch a/b/more")})
	b.fork(b.plan(""))
	if diff := cmp.Diff(map[string]string{}, b.tree()); diff != "" {
		t.Error(diff)
	}
}
