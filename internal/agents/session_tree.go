package agents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/scope"
)

// SessionTree is the git worktree of a session that a person started, in use by an open
// session. The copies of a session share its worktree; the last one that leaves the worktree
// decides about it.
type SessionTree struct {
	// Worktree is for the log.
	Worktree event.Worktree
	// Note reports that the worktree was made again; empty otherwise.
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
	t := &SessionTree{Worktree: w, trees: k, owner: session}
	if err := t.take(ctx); err != nil {
		return nil, err
	}
	k.discardAll(ctx)
	k.leaveForsaken(ctx, w.Git)
	if err := t.makeBranch(ctx); err != nil {
		t.release() // the branch is another session's
		return nil, err
	}
	err = k.add(ctx, session, w, w.Path, w.Branch)
	if err == nil {
		err = makeFolder(w)
	}
	if err != nil {
		t.Leave(context.WithoutCancel(ctx))
		return nil, err
	}
	return t, nil
}

// makeBranch makes the worktree's branch, unless it exists. It first records the worktree, for the case
// that settle is killed before the session has a log.
func (t *SessionTree) makeBranch(ctx context.Context) error {
	const missing = "" // the branch must not exist before
	k, w := t.trees, t.Worktree
	exists := k.hasBranch(ctx, w)
	var err error
	if !exists {
		if err := t.record(); err != nil {
			return fmt.Errorf("cannot make a git worktree: %w", err)
		}
		_, err = k.git(ctx, w.Git, filepath.Dir(w.Git), "update-ref", "refs/heads/"+w.Branch, w.Base, missing)
	}
	if exists || err != nil && k.hasBranch(ctx, w) {
		return fmt.Errorf(
			"cannot make a git worktree: the branch %[1]s exists; give another name, or continue the session that "+
				"made the branch (\"settle sessions --here\" lists sessions), or delete the branch: git branch -D %[1]s. "+
				"If a worktree has the branch, remove the worktree first: git worktree list; git worktree unlock "+
				"PATH; git worktree remove PATH",
			w.Branch,
		)
	}
	if err != nil {
		return fmt.Errorf("cannot make the branch of a git worktree: %w", err)
	}
	return nil
}

// Reopen opens the worktree of a session that continues. A worktree that is gone is made
// again: on its branch if there is one, else from the last commit.
func (k Worktrees) Reopen(ctx context.Context, w event.Worktree) (*SessionTree, error) {
	fail := func(err error) (*SessionTree, error) {
		return nil, fmt.Errorf(
			"cannot open the session's git worktree %q: %w; \"settle resume --cwd DIR ID\" continues the session "+
				"in another directory",
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
	k.discardAll(ctx)
	err := t.reopen(ctx)
	if err == nil {
		err = makeFolder(t.Worktree)
	}
	if err != nil {
		_ = t.lock.Close() // nothing was written
		return fail(err)
	}
	return t, nil
}

// reopen locks an existing worktree in git, or makes it again. The file .making-ID is locked
// meanwhile, and has a line while the worktree is incomplete.
func (t *SessionTree) reopen(ctx context.Context) error {
	making, err := t.await(ctx, t.makingPath(), disk.TryLock)
	if err != nil {
		return err
	}
	defer func() { _ = making.Close() }() // the content is only a mark for other processes
	info, err := making.Stat()
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		if err := t.clear(ctx); err != nil {
			return err
		}
	}
	if _, err = os.Lstat(t.Worktree.Path); !errors.Is(err, fs.ErrNotExist) {
		err = t.relock(ctx)
	} else {
		if _, err = making.WriteString("incomplete\n"); err == nil {
			err = t.remake(ctx)
		}
		if err != nil {
			return err // the mark stays
		}
	}
	// Where an open file cannot be removed, the mark must go all the same.
	err = errors.Join(err, making.Truncate(0))
	_ = os.Remove(making.Name())
	return err
}

// clear moves a worktree with an incomplete checkout away, unless it was completed since, or has
// other changes.
func (t *SessionTree) clear(ctx context.Context) error {
	w, k := t.Worktree, t.trees
	if _, err := os.Lstat(w.Path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !k.Held(t.owner, w) {
		return errors.New("settle was ended while it made it, and cannot prove that it made it; move it away")
	}
	isComplete, err := t.compare(ctx)
	if err != nil || isComplete {
		return err
	}
	k.discard(ctx, t.owner)
	return os.Rename(w.Path, filepath.Join(k.Dir, removing+t.owner))
}

// compare compares the files of an incomplete worktree with the last commit of its branch. It
// returns an error if there is work in the worktree: anything but missing files.
func (t *SessionTree) compare(ctx context.Context) (isComplete bool, err error) {
	w, k := t.Worktree, t.trees
	g, err := repo.FindGit(w.Path)
	if err == nil && (g.Top != w.Path || g.Common != w.Git || g.Own != k.admin(t.owner, w)) {
		err = errors.New("it is not the worktree that settle made")
	}
	if err == nil {
		err = g.Check(harmlessKeys...) // the configuration may have changed
	}
	if err != nil {
		return false, err
	}
	head, err := k.line(ctx, w.Path, w.Path, "symbolic-ref", "HEAD")
	if err != nil || head != "refs/heads/"+w.Branch {
		return false, errors.New("settle was ended while it made it, and its HEAD is on no branch of settle since; " +
			"keep what you need of it, and move it away")
	}
	// The index of a checkout that was cut is empty: git writes it last.
	index, err := os.MkdirTemp(k.Dir, ".index-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(index) }()
	k.Env = append(slices.Clone(k.Env), "GIT_INDEX_FILE="+filepath.Join(index, "index"))
	if _, err := k.git(ctx, w.Path, w.Path, "read-tree", "HEAD"); err != nil {
		return false, err
	}
	files, err := k.git(
		ctx, w.Path, w.Path, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all",
		"--ignored=traditional", "--ignore-submodules=all",
	)
	if err != nil {
		return false, err
	}
	for entry := range strings.SplitSeq(strings.TrimSuffix(files, "\x00"), "\x00") {
		if entry != "" && !strings.HasPrefix(entry, " D ") {
			return false, fmt.Errorf(
				"settle was ended while it made it, and the file %q is none of its last commit; keep what you need "+
					"of it, and move it away", entry[min(3, len(entry)):],
			)
		}
	}
	return files == "", nil
}

// relock locks an existing worktree in git.
func (t *SessionTree) relock(ctx context.Context) error {
	w, k := &t.Worktree, t.trees
	g, err := repo.FindGit(w.Path)
	switch {
	case err != nil:
		return err
	case g.Top != w.Path || g.Common != w.Git:
		return errors.New("it is not the worktree that settle made")
	}
	if err := g.Check(harmlessKeys...); err != nil {
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
func (t *SessionTree) lockPath() string { return filepath.Join(t.trees.Dir, lockPrefix+t.owner) }

// lockPrefix begins the names of lock files.
const lockPrefix = ".lock-"

// makingPath is the file with which one process at a time makes the worktree again.
func (t *SessionTree) makingPath() string { return filepath.Join(t.trees.Dir, ".making-"+t.owner) }

// take takes the worktree's lock, together with other users of the worktree.
func (t *SessionTree) take(ctx context.Context) error {
	if err := os.MkdirAll(t.trees.Dir, 0o700); err != nil {
		return err
	}
	lock, err := t.await(ctx, t.lockPath(), disk.TryShare)
	t.lock = lock
	return err
}

// await opens and locks a lock file, and waits for it within a bound.
func (*SessionTree) await(ctx context.Context, path string, try tryLock) (*os.File, error) {
	for began := time.Now(); ; {
		f, err := try.open(path)
		if f != nil || err != nil {
			return f, err
		}
		if time.Since(began) > takeTimeout {
			return nil, errors.New("another process is making or leaving it")
		}
		if err := scope.Sleep(ctx, takeDelay); err != nil {
			return nil, err
		}
	}
}

// tryLock takes the lock of an open file, if it is free.
type tryLock func(*os.File) (free bool, err error)

// open opens and locks a lock file; nil if the lock is taken, or if the file was removed
// meanwhile.
func (try tryLock) open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	free, err := try(f)
	if err == nil && free {
		opened, errOpened := f.Stat()
		named, errNamed := os.Stat(path)
		if errOpened == nil && errNamed == nil && os.SameFile(opened, named) {
			return f, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// Leave removes the worktree if nothing in it has changed and no other session works in it.
// Otherwise it leaves the worktree to the user. Later calls return the result of the first.
func (t *SessionTree) Leave(ctx context.Context) event.WorktreeLeft {
	t.once.Do(func() {
		t.left = t.leave(ctx, func(ctx context.Context) event.WorktreeLeft {
			return t.trees.Leave(ctx, t.owner, t.Worktree)
		})
	})
	return t.left
}

// Keep leaves the worktree to the user with the reason, changed or not, unless another session
// works in it.
func (t *SessionTree) Keep(ctx context.Context, why string) event.WorktreeLeft {
	t.once.Do(func() {
		t.left = t.leave(ctx, func(ctx context.Context) event.WorktreeLeft {
			return t.trees.keep(ctx, t.Worktree, why)
		})
	})
	return t.left
}

// leave calls end if no other session works in the worktree.
func (t *SessionTree) leave(ctx context.Context, end func(context.Context) event.WorktreeLeft) event.WorktreeLeft {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	_ = t.lock.Close() // nothing was written
	lock, err := tryLock(disk.TryLock).open(t.lockPath())
	if err != nil || lock == nil {
		return event.WorktreeLeft{Kept: true, Why: "another session works in it"}
	}
	defer t.unlock(lock)
	return end(ctx)
}

// unlock removes the lock file, which this process holds alone.
func (t *SessionTree) unlock(lock *os.File) {
	_ = os.Remove(t.lockPath())
	_ = os.Remove(t.trees.Dir) // fails unless the directory is empty
	_ = lock.Close()           // nothing was written
}

// release gives the lock of a worktree back that was not made.
func (t *SessionTree) release() {
	_ = t.lock.Close() // nothing was written
	if lock, err := tryLock(disk.TryLock).open(t.lockPath()); err == nil && lock != nil {
		t.unlock(lock)
	}
}

// Remains returns the sessions in a data directory whose worktrees exist. kept are the sessions
// whose worktree settle uses or has left to the user. abandoned are the sessions whose host died
// before it left the worktree. The next host of such a session leaves it.
func Remains(dataDir string) (kept, abandoned []string) {
	entries, _ := os.ReadDir(WorktreeDir(dataDir))
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
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
