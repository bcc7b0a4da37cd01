package workspace

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/fleettest"
	"github.com/settle-agent/settle/internal/executor"
)

// with has the scripts of a keeper find another program first, and has them run in a
// home.
func with(t testing.TB, k *Keeper, program, text, home string) {
	t.Helper()
	bin := t.TempDir()
	write(t, filepath.Join(bin, program), "#!/bin/sh\n"+text+"\n", 0o755)
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + t.TempDir()}
	k.Machine = func(context.Context, fleet.Task, string) (executor.Executor, func(), error) {
		return &executor.Local{Env: env}, func() {}, nil
	}
}

// TestNestedFilter: a checkpoint runs nothing that a nested repository has configured,
// and still has which commit that is at.
func TestNestedFilter(t *testing.T) {
	_, k, a, at := prepared(t)
	trap := filepath.Join(t.TempDir(), "trap")
	names := []string{"nested", "*"}
	for _, name := range names {
		nested := filepath.Join(at.Dir, name)
		write(t, filepath.Join(nested, ".gitattributes"), "* filter=evil\n", 0o644)
		write(t, filepath.Join(nested, "file"), "1", 0o644)
		git(t, nested, "init", "-q")
		git(t, nested, "add", ".")
		git(t, nested, "commit", "-qm", "nested")
		git(t, at.Dir, "add", ":(literal)"+name)
	}
	git(t, at.Dir, "commit", "-qm", "nested")
	for _, name := range names {
		nested := filepath.Join(at.Dir, name)
		git(t, nested, "config", "filter.evil.clean", "touch "+trap+"; cat")
		write(t, filepath.Join(nested, "file"), "2", 0o644)
	}
	write(t, filepath.Join(at.Dir, "new"), "", 0o644)
	if c, err := k.Checkpoint(t.Context(), a, at, "t1"); err != nil || c.Commit == c.Head || c.Missing != "" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("what the nested repository has configured was run")
	}
	nested := filepath.Join(at.Dir, "nested")
	git(t, nested, "-c", "filter.evil.clean=", "commit", "-q", "--allow-empty", "-m", "on")
	if err := os.RemoveAll(filepath.Join(at.Dir, "*")); err != nil {
		t.Fatal(err)
	}
	c, err := k.Checkpoint(t.Context(), a, at, "t2")
	if err != nil || !strings.Contains(c.Missing, "nested") {
		t.Fatalf("%+v, %v", c, err)
	}
	bundle := filepath.Join(t.TempDir(), "bundle")
	file, err := os.Create(bundle)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := k.Store.Get(t.Context(), a.TaskID, file); err != nil {
		t.Fatal(err)
	}
	git(t, at.Dir, "fetch", "-q", "--no-recurse-submodules", bundle, "refs/settle/checkpoint")
	if tree := git(t, at.Dir, "ls-tree", "FETCH_HEAD"); !strings.Contains(
		tree, "160000 commit "+git(t, nested, "rev-parse", "HEAD")+"\tnested",
	) ||
		strings.Contains(tree, "*") {
		t.Errorf("%s", tree)
	}
}

// TestCannotEmpty: a repository that cannot be removed is not used, since the agent has
// configured it.
func TestCannotEmpty(t *testing.T) {
	p, k, a, at := prepared(t)
	trap := filepath.Join(t.TempDir(), "trap")
	git(t, at.Dir, "config", "filter.evil.smudge", "touch "+trap+"; cat")
	git(t, at.Dir, "config", "uploadpack.packObjectsHook", "touch "+trap)
	write(t, filepath.Join(at.Dir, ".git", "info", "attributes"), "* filter=evil\n", 0o644)
	if _, err := p.Pool.Exec(t.Context(), `UPDATE settle_fleet.workspace SET instance = 'another'`); err != nil {
		t.Fatal(err)
	}
	with(t, k, "rm", "exit 1", "/nonexistent")
	if _, err := k.Prepare(t.Context(), a); err == nil || !strings.Contains(err.Error(), "cannot empty") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("what the agent has configured was run")
	}
	with(t, k, "unused", "", "/nonexistent")
	write(t, filepath.Join(at.Dir, "cache", "file"), "", 0o400)
	if err := os.Chmod(filepath.Join(at.Dir, "cache"), 0o500); err != nil { // as a module cache has it
		t.Fatal(err)
	}
	second, err := k.Prepare(t.Context(), a)
	if err != nil || second.Note == "" || len(files(t, second.Dir)) != 4 {
		t.Errorf("%+v, %v", second, err)
	}
}

// TestTwoMake: a worker that was followed while it made the workspace leaves that alone.
func TestTwoMake(t *testing.T) {
	p, from := fleettest.New(t, &server), origin(t)
	k := keeper(t, p)
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	// The other one is at work when this one has fetched.
	with(t, k, "git", real+` "$@" || exit
case " $* " in *" fetch "*) printf 's\nunfinished other\n' > .git/settle-workspace; echo other > one ;; esac`, "/nonexistent")
	a := attempt(t, p, fleet.Task{Session: "s", Repo: from})
	if at, err := k.Prepare(t.Context(), a); err == nil ||
		!strings.Contains(err.Error(), "another worker makes the workspace") {
		t.Errorf("%+v, %v", at, err)
	}
	if data, err := os.ReadFile(filepath.Join(k.folder("s"), treeFolder, "one")); string(data) != "other\n" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestSSHCommand: the fetch uses the way to the server that the user has configured.
func TestSSHCommand(t *testing.T) {
	p, home := fleettest.New(t, &server), t.TempDir()
	k := keeper(t, p)
	mark := filepath.Join(home, "mark")
	write(
		t, filepath.Join(home, ".gitconfig"),
		"[core]\nsshCommand = \"touch "+mark+"; echo Permission denied >&2; false\"\n", 0o644,
	)
	with(t, k, "unused", "", home)
	a := attempt(t, p, fleet.Task{Session: "s", Repo: "ssh://host.invalid/r", Ref: "main"})
	if _, err := k.Prepare(t.Context(), a); err == nil || !strings.Contains(err.Error(), "Permission denied") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(mark); err != nil {
		t.Error(err)
	}
}
