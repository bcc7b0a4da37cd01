//go:build machine

package agents

import (
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

// again opens the worktree of a session that continues.
func (y *yard) again(w event.Worktree) *SessionTree {
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
	again := y.again(tree.Worktree)
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
	again := y.again(tree.Worktree)
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
	again := y.again(tree.Worktree)
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
	second := y.again(first.Worktree) // a copy of the session
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
	w.Path = y.top
	if _, err := y.Reopen(t.Context(), w); err == nil || !strings.Contains(err.Error(), "data directory") {
		t.Errorf("a worktree elsewhere: %v", err)
	}
}
