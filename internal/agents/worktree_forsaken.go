package agents

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/repo"
)

// leaveForsaken leaves the worktrees in a repository of sessions without a log: settle was killed
// before it could open the session, or the session was deleted. No other settle would leave them.
func (k Worktrees) leaveForsaken(ctx context.Context, git string) {
	entries, _ := os.ReadDir(k.Dir)
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && k.hasNoLog(e.Name()) {
			k.leaveWithoutLog(ctx, e.Name(), git)
		}
	}
}

func (k Worktrees) hasNoLog(session string) bool {
	_, err := journal.Free(filepath.Dir(k.Dir), session)
	return errors.Is(err, fs.ErrNotExist)
}

// leaveWithoutLog leaves a worktree that no process uses, if git names the session for which it was
// made.
func (k Worktrees) leaveWithoutLog(ctx context.Context, session, git string) {
	path := filepath.Join(k.Dir, session)
	w := event.Worktree{Path: path, Dir: path, Git: git, From: filepath.Dir(git)}
	g, err := repo.FindGit(path)
	if err != nil || g.Common != git || g.Check(harmlessKeys...) != nil || !k.Held(session, w) {
		return
	}
	t := &SessionTree{Worktree: w, trees: k, owner: session}
	lock, err := tryLock(disk.TryLock).open(t.lockPath())
	if err != nil || lock == nil {
		return // a process is opening the session
	}
	defer t.unlock(lock)
	if !k.hasNoLog(session) {
		return
	}
	branch, err := k.line(ctx, path, path, "symbolic-ref", "HEAD")
	if err != nil {
		branch = "" // its HEAD is detached, so it has changed
	}
	commits, err := k.git(ctx, path, path, "rev-list", "--walk-reflogs", "HEAD")
	list := strings.Fields(commits)
	if w.Branch = strings.TrimPrefix(branch, "refs/heads/"); err != nil || len(list) == 0 ||
		!strings.HasPrefix(w.Branch, branchPrefix) {
		k.keep(ctx, w, "")
		return
	}
	w.Base = list[len(list)-1] // a guess: git can have removed older entries of the reflog
	refs, err := k.git(ctx, path, path, "for-each-ref", "--format=%(refname)", "--contains", w.Base)
	if err != nil || !slices.ContainsFunc(strings.Fields(refs), func(ref string) bool { return ref != branch }) {
		k.keep(ctx, w, "") // its branch has the only copy of the commit
		return
	}
	k.Leave(ctx, session, w)
}
