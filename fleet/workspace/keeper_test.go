package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/internal/executor"
)

// git runs git as a user would, and returns what it puts out.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(
		"git",
		append(
			[]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"},
			args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// origin makes a repository with two commits, the branches main and side, and a tag.
func origin(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	write(t, filepath.Join(dir, "one"), "1\n", 0o644)
	write(t, filepath.Join(dir, ".gitignore"), "*.o\n", 0o644)
	write(t, filepath.Join(dir, ".gitattributes"), "* text=auto\n*.f filter=evil\n", 0o644)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "one")
	git(t, dir, "tag", "-a", "-m", "v1", "v1")
	git(t, dir, "branch", "side/line")
	write(t, filepath.Join(dir, "two"), "2\n", 0o644)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "two")
	return dir
}

// remoteExecutor is an executor of another machine, which begins in a directory.
type remoteExecutor struct {
	*executor.Local
	dir string
}

func (e remoteExecutor) Machine() executor.Machine {
	m := e.Local.Machine()
	m.Dir = e.dir
	return m
}

// keeper makes one of a worker with a directory of its own.
func keeper(t testing.TB, p *fleettest.Place) *Keeper {
	t.Helper()
	return &Keeper{
		Store: Store{Pool: p.Pool}, Dir: filepath.Join(t.TempDir(), "workspaces"),
		Machine: func(context.Context, fleet.Task, string) (executor.Executor, func(), error) {
			return &executor.Local{
				Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=" + t.TempDir()},
			}, func() {}, nil
		},
	}
}

// attempt submits the task and takes it.
func attempt(t testing.TB, p *fleettest.Place, task fleet.Task) fleet.Attempt {
	t.Helper()
	task.Prompt = "work"
	p.Submit(t, task)
	return p.Claim(t, "w")
}

// prepared is the workspace of a session, made from the origin.
func prepared(t testing.TB) (*fleettest.Place, *Keeper, fleet.Attempt, fleet.Place) {
	t.Helper()
	p, from := fleettest.New(t, &server), origin(t)
	k := keeper(t, p)
	a := attempt(t, p, fleet.Task{Session: "s", Repo: from})
	at, err := k.Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return p, k, a, at
}

// TestClone: the workspace is at the ref, on its branch where it has one.
func TestClone(t *testing.T) {
	p, from := fleettest.New(t, &server), origin(t)
	k := keeper(t, p)
	one, two := git(t, from, "rev-parse", "HEAD~"), git(t, from, "rev-parse", "HEAD")
	for n, c := range []struct {
		ref, head, branch string
		depth, commits    int
	}{
		{head: two, branch: "main", commits: 2},
		{ref: "main", head: two, branch: "main", depth: 1, commits: 1},
		{ref: "side/line", head: one, branch: "side/line", commits: 1},
		{ref: "refs/heads/side/line", head: one, branch: "side/line", commits: 1},
		{ref: "v1", head: one, commits: 1},
		{ref: one, head: one, commits: 1},
	} {
		a := attempt(t, p, fleet.Task{Session: fmt.Sprint("s", n), Repo: "file://" + from, Ref: c.ref, Depth: c.depth})
		at, err := k.Prepare(t.Context(), a)
		if err != nil {
			t.Errorf("%q: %v", c.ref, err)
			continue
		}
		head, branch := git(t, at.Dir, "rev-parse", "HEAD"), git(t, at.Dir, "branch", "--show-current")
		if head != c.head || at.Base != c.head || branch != c.branch || at.Note != "" {
			t.Errorf("%q: %+v at %s on %q", c.ref, at, head, branch)
		}
		if got := git(t, at.Dir, "rev-list", "--count", "HEAD"); got != fmt.Sprint(c.commits) {
			t.Errorf("%q: %s commits", c.ref, got)
		}
		if status := git(t, at.Dir, "status", "--porcelain"); status != "" {
			t.Errorf("%q: %s", c.ref, status)
		}
		if second, err := k.Prepare(t.Context(), a); err != nil || second != at {
			t.Errorf("a second time: %+v, %v", second, err)
		}
	}
}

// TestCannotClone: it is said why.
func TestCannotClone(t *testing.T) {
	p, from := fleettest.New(t, &server), origin(t)
	write(t, filepath.Join(from, "large"), strings.Repeat("x", 200<<10), 0o644)
	git(t, from, "add", ".")
	git(t, from, "commit", "-qm", "large")
	occupied := t.TempDir()
	write(t, filepath.Join(occupied, "precious"), "", 0o644)
	bare := t.TempDir() // a machine without git
	for _, name := range []string{"sh", "tr", "head", "sed"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bare, name)); err != nil {
			t.Fatal(err)
		}
	}
	local := func(path string) executor.Local { return executor.Local{Env: []string{"PATH=" + path}} }
	withGit, without := local(os.Getenv("PATH")), local(bare)
	for n, c := range []struct {
		task     fleet.Task
		executor executor.Executor
		says     string
	}{
		{task: fleet.Task{Repo: from, Ref: "nope"}, says: "cannot fetch nope of " + from + ": couldn't find remote ref nope"},
		{task: fleet.Task{Repo: "/nowhere"}, says: "'/nowhere' does not appear to be a git repository"},
		{task: fleet.Task{Repo: "ext::sh -c true"}, says: "transport 'ext' not allowed"},
		{task: fleet.Task{Repo: from}, says: "the files of " + from + " have 200 KiB, more than 100"},
		{task: fleet.Task{Repo: from, Ref: "v1"}, executor: remoteExecutor{&withGit, occupied}, says: "is not empty, and what is there is not the session's"},
		{task: fleet.Task{Repo: from}, executor: &without, says: "there is no git on the machine"},
	} {
		k := keeper(t, p)
		if k.KiB = 100; c.executor != nil {
			k.Machine = func(context.Context, fleet.Task, string) (executor.Executor, func(), error) {
				return c.executor, func() {}, nil
			}
		}
		c.task.Session = fmt.Sprint("s", n)
		_, err := k.Prepare(t.Context(), attempt(t, p, c.task))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.task, err)
		}
	}
	if _, err := os.Stat(filepath.Join(occupied, "precious")); err != nil {
		t.Error(err)
	}
}

// files returns what is in a directory but for .git and what is ignored.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Name() == ".git":
			return filepath.SkipDir
		case e.IsDir() || strings.HasSuffix(path, ".o"):
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text, err := os.Readlink(path)
		if err != nil {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = fmt.Sprintf("%v %s", info.Mode()&0o100 != 0, data)
		}
		rel, _ := filepath.Rel(dir, path)
		all[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// change does to a workspace what agents do, and sets traps for whoever runs git in it.
func change(t testing.TB, dir, trap string) {
	t.Helper()
	git(t, dir, "checkout", "-q", "-b", "work/here")
	write(t, filepath.Join(dir, "three"), "3\n", 0o644)
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "three")
	git(t, dir, "branch", "other")
	write(t, filepath.Join(dir, "one"), "changed\r\nand mixed\n", 0o644)
	write(t, filepath.Join(dir, "crlf.txt"), "a\r\nb\r\n", 0o644)
	write(t, filepath.Join(dir, "x.f"), "filtered?\n", 0o644)
	write(t, filepath.Join(dir, "deep", "run it"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(dir, "result.o"), "ignored\n", 0o644)
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "rm", "-q", "two")
	write(t, filepath.Join(dir, ".git", "hooks", "post-index-change"), "#!/bin/sh\ntouch "+trap+"\n", 0o755)
	write(t, filepath.Join(dir, ".git", "hooks", "reference-transaction"), "#!/bin/sh\ntouch "+trap+"\n", 0o755)
	run := "touch " + trap + "; cat"
	for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "core.sshCommand", "core.pager", "diff.external", "uploadpack.packObjectsHook"} {
		git(t, dir, "-c", "core.fsmonitor=false", "config", key, run)
	}
}

// TestLost: a workspace that is lost with its machine is made anew from its last
// checkpoint, to the byte; what came after is said to be lost. Nothing that the agent
// has configured is run.
func TestLost(t *testing.T) {
	for _, depth := range []int{0, 1} {
		t.Run(fmt.Sprint("depth=", depth), func(t *testing.T) { testLost(t, depth) })
	}
}

func testLost(t *testing.T, depth int) {
	p, from := fleettest.New(t, &server), origin(t)
	first, second := keeper(t, p), keeper(t, p)
	a := attempt(t, p, fleet.Task{Session: "s", Repo: "file://" + from, Depth: depth})
	at, err := first.Prepare(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	trap := filepath.Join(t.TempDir(), "trap")
	change(t, at.Dir, trap)
	want, head := files(t, at.Dir), git(t, at.Dir, "-c", "core.fsmonitor=false", "rev-parse", "HEAD")
	if err := os.RemoveAll(trap); err != nil { // git was run as a user would
		t.Fatal(err)
	}
	c, err := first.Checkpoint(t.Context(), a, at, "t1")
	if err != nil {
		t.Fatal(err)
	}
	if c.Head != head || c.Branch != "work/here" || c.Base != at.Base || c.Commit == head || c.Bytes == 0 ||
		c.Missing != "" {
		t.Errorf("%+v", c)
	}
	write(t, filepath.Join(at.Dir, "later"), "lost\n", 0o644)

	git(t, from, "commit", "-q", "--allow-empty", "-m", "the branch moves on")
	b := p.Claim(t, "second")
	made, err := second.Prepare(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(made.Note, "after turn t1") || !strings.Contains(made.Note, "after that is lost") ||
		made.Base != at.Base {
		t.Errorf("%+v", made)
	}
	if diff := cmp.Diff(want, files(t, made.Dir)); diff != "" {
		t.Error(diff)
	}
	if now := git(t, made.Dir, "rev-parse", "HEAD"); now != head ||
		git(t, made.Dir, "branch", "--show-current") != "work/here" ||
		git(t, made.Dir, "rev-parse", "other") != head {
		t.Errorf("HEAD is %s", now)
	}
	status := git(t, made.Dir, "status", "--porcelain", "-uall")
	if want := "M .gitattributes"; strings.Contains(status, want) || !strings.Contains(status, "?? \"deep/run it\"") ||
		!strings.Contains(status, "D two") {
		t.Errorf("%s", status)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("what the agent configured was run")
	}
	git(t, made.Dir, "fsck", "--strict")

	// The first worker wakes: what it stores is refused, and what it has is stale.
	if _, err := first.Checkpoint(t.Context(), a, at, "t1"); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("a checkpoint with an old epoch: %v", err)
	}
	back := b
	if second, err := first.Prepare(t.Context(), back); err != nil || second.Note == "" ||
		files(t, second.Dir)["later"] != "" {
		t.Errorf("%+v, %v", second, err)
	}
	var chunks int
	if err := p.Pool.QueryRow(t.Context(), `SELECT count(DISTINCT bundle) FROM settle_fleet.chunk`).Scan(&chunks); err != nil ||
		chunks != 1 {
		t.Errorf("%d bundles are stored, %v", chunks, err)
	}
	fetch(t, second.Store, a.TaskID, from, c)
}

// fetch applies a checkpoint to a user's clone.
func fetch(t testing.TB, s Store, taskID, from string, c fleet.Checkpoint) {
	t.Helper()
	var bundle bytes.Buffer
	got, err := s.Get(t.Context(), taskID, &bundle)
	if err != nil || got.Commit != c.Commit {
		t.Fatalf("%+v, %v", got, err)
	}
	clone, file := t.TempDir(), filepath.Join(t.TempDir(), "bundle")
	write(t, file, bundle.String(), 0o600)
	git(t, clone, "clone", "-q", from, ".")
	git(t, clone, "fetch", "-q", file, "refs/settle/checkpoint")
	if names := git(t, clone, "diff", "--name-only", c.Base, "FETCH_HEAD"); !strings.Contains(names, "crlf.txt") ||
		strings.Contains(names, "result.o") {
		t.Errorf("%s", names)
	}
}

// TestNothingChanged: such a checkpoint is small, and one is made anew from it.
func TestNothingChanged(t *testing.T) {
	p, k, a, at := prepared(t)
	if c, err := k.Checkpoint(t.Context(), a, at, "t1"); err != nil || c.Bytes != 0 || c.Commit != at.Base {
		t.Errorf("%+v, %v", c, err)
	}
	k = keeper(t, p)
	if at, err := k.Prepare(t.Context(), a); err != nil || git(t, at.Dir, "branch", "--show-current") != "main" {
		t.Errorf("%+v, %v", at, err)
	}
}

// TestIncomplete: a checkpoint that cannot have all says so, and one that is too large
// is none.
func TestIncomplete(t *testing.T) {
	_, k, a, at := prepared(t)
	nested := filepath.Join(at.Dir, "nested")
	write(t, filepath.Join(nested, "file"), "1", 0o644)
	git(t, nested, "init", "-q")
	git(t, nested, "add", ".")
	git(t, nested, "commit", "-qm", "nested")
	if c, err := k.Checkpoint(t.Context(), a, at, "t1"); err != nil || !strings.Contains(c.Missing, "nested") {
		t.Errorf("%+v, %v", c, err)
	}
	random := make([]byte, 300<<10)
	for n := range random {
		random[n] = byte(n * n >> 3 * (n ^ 0x5a) >> 5)
	}
	write(t, filepath.Join(at.Dir, "large"), string(random), 0o644)
	k.CheckpointKiB = 10
	if c, err := k.Checkpoint(t.Context(), a, at, "t2"); err == nil ||
		!strings.Contains(err.Error(), "at most 10 KiB") {
		t.Errorf("it is stored, whatever its size: %+v, %v", c, err)
	}
	if err := os.RemoveAll(filepath.Join(at.Dir, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Checkpoint(t.Context(), a, at, "t2"); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("%v", err)
	}
}

// TestSweep: a workspace goes when its session is deleted, and no other does.
func TestSweep(t *testing.T) {
	p, from := fleettest.New(t, &server), origin(t)
	k := keeper(t, p)
	for _, session := range []string{"..a", "kept"} {
		at, err := k.Prepare(t.Context(), attempt(t, p, fleet.Task{Session: session, Repo: from}))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at.Dir, 0o500); err != nil { // as a module cache has it
			t.Fatal(err)
		}
	}
	for _, table := range []string{"unit WHERE session", "session WHERE id"} {
		if _, err := p.Pool.Exec(t.Context(), "DELETE FROM settle_fleet."+table+" = '..a'"); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(k.Dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "s-kept" {
		t.Errorf("%v, %v", entries, err)
	}
}
