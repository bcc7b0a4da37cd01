package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/repo"
)

// SessionTree is the git worktree of a session that a person started, in use by an open
// session. The copies of a session share its worktree; the last one that leaves the worktree
// decides about it.
type SessionTree struct {
	// Worktree is for the log.
	Worktree event.Worktree
	// Note says that the worktree was made again; empty otherwise.
	Note string

	trees Worktrees
	owner string // the session for which the worktree was made
	lock  *os.File
	once  sync.Once
	left  event.WorktreeLeft
}

// Begin makes a worktree for a new session that a person starts in dir. The branch is
// settle/NAME, or settle/SESSION without a name.
func (k Worktrees) Begin(ctx context.Context, dir, session, name string) (*SessionTree, error) {
	w, err := k.plan(ctx, dir, session)
	if err != nil {
		return nil, fmt.Errorf("cannot make a git worktree: %w", err)
	}
	w.From = dir
	if name != "" {
		w.Branch = branchPrefix + name
	}
	if _, err := k.git(ctx, w.Git, filepath.Dir(w.Git), "check-ref-format", "refs/heads/"+w.Branch); err != nil {
		return nil, fmt.Errorf("cannot name a branch %q: git takes no such name", w.Branch)
	}
	if k.hasBranch(ctx, w) {
		return nil, fmt.Errorf(
			"cannot make the git worktree %q: the branch %s exists; give another name, or continue the session "+
				"that made the branch (\"settle sessions --here\" lists sessions)", name, w.Branch,
		)
	}
	t := &SessionTree{Worktree: w, trees: k, owner: session}
	if err := t.take(ctx); err != nil {
		return nil, err
	}
	if err := k.Make(ctx, session, w); err != nil {
		t.Leave(context.WithoutCancel(ctx))
		return nil, err
	}
	return t, nil
}

// Reopen opens the worktree of a session that continues. A worktree that is gone is made
// again: on its branch if there is one, else from the last commit.
func (k Worktrees) Reopen(ctx context.Context, w event.Worktree) (*SessionTree, error) {
	fail := func(err error) (*SessionTree, error) {
		return nil, fmt.Errorf(
			"cannot open the session's git worktree %q: %w; --cwd DIR continues the session in another directory",
			w.Path, err,
		)
	}
	owner := filepath.Base(w.Path)
	if path, err := k.folder(owner); err != nil || path != w.Path {
		return fail(errors.New("it is not in the data directory"))
	}
	t := &SessionTree{Worktree: w, trees: k, owner: owner}
	if err := t.take(ctx); err != nil {
		return fail(err)
	}
	err := t.relock(ctx)
	if err == nil {
		err = makeFolder(t.Worktree)
	}
	if err != nil {
		_ = t.lock.Close() // nothing was written
		return fail(err)
	}
	return t, nil
}

// relock locks an existing worktree in git, or makes it again.
func (t *SessionTree) relock(ctx context.Context) error {
	w, k := &t.Worktree, t.trees
	if _, err := os.Lstat(w.Path); errors.Is(err, os.ErrNotExist) {
		return t.remake(ctx)
	}
	g, err := repo.FindGit(w.Path)
	switch {
	case err != nil:
		return err
	case g.Top != w.Path || g.Common != w.Git:
		return errors.New("it is not the worktree that settle made")
	}
	if err := g.Check(); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(g.Own, "locked")); err == nil {
		return nil // by an earlier host that died, by a copy of the session, or by the user
	}
	_, err = k.git(
		ctx, w.Git, filepath.Dir(w.Git), "worktree", "lock", "--reason", lockReason(t.owner, *w), w.Path,
	)
	return err
}

// remake makes a worktree again whose directory is gone.
func (t *SessionTree) remake(ctx context.Context) error {
	w, k := &t.Worktree, t.trees
	planned, err := k.plan(ctx, w.From, t.owner)
	if err != nil {
		return err
	}
	if planned.Git != w.Git {
		return fmt.Errorf("%q is in another repository now", w.From)
	}
	if err := k.unregister(ctx, t.owner, *w); err != nil {
		return err
	}
	if !k.hasBranch(ctx, *w) {
		w.Dir, w.Base = planned.Dir, planned.Base
		t.Note = fmt.Sprintf("it was gone, and is made again from commit %.12s", w.Base)
		return k.add(ctx, t.owner, *w, "-b", w.Branch, w.Path, w.Base)
	}
	t.Note = "it was gone, and is made again from its branch"
	return k.add(ctx, t.owner, *w, w.Path, w.Branch)
}

// hasBranch reports whether the worktree's branch exists.
func (k Worktrees) hasBranch(ctx context.Context, w event.Worktree) bool {
	_, err := k.git(ctx, w.Git, filepath.Dir(w.Git), "show-ref", "--verify", "--quiet", "refs/heads/"+w.Branch)
	return err == nil
}

const (
	// takeTimeout bounds the wait for a process that leaves the worktree.
	takeTimeout = 10 * time.Second
	takeDelay   = 50 * time.Millisecond
)

// lockPath is the file with which processes share a worktree.
func (t *SessionTree) lockPath() string { return filepath.Join(t.trees.Dir, ".lock-"+t.owner) }

// take takes the worktree's lock, together with other users of the worktree.
func (t *SessionTree) take(ctx context.Context) error {
	if err := os.MkdirAll(t.trees.Dir, 0o700); err != nil {
		return err
	}
	for began := time.Now(); ; {
		f, err := t.tryLock(disk.TryShare)
		if err != nil {
			return err
		}
		if f != nil {
			t.lock = f
			return nil
		}
		if time.Since(began) > takeTimeout {
			return errors.New("another process is leaving it")
		}
		select {
		case <-time.After(takeDelay):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// tryLock opens and locks the lock file; nil if the lock is taken, or if the file was
// removed meanwhile.
func (t *SessionTree) tryLock(try func(*os.File) (bool, error)) (*os.File, error) {
	f, err := os.OpenFile(t.lockPath(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	free, err := try(f)
	if err == nil && free {
		opened, errOpened := f.Stat()
		named, errNamed := os.Stat(t.lockPath())
		if errOpened == nil && errNamed == nil && os.SameFile(opened, named) {
			return f, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// Leave removes the worktree if nothing in it has changed and no other session works in it.
// Otherwise it leaves the worktree to the user. Later calls return the result of the first.
func (t *SessionTree) Leave(ctx context.Context) event.WorktreeLeft {
	t.once.Do(func() { t.left = t.leave(ctx) })
	return t.left
}

func (t *SessionTree) leave(ctx context.Context) event.WorktreeLeft {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	_ = t.lock.Close() // nothing was written
	lock, err := t.tryLock(disk.TryLock)
	if err != nil || lock == nil {
		return event.WorktreeLeft{Kept: true, Why: "another session works in it"}
	}
	defer func() { _ = lock.Close() }() // nothing was written
	left := t.trees.Leave(ctx, t.owner, t.Worktree)
	_ = os.Remove(t.lockPath())
	_ = os.Remove(t.trees.Dir) // fails unless the directory is empty
	return left
}

// Remains returns the sessions in a data directory whose worktrees exist: those that settle
// uses or has left to the user, and those whose host died before it left the worktree. The
// next host of such a session leaves it.
func Remains(dataDir string) (kept, abandoned []string) {
	entries, _ := os.ReadDir(WorktreeDir(dataDir))
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		own, _ := strings.CutPrefix(fileText(filepath.Join(WorktreeDir(dataDir), e.Name(), ".git")), "gitdir: ")
		ours := strings.HasSuffix(fileText(filepath.Join(own, "locked")), "session "+e.Name())
		free, err := journal.Free(dataDir, e.Name())
		if own != "" && ours && (free || errors.Is(err, os.ErrNotExist)) {
			abandoned = append(abandoned, e.Name())
		} else {
			kept = append(kept, e.Name())
		}
	}
	return kept, abandoned
}
