package agents

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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
		if session, ok := strings.CutPrefix(e.Name(), lockPrefix); ok && k.hasNoLog(ctx, session) {
			k.leaveRecorded(ctx, session, git)
		}
	}
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && k.hasNoLog(ctx, e.Name()) {
			k.leaveWithoutLog(ctx, e.Name(), git)
		}
	}
}

// record writes the worktree into its lock file, for [Worktrees.leaveRecorded].
func (t *SessionTree) record() error { return disk.RewriteJSON(t.lock, t.Worktree) }

// maxRecord bounds a recorded worktree, in bytes.
const maxRecord = 64 << 10

// leaveRecorded leaves a worktree that no process uses and that is recorded: settle was killed while it
// made it, or before the session had a log. The worktree can be absent or incomplete.
func (k Worktrees) leaveRecorded(ctx context.Context, session, git string) {
	path, err := k.folder(session)
	if err != nil {
		return
	}
	t := &SessionTree{trees: k, owner: session}
	lock, err := tryLock(disk.TryLock).open(t.lockPath())
	if err != nil || lock == nil {
		return // a process is opening the session
	}
	raw, err := io.ReadAll(io.LimitReader(lock, maxRecord))
	w := &t.Worktree
	if err != nil || json.Unmarshal(raw, w) != nil || w.Path != path || w.Git != git || !k.hasNoLog(ctx, session) ||
		!strings.HasPrefix(w.Branch, branchPrefix) {
		_ = lock.Close() // nothing was written
		return
	}
	defer t.unlock(lock)
	if k.Held(session, *w) && (t.isUnborn(ctx) || t.isPartial(ctx)) {
		_, _ = k.remove(ctx, session, *w) // a later settle removes the rest
		return
	}
	_ = disk.RemoveEmptyDir(path) // git makes it first
	k.Leave(ctx, session, *w)
}

// isUnborn reports whether git has not yet given the worktree a HEAD and files.
func (t *SessionTree) isUnborn(ctx context.Context) bool {
	entries, err := os.ReadDir(t.Worktree.Path)
	if err != nil || len(entries) != 1 || entries[0].Name() != ".git" {
		return false
	}
	path := t.Worktree.Path
	_, err = t.trees.line(ctx, path, path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	return err != nil && ctx.Err() == nil
}

// isPartial reports whether files are missing in the worktree, and nothing else differs from its
// branch.
func (t *SessionTree) isPartial(ctx context.Context) bool {
	isComplete, err := t.compare(ctx)
	return err == nil && !isComplete
}

// hasNoLog reports whether no process has the session open and its log has no record.
func (k Worktrees) hasNoLog(ctx context.Context, session string) bool {
	dataDir := filepath.Dir(k.Dir)
	if free, err := journal.Free(dataDir, session); err != nil || !free {
		return errors.Is(err, fs.ErrNotExist)
	}
	for _, err := range journal.Read(ctx, dataDir, session, 0) {
		return errors.Is(err, fs.ErrNotExist) // of another error, nothing is known
	}
	return true
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
	if !k.hasNoLog(ctx, session) {
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
