//go:build machine

package agents

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
)

// begin makes the worktree of a session that a person starts.
func (y *yard) begin(session, name string) *SessionTree {
	y.Helper()
	tree, err := y.Begin(y.Context(), filepath.Join(y.top, "sub"), session, name)
	if err != nil {
		y.Fatal(err)
	}
	return tree
}

// reopen opens the worktree of a session that continues.
func (y *yard) reopen(w event.Worktree) *SessionTree {
	y.Helper()
	tree, err := y.Reopen(y.Context(), w)
	if err != nil {
		y.Fatal(err)
	}
	return tree
}

func (y *yard) branches() string {
	y.Helper()
	return strings.Join(strings.Fields(y.run(y.top, "branch", "--format=%(refname:short)")), " ")
}

func TestSessionTreeWithoutChangesIsRemovedAndMadeAgain(t *testing.T) {
	y := newYard(t)
	tree := y.begin("s1", "")
	if w := tree.Worktree; w.Branch != "settle/s1" || w.From != filepath.Join(y.top, "sub") {
		t.Errorf("%+v", w)
	}
	if left := tree.Leave(t.Context()); left.Kept {
		t.Errorf("%+v", left)
	}
	if isThere(y.Dir) || y.branches() != "main" {
		t.Errorf("something is left: branches %s", y.branches())
	}
	write(t, filepath.Join(y.top, "c.txt"), "three\n")
	y.commit(y.top, "second")
	again := y.reopen(tree.Worktree)
	if !isThere(filepath.Join(again.Worktree.Path, "c.txt")) || again.Note == "" ||
		again.Worktree.Base == tree.Worktree.Base {
		t.Errorf("it is not made again from the last commit: %q, %+v", again.Note, again.Worktree)
	}
	if left := again.Leave(t.Context()); left.Kept {
		t.Errorf("%+v", left)
	}
	y.quiet()
}

func TestSessionTreeWithChangesIsKeptAndOpenedAgain(t *testing.T) {
	y := newYard(t)
	tree := y.begin("s1", "feat")
	write(t, filepath.Join(tree.Worktree.Dir, "new"), "x")
	if kept, abandoned := Remains(filepath.Dir(y.Dir)); len(kept) != 0 || len(abandoned) != 1 {
		t.Errorf("without a host: %q, %q", kept, abandoned)
	}
	if left := tree.Leave(t.Context()); !left.Kept || left.Why != "1 file changed" {
		t.Errorf("%+v", left)
	}
	if kept, abandoned := Remains(filepath.Dir(y.Dir)); len(kept) != 1 || len(abandoned) != 0 {
		t.Errorf("after its end: %q, %q", kept, abandoned)
	}
	if _, err := y.Begin(t.Context(), y.top, "s2", "feat"); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("the branch is taken: %v", err)
	}
	again := y.reopen(tree.Worktree)
	if !isThere(filepath.Join(again.Worktree.Dir, "new")) || !y.Held("s1", again.Worktree) {
		t.Error("it is not the same worktree, held again")
	}
	if err := os.Remove(filepath.Join(again.Worktree.Dir, "new")); err != nil {
		t.Fatal(err)
	}
	if left := again.Leave(t.Context()); left.Kept {
		t.Errorf("%+v", left)
	}
	y.quiet()
}

// A person removes the directory by hand: the branch has the work, and the worktree is made
// again from it.
func TestSessionTreeIsMadeAgainFromItsBranch(t *testing.T) {
	y := newYard(t)
	tree := y.begin("s1", "")
	write(t, filepath.Join(tree.Worktree.Path, "d.txt"), "four\n")
	y.commit(tree.Worktree.Path, "work")
	if left := tree.Leave(t.Context()); left.Why != "commits on its branch: 1" {
		t.Errorf("%+v", left)
	}
	if err := os.RemoveAll(tree.Worktree.Path); err != nil {
		t.Fatal(err)
	}
	again := y.reopen(tree.Worktree)
	if !isThere(filepath.Join(again.Worktree.Path, "d.txt")) {
		t.Error("the work is not there")
	}
	if left := again.Leave(t.Context()); !left.Kept {
		t.Errorf("%+v", left)
	}
}

func TestSessionTreeOfTwoSessionsIsLeftByTheLast(t *testing.T) {
	y := newYard(t)
	first := y.begin("s1", "")
	second := y.reopen(first.Worktree) // a copy of the session
	if left := first.Leave(t.Context()); !left.Kept || !strings.Contains(left.Why, "another session") {
		t.Errorf("%+v", left)
	}
	if left := second.Leave(t.Context()); left.Kept || isThere(first.Worktree.Path) {
		t.Errorf("%+v", left)
	}
	if left := second.Leave(t.Context()); left.Kept {
		t.Errorf("the second call: %+v", left)
	}
}

func TestSessionTreeRefusesWhatIsNotItsOwn(t *testing.T) {
	y := newYard(t)
	for _, name := range []string{"a b", "-x..y", "x.lock"} {
		if _, err := y.Begin(t.Context(), y.top, "s1", name); err == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
	w := y.begin("s1", "").Worktree
	if err := os.Remove(filepath.Join(w.Path, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := y.Reopen(t.Context(), w); err == nil {
		t.Error("a directory that is no worktree is opened")
	}
	w.Path = y.top
	if _, err := y.Reopen(t.Context(), w); err == nil || !strings.Contains(err.Error(), "data directory") {
		t.Errorf("a worktree elsewhere: %v", err)
	}
}

// Work that "git status" does not show keeps a person's worktree.
func TestSessionTreeWithHiddenWorkIsKept(t *testing.T) {
	for name, tt := range map[string]struct {
		work func(*yard, event.Worktree)
		why  string
	}{
		"ignored": {func(y *yard, w event.Worktree) {
			write(y.T, filepath.Join(w.Path, "sub", "x.o"), "1")
		}, "1 path that git ignores"},
		"assumed unchanged": {func(y *yard, w event.Worktree) {
			y.run(w.Path, "update-index", "--assume-unchanged", "a.txt")
			write(y.T, filepath.Join(w.Path, "a.txt"), "1\n")
		}, "1 file in which git looks for no changes"},
		"skipped": {func(y *yard, w event.Worktree) {
			y.run(w.Path, "update-index", "--skip-worktree", "a.txt")
			write(y.T, filepath.Join(w.Path, "a.txt"), "1\n")
		}, "1 file in which git looks for no changes"},
		"reset": {func(y *yard, w event.Worktree) {
			y.run(w.Path, "commit", "-q", "--allow-empty", "-m", "x")
			y.run(w.Path, "reset", "-q", "--hard", w.Base)
		}, "only its reflog"},
	} {
		y := newYard(t)
		tree := y.begin("s1", "")
		tt.work(y, tree.Worktree)
		if left := tree.Leave(t.Context()); !left.Kept || left.Why == "" || !strings.Contains(left.Why, tt.why) ||
			!isThere(tree.Worktree.Path) {
			t.Errorf("%s: %+v", name, left)
		}
	}
}

// Two sessions want the same branch: the refused session does not delete it.
func TestBeginKeepsBranchOfAnotherSession(t *testing.T) {
	y := newYard(t)
	y.run(y.top, "branch", "settle/feat")
	if _, err := y.Begin(t.Context(), y.top, "s2", "feat"); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("the branch is taken: %v", err)
	}
	if got := y.branches(); got != "main settle/feat" || isThere(filepath.Join(y.Dir, ".lock-s2")) {
		t.Errorf("branches %q, or a lock is left", got)
	}
}

// A checkout that was cut is made again; the rest of a removal is deleted.
func TestSessionTreeIsNotOpenedIncomplete(t *testing.T) {
	y := newYard(t)
	first := y.begin("s1", "")
	write(t, filepath.Join(y.Dir, ".making-s1"), "incomplete\n")
	write(t, filepath.Join(y.Dir, ".removing-s3", "a.txt"), "one\n")
	if err := os.Remove(filepath.Join(first.Worktree.Path, "a.txt")); err != nil {
		t.Fatal(err)
	}
	again := y.reopen(first.Worktree)
	if !isThere(filepath.Join(again.Worktree.Path, "a.txt")) || again.Note == "" {
		t.Errorf("it is incomplete still: %q", again.Note)
	}
	for _, name := range []string{".making-s1", ".removing-s3"} {
		if isThere(filepath.Join(y.Dir, name)) {
			t.Errorf("%s is left", name)
		}
	}
}

// The mark of a checkout that was cut can stay, while its user completes the checkout or works in
// the worktree: settle deletes none of that.
func TestSessionTreeIsNotClearedWithWork(t *testing.T) {
	y := newYard(t)
	w := y.begin("s1", "").Worktree
	mark := func() { write(t, filepath.Join(y.Dir, ".making-s1"), "incomplete\n") }
	mark()
	if again := y.reopen(w); again.Note != "" || isThere(filepath.Join(y.Dir, ".making-s1")) {
		t.Errorf("complete: %q", again.Note)
	}
	for name, work := range map[string]func(){
		"a new file": func() { write(t, filepath.Join(w.Path, "new"), "x") },
		"an ignored file": func() {
			write(t, filepath.Join(w.Path, "x.o"), "built")
		},
		"a changed file": func() { write(t, filepath.Join(w.Path, "a.txt"), "changed\n") },
		"a commit":       func() { y.run(w.Path, "checkout", "--quiet", "--detach") },
	} {
		mark()
		work()
		if _, err := y.Reopen(t.Context(), w); err == nil || !strings.Contains(err.Error(), "move it away") {
			t.Errorf("%s: %v", name, err)
		}
		y.run(w.Path, "checkout", "--quiet", "--force", w.Branch)
		y.run(w.Path, "clean", "--quiet", "-fdx")
	}
	// As git leaves it if it is killed: without an index.
	own := strings.TrimSpace(y.run(w.Path, "rev-parse", "--absolute-git-dir"))
	for _, path := range []string{filepath.Join(own, "index"), filepath.Join(w.Path, "a.txt")} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	mark()
	if again := y.reopen(w); again.Note == "" || !isThere(filepath.Join(w.Path, "a.txt")) {
		t.Errorf("cut: %q", again.Note)
	}
	if left, err := filepath.Glob(filepath.Join(y.Dir, ".index-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
}

// A time limit that ends when the directory is gone does not leave the rest to git.
func TestRemovedWorktreeIsForgotten(t *testing.T) {
	y := newYard(t)
	w := y.begin("s1", "").Worktree
	ended, end := context.WithCancel(t.Context())
	end()
	if isRemoved, err := y.remove(ended, "s1", w); !isRemoved || err != nil {
		t.Errorf("removed: %t, %v", isRemoved, err)
	}
	if isThere(w.Path) || y.branches() != "main" || strings.Contains(y.run(y.top, "worktree", "list"), "s1") {
		t.Errorf("something is left: branches %s", y.branches())
	}
}

// Settle was killed before it opened the session: the next one leaves the worktree.
func TestBeginLeavesWorktreesWithoutSession(t *testing.T) {
	y := newYard(t)
	unchanged, changed, used := y.begin("s1", "named"), y.begin("s2", ""), y.begin("s3", "")
	write(t, filepath.Join(changed.Worktree.Path, "new"), "x")
	for _, tree := range []*SessionTree{unchanged, changed} { // the kernel does so at a kill
		if err := tree.lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
	y.begin("s4", "")
	if isThere(unchanged.Worktree.Path) || !isThere(changed.Worktree.Path) || y.Held("s2", changed.Worktree) ||
		!y.Held("s3", used.Worktree) || y.branches() != "main settle/s2 settle/s3 settle/s4" {
		t.Errorf("branches: %s", y.branches())
	}
}

// A worktree in which a released job may work is kept, whatever is in it.
func TestSessionTreeKeep(t *testing.T) {
	y := newYard(t)
	tree := y.begin("s1", "")
	if left := tree.Keep(t.Context(), "a job"); !left.Kept || left.Why != "a job" || y.Held("s1", tree.Worktree) ||
		!isThere(tree.Worktree.Path) {
		t.Errorf("%+v", left)
	}
}
