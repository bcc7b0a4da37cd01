//go:build machine

package agents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// yard is a repository with two commits, and with a hook and a filter of the user that must
// not run.
type yard struct {
	*testing.T
	Worktrees
	top, ran string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{
		t,
		Worktrees{Dir: filepath.Join(root, "data", "worktrees")},
		filepath.Join(root, "project"),
		filepath.Join(root, "ran"),
	}
	y.Env = []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + root,
		"LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_COUNT=1",
		"GIT_CONFIG_KEY_0=core.hooksPath",
		"GIT_CONFIG_VALUE_0=/dev/null",
	}
	write(
		t, filepath.Join(root, ".gitconfig"),
		"[filter \"evil\"]\n\tsmudge = touch "+y.ran+"; cat\n\tclean = touch "+y.ran+"; cat\n",
	)
	write(t, filepath.Join(y.top, ".gitattributes"), "*.txt filter=evil\n")
	write(t, filepath.Join(y.top, ".gitignore"), "*.o\n")
	write(t, filepath.Join(y.top, "a.txt"), "one\n")
	write(t, filepath.Join(y.top, "sub", "b.txt"), "two\n")
	y.run(y.top, "init", "-q", "-b", "main")
	y.commit(y.top, "first")
	write(t, filepath.Join(y.top, ".git", "hooks", "post-checkout"), "#!/bin/sh\ntouch "+y.ran+"\n")
	if err := os.Chmod(filepath.Join(y.top, ".git", "hooks", "post-checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	return y
}

func (y *yard) run(dir string, args ...string) string {
	y.Helper()
	argv := append([]string{"git", "-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)
	out, err := proc.Run(y.Context(), proc.Command{Argv: argv, Dir: dir, Env: y.Env})
	if err != nil || !out.OK() {
		y.Fatalf("git %v: %v, %s", args, err, out.Stderr)
	}
	return string(out.Stdout)
}

func (y *yard) commit(dir, message string) {
	y.Helper()
	y.run(dir, "add", "-A")
	y.run(dir, "commit", "-q", "-m", message)
}

func (y *yard) make(session string) event.Worktree {
	y.Helper()
	w, err := y.Plan(y.Context(), filepath.Join(y.top, "sub"), session)
	if err == nil {
		err = y.Make(y.Context(), session, w)
	}
	if err != nil {
		y.Fatal(err)
	}
	return w
}

// quiet checks that the user's repository is unchanged.
func (y *yard) quiet() {
	y.Helper()
	if _, err := os.Lstat(y.ran); err == nil {
		y.Error("a hook or a filter ran")
	}
	if got := y.run(y.top, "status", "--porcelain"); got != "" {
		y.Errorf("the repository has changed:\n%s", got)
	}
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A worktree without changes is removed with its branch. Ignored files do not count.
func TestLeaveRemovesUnchangedWorktree(t *testing.T) {
	y := newYard(t)
	w := y.make("s1")
	if content, err := os.ReadFile(filepath.Join(w.Dir, "b.txt")); err != nil || string(content) != "two\n" ||
		filepath.Base(w.Dir) != "sub" {
		t.Fatalf("%s: %q, %v", w.Dir, content, err)
	}
	write(t, filepath.Join(w.Path, "x.o"), "built")
	if !y.Held("s1", w) || y.Held("s2", w) {
		t.Error("it is not held by its session alone")
	}
	if left := y.Leave(t.Context(), "s1", w); left.Kept || left.Why != "" {
		t.Errorf("%+v", left)
	}
	if isThere(w.Path) || isThere(y.Dir) || strings.Contains(y.run(y.top, "branch", "--all"), "settle/") ||
		strings.Contains(y.run(y.top, "worktree", "list"), "s1") {
		t.Error("something is left of it")
	}
	y.quiet()
}

// A worktree with changes is kept, unlocked, and belongs to the user.
func TestLeaveKeepsChangedWorktree(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*yard, event.Worktree)
		why    string
	}{
		"edited":    {func(y *yard, w event.Worktree) { write(y.T, filepath.Join(w.Path, "a.txt"), "1\n") }, "1 file changed"},
		"untracked": {func(y *yard, w event.Worktree) { write(y.T, filepath.Join(w.Path, "new/file"), "1\n") }, "1 file changed"},
		"deleted":   {func(y *yard, w event.Worktree) { _ = os.Remove(filepath.Join(w.Path, "a.txt")) }, "1 file changed"},
		"committed": {func(y *yard, w event.Worktree) {
			write(y.T, filepath.Join(w.Path, "a.txt"), "1\n")
			y.commit(w.Path, "second")
		}, "commits on its branch: 1"},
		"moved away": {func(y *yard, w event.Worktree) {
			y.run(w.Path, "checkout", "-q", "--detach")
			y.run(w.Path, "commit", "-q", "--allow-empty", "-m", "x")
		}, "its HEAD is at"},
		"no index": {func(y *yard, w event.Worktree) {
			_ = os.Remove(filepath.Join(w.Git, "worktrees", "s1", "index"))
		}, "files changed"},
		"configured": {func(y *yard, w event.Worktree) { y.run(w.Path, "config", "filter.evil.clean", "touch "+y.ran) }, "a program may run by it"},
		"replaced": {func(y *yard, w event.Worktree) {
			_ = os.Remove(filepath.Join(w.Path, ".git"))
			y.run(w.Path, "init", "-q")
			write(y.T, filepath.Join(w.Path, "a.txt"), "mine\n")
		}, "it is not the worktree that settle made"},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			w := y.make("s1")
			tt.change(y, w)
			left := y.Leave(t.Context(), "s1", w)
			if !left.Kept || !strings.Contains(left.Why, tt.why) || !isThere(w.Path) {
				t.Errorf("%+v", left)
			}
			if y.Held("s1", w) {
				t.Error("it is still held")
			}
			if again := y.Leave(t.Context(), "s1", w); !again.Kept || !isThere(w.Path) {
				t.Errorf("left again: %+v", again)
			}
			if name == "configured" { // the test's own git would run it
				y.run(y.top, "config", "--unset", "filter.evil.clean")
			}
			y.quiet()
		})
	}
}

// C23: settle changes only its own worktrees, whatever the log says.
func TestLeaveNeverEntersSubmodules(t *testing.T) {
	for _, planted := range []bool{false, true} {
		y := newYard(t)
		head := strings.TrimSpace(y.run(y.top, "rev-parse", "HEAD"))
		y.run(y.top, "update-index", "--add", "--cacheinfo", "160000,"+head+",sm")
		y.run(y.top, "commit", "-q", "-m", "a submodule")
		w := y.make("s1")
		sm := filepath.Join(w.Path, "sm")
		if planted {
			write(t, filepath.Join(sm, "file.txt"), "one\n")
			write(t, filepath.Join(sm, ".gitattributes"), "* filter=planted\n")
			y.run(sm, "init", "-q")
			y.commit(sm, "planted")
			y.run(sm, "config", "filter.planted.clean", "touch "+y.ran+"; cat")
			write(t, filepath.Join(sm, "file.txt"), "two\n")
		}
		left := y.Leave(t.Context(), "s1", w)
		if left.Kept != planted || planted && !strings.Contains(left.Why, "1 submodule has files") ||
			isThere(sm) != planted {
			t.Errorf("planted %v: %+v", planted, left)
		}
		if isThere(y.ran) {
			t.Errorf("planted %v: git ran the filter", planted)
		}
	}
}

// C23: settle changes only its own worktrees, regardless of the log.
func TestLeaveKeepsForeignWorktrees(t *testing.T) {
	y := newYard(t)
	w := y.make("s1")
	theirs := filepath.Join(filepath.Dir(y.top), "theirs")
	y.run(y.top, "worktree", "add", "-q", "--lock", "-b", "mine", theirs)
	for name, other := range map[string]event.Worktree{
		"a user's":    {Path: theirs, Dir: theirs, Git: w.Git, Branch: "mine", Base: w.Base},
		"the project": {Path: y.top, Dir: y.top, Git: w.Git, Branch: "main", Base: w.Base},
		"another's":   {Path: w.Path, Dir: w.Path, Git: w.Git, Branch: "main", Base: w.Base},
	} {
		if left := y.Leave(t.Context(), "s2", other); !left.Kept {
			t.Errorf("%s: %+v", name, left)
		}
	}
	for _, path := range []string{theirs, y.top, w.Path} {
		if !isThere(path) {
			t.Errorf("%s is gone", path)
		}
	}
	if got := y.run(y.top, "branch", "--format=%(refname:short)"); got != "main\nmine\nsettle/s1\n" {
		t.Errorf("branches: %q", got)
	}
	y.quiet()
}

// A worktree that was removed by a person or never made leaves nothing behind.
func TestLeaveOfMissingWorktree(t *testing.T) {
	y := newYard(t)
	w := y.make("s1")
	if err := os.RemoveAll(w.Path); err != nil {
		t.Fatal(err)
	}
	if left := y.Leave(t.Context(), "s1", w); left.Kept || left.Why != "" {
		t.Errorf("%+v", left)
	}
	never, err := y.Plan(t.Context(), y.top, "s2")
	if err != nil {
		t.Fatal(err)
	}
	y.run(y.top, "branch", never.Branch) // git was ended after that
	if left := y.Leave(t.Context(), "s2", never); left.Kept {
		t.Errorf("%+v", left)
	}
	if got := y.run(y.top, "branch", "--format=%(refname:short)"); got != "main\n" ||
		isThere(filepath.Join(w.Git, "worktrees", "s1")) {
		t.Errorf("something is left: %q", got)
	}
	y.quiet()
}

// A worktree in a worktree belongs to the same repository.
func TestPlanInWorktree(t *testing.T) {
	y := newYard(t)
	w := y.make("s1")
	write(t, filepath.Join(w.Path, "a.txt"), "1\n")
	y.commit(w.Path, "second")
	below, err := y.Plan(t.Context(), w.Dir, "s2")
	if err == nil {
		err = y.Make(t.Context(), "s2", below)
	}
	if err != nil || below.Git != w.Git || below.Base == w.Base {
		t.Fatalf("%+v, %v", below, err)
	}
	if left := y.Leave(t.Context(), "s2", below); left.Kept {
		t.Errorf("%+v", left)
	}
}

// A repository whose configuration makes git run a program gets no worktree.
func TestPlanRefusesConfiguredRepository(t *testing.T) {
	y := newYard(t)
	empty := filepath.Join(filepath.Dir(y.top), "empty")
	write(t, filepath.Join(empty, "x"), "")
	y.run(empty, "init", "-q")
	if _, err := y.Plan(t.Context(), empty, "s1"); err == nil || !strings.Contains(err.Error(), "has no commit yet") {
		t.Errorf("without a commit: %v", err)
	}
	for key, value := range map[string]string{
		"rerere.enabled": "true", "core.fscache": "true", "core.preloadindex": "true", "core.commitGraph": "true",
		"core.multiPackIndex": "true", "core.trustctime": "false", "core.sparseCheckout": "false",
		"feature.manyFiles": "true", "submodule.recurse": "true", "remote.pushDefault": "origin", "gpg.format": "ssh",
		"format.pretty": "oneline", "i18n.commitEncoding": "utf-8", "blame.ignoreRevsFile": ".ignored",
		"gui.wmstate": "normal", "tag.sort": "refname", "url.ssh://git@example.com/.insteadOf": "https://example.com/",
	} {
		y.run(y.top, "config", key, value)
	}
	if _, err := y.Plan(t.Context(), y.top, "s1"); err != nil {
		t.Errorf("with usual keys: %v", err)
	}
	y.run(y.top, "config", "filter.evil.smudge", "touch "+y.ran)
	if _, err := y.Plan(t.Context(), y.top, "s1"); err == nil ||
		!strings.Contains(err.Error(), "a program may run by it") {
		t.Errorf("with a filter: %v", err)
	}
	y.quiet()
}

// A folder of the parent that is a link in the commit would lead the agent, and the
// sandbox around it, out of its worktree.
func TestWorktreeRefusesFolderBehindLink(t *testing.T) {
	y := newYard(t)
	outside := filepath.Join(filepath.Dir(y.top), "outside")
	write(t, filepath.Join(outside, "kept"), "theirs\n")
	if err := os.Symlink(outside, filepath.Join(y.top, "link")); err != nil {
		t.Fatal(err)
	}
	y.commit(y.top, "a link")
	if err := os.Remove(filepath.Join(y.top, "link")); err != nil {
		t.Fatal(err)
	}
	for n, below := range []string{"link", "link/deeper"} {
		session := string(rune('a' + n))
		write(t, filepath.Join(y.top, below, "x"), "")
		w, err := y.Plan(t.Context(), filepath.Join(y.top, below), session)
		if err == nil {
			err = y.Make(t.Context(), session, w)
		}
		if err == nil || !strings.Contains(err.Error(), "link") {
			t.Errorf("%s: an agent would work in %s: %v", below, w.Dir, err)
		}
		if entries, _ := os.ReadDir(outside); len(entries) != 1 {
			t.Errorf("%s: outside has %v", below, entries)
		}
		if left := y.Leave(t.Context(), session, w); left.Kept {
			t.Errorf("%s: %+v", below, left)
		}
	}
}

// The oldest entry of the reflog can be a commit of the session, if git has removed the first entries: the branch
// then has its only copy.
func TestForsakenWorktreeKeepsItsCommits(t *testing.T) {
	y := newYard(t)
	for _, session := range []string{"empty", "worked"} {
		w, err := y.Plan(t.Context(), y.top, session)
		if err != nil {
			t.Fatal(err)
		}
		w.From = y.top
		if err := y.Make(t.Context(), session, w); err != nil {
			t.Fatal(err)
		}
		if session == "worked" {
			write(t, filepath.Join(w.Path, "new"), "new\n")
			y.commit(w.Path, "work")
			y.run(w.Path, "reflog", "delete", "HEAD@{1}")
		}
	}
	y.leaveForsaken(t.Context(), filepath.Join(y.top, ".git"))
	branches := y.run(y.top, "branch", "--list", "--format=%(refname:short)", branchPrefix+"*")
	if branches != branchPrefix+"worked\n" {
		t.Errorf("the branches %q are left", branches)
	}
}

// A worktree whose making was cut by a kill, before the session had a log, is removed with its branch
// by the next one in the repository. What a person did with either since stays.
func TestCutWorktreeIsRemoved(t *testing.T) {
	for name, tt := range map[string]struct {
		cut  func(y *yard, w event.Worktree)
		kept bool
	}{
		"with its branch alone": {
			cut: func(y *yard, w event.Worktree) {
				y.run(y.top, "worktree", "unlock", w.Path)
				y.run(y.top, "worktree", "remove", "--force", w.Path)
			},
		},
		"with an empty folder": {
			cut: func(y *yard, w event.Worktree) {
				y.run(y.top, "worktree", "unlock", w.Path)
				y.run(y.top, "worktree", "remove", "--force", w.Path)
				if err := os.Mkdir(w.Path, 0o755); err != nil {
					t.Fatal(err)
				}
			},
		},
		"without a HEAD": {
			cut: func(y *yard, w event.Worktree) {
				write(t, filepath.Join(w.Git, "worktrees", filepath.Base(w.Path), "HEAD"), strings.Repeat("0", 40)+"\n")
				for _, e := range readDir(t, w.Path) {
					if e.Name() != ".git" {
						_ = os.RemoveAll(filepath.Join(w.Path, e.Name()))
					}
				}
			},
		},
		"with some files": {
			cut: func(_ *yard, w event.Worktree) {
				if err := os.Remove(filepath.Join(w.Path, "a.txt")); err != nil {
					t.Fatal(err)
				}
			},
		},
		"complete": {cut: func(*yard, event.Worktree) {}},
		"with work": {
			cut:  func(_ *yard, w event.Worktree) { write(t, filepath.Join(w.Path, "mine"), "mine\n") },
			kept: true,
		},
		"with its branch in use": {
			cut: func(y *yard, w event.Worktree) {
				y.run(y.top, "worktree", "unlock", w.Path)
				y.run(y.top, "worktree", "remove", "--force", w.Path)
				y.run(y.top, "switch", "-q", w.Branch)
			},
			kept: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			first, err := y.Begin(t.Context(), y.top, "first", "name")
			if err != nil {
				t.Fatal(err)
			}
			_ = first.lock.Close() // the process is gone
			tt.cut(y, first.Worktree)
			next, err := y.Begin(t.Context(), y.top, "next", "name")
			if kept := err != nil; kept != tt.kept {
				t.Fatalf("kept: %t, %v", kept, err)
			}
			if err != nil {
				y.run(y.top, "rev-parse", "--verify", "refs/heads/"+first.Worktree.Branch)
				return
			}
			if left := next.Leave(t.Context()); left.Kept {
				t.Errorf("%+v", left)
			}
			list := y.run(y.top, "worktree", "list", "--porcelain") + y.run(y.top, "branch", "--list", "settle/*")
			if strings.Contains(list, "settle/") || strings.Contains(list, "first") {
				t.Errorf("left:\n%s", list)
			}
			if _, err := os.Lstat(y.Dir); err == nil {
				t.Errorf("%s has %v", y.Dir, readDir(t, y.Dir))
			}
		})
	}
}

func readDir(t *testing.T, path string) []os.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}
