package agents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
)

// Leave removes the worktree if nothing in it has changed; otherwise it leaves the worktree to
// the user. Files that git ignores count only in the worktree of a session that a person
// started. Nothing may work in the worktree any more.
// Leave changes no worktree without proof that settle made it.
func (k Worktrees) Leave(ctx context.Context, session string, w event.Worktree) event.WorktreeLeft {
	if !k.Held(session, w) {
		if _, err := os.Lstat(w.Path); errors.Is(err, os.ErrNotExist) {
			_ = k.dropBranch(ctx, w) // git keeps the branch if it is ended while it makes a worktree
			return event.WorktreeLeft{Why: "it was never made, or it was removed before"}
		}
		return event.WorktreeLeft{Kept: true, Why: "settle cannot prove that it made it, or left it to the user before"}
	}
	changed, err := k.changed(ctx, session, w)
	if err == nil && changed == "" {
		isRemoved, err := k.remove(ctx, session, w)
		switch {
		case err == nil:
			return event.WorktreeLeft{}
		case isRemoved:
			return event.WorktreeLeft{Why: "its directory is removed; git may still list it: " + err.Error()}
		}
		return k.keep(ctx, w, err.Error())
	}
	if err != nil {
		changed = err.Error()
	}
	return k.keep(ctx, w, changed)
}

// keep leaves the worktree to the user.
func (k Worktrees) keep(ctx context.Context, w event.Worktree, why string) event.WorktreeLeft {
	if _, err := k.git(ctx, w.Git, filepath.Dir(w.Git), "worktree", "unlock", w.Path); err != nil {
		why += "; git has it as locked still"
	}
	return event.WorktreeLeft{Kept: true, Why: why}
}

// changed describes the changes in the worktree since it was made; "" if there are none.
func (k Worktrees) changed(ctx context.Context, session string, w event.Worktree) (string, error) {
	if _, err := os.Lstat(w.Path); errors.Is(err, os.ErrNotExist) {
		return "", nil // a person removed the directory
	}
	g, err := repo.FindGit(w.Path)
	if err == nil && (g.Top != w.Path || g.Common != w.Git || g.Own != k.admin(session, w)) {
		err = errors.New("it is not the worktree that settle made")
	}
	if err == nil {
		err = g.Check(harmlessKeys...) // the child may have changed the configuration
	}
	if err != nil {
		return "", err
	}
	submodules, err := k.submodules(ctx, w)
	if err != nil {
		return "", err
	}
	files, err := k.git(
		ctx, w.Path, w.Path, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all",
		"--ignore-submodules=all",
	)
	if err != nil {
		return "", err
	}
	head, err := k.line(ctx, w.Path, w.Path, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return "", err
	}
	branch, err := k.line(ctx, w.Path, w.Path, "rev-parse", "--verify", "refs/heads/"+w.Branch)
	if err != nil {
		return "", err
	}
	var parts []string
	if n := strings.Count(files, "\x00"); n > 0 {
		parts = append(parts, terminal.Count(n, "file")+" changed")
	}
	switch submodules {
	case 0:
	case 1:
		parts = append(parts, "1 submodule has files")
	default:
		parts = append(parts, fmt.Sprintf("%d submodules have files", submodules))
	}
	switch {
	case head == w.Base && branch == w.Base:
	case head == branch:
		count, err := k.line(ctx, w.Path, w.Path, "rev-list", "--count", w.Base+".."+head)
		if err != nil {
			return "", err
		}
		parts = append(parts, "commits on its branch: "+count)
	default:
		parts = append(parts, fmt.Sprintf("its HEAD is at %.12s and its branch at %.12s", head, branch))
	}
	if len(parts) == 0 && w.From != "" {
		return k.hidden(ctx, w)
	}
	return strings.Join(parts, ", "), nil
}

// hidden describes work in a person's worktree that "git status" does not show; "" if there
// is none. A new worktree has no ignored files, and only the first commit in its reflog.
func (k Worktrees) hidden(ctx context.Context, w event.Worktree) (string, error) {
	var parts []string
	files, err := k.git(
		ctx, w.Path, w.Path, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal",
		"--ignored=traditional", "--ignore-submodules=all",
	)
	if err != nil {
		return "", err
	}
	if n := strings.Count(files, "\x00"); n > 0 {
		parts = append(parts, terminal.Count(n, "path")+" that git ignores")
	}
	n, err := k.unwatched(ctx, w)
	if err != nil {
		return "", err
	}
	if n > 0 {
		parts = append(parts, terminal.Count(n, "file")+" in which git looks for no changes")
	}
	commits, err := k.git(ctx, w.Path, w.Path, "rev-list", "--walk-reflogs", "HEAD")
	if err != nil {
		return "", err
	}
	for commit := range strings.FieldsSeq(commits) {
		if commit != w.Base {
			parts = append(parts, fmt.Sprintf("only its reflog may have the commit %.12s", commit))
			break
		}
	}
	return strings.Join(parts, ", "), nil
}

// unwatched counts the files in which git looks for no changes: files that are marked as
// unchanged, and files that are there although a sparse checkout leaves them out.
func (k Worktrees) unwatched(ctx context.Context, w event.Worktree) (int, error) {
	return k.countIndex(ctx, w, "-v", func(root *os.Root, entry string) bool {
		tag, name, _ := strings.Cut(entry, " ")
		switch tag {
		case "", "H":
			return false
		case "S":
			_, err := root.Lstat(name)
			return !errors.Is(err, fs.ErrNotExist)
		}
		return true
	})
}

// submodules counts the submodules in the index whose folder has files. Git makes these folders
// empty, so the files are a person's work. Git itself would start "git status" in such a folder,
// and a command may have planted a repository there.
func (k Worktrees) submodules(ctx context.Context, w event.Worktree) (int, error) {
	return k.countIndex(ctx, w, "--stage", func(root *os.Root, entry string) bool {
		head, name, _ := strings.Cut(entry, "\t")
		if !strings.HasPrefix(head, "160000 ") {
			return false
		}
		list, err := fs.ReadDir(root.FS(), name)
		return len(list) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist)
	})
}

// countIndex counts the entries of the worktree's index that counts accepts. format is the flag of
// "git ls-files" that chooses the form of an entry.
func (k Worktrees) countIndex(
	ctx context.Context, w event.Worktree, format string, counts func(root *os.Root, entry string) bool,
) (n int, err error) {
	index, err := k.git(ctx, w.Path, w.Path, "ls-files", format, "-z")
	if err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	for entry := range strings.SplitSeq(index, "\x00") {
		if counts(root, entry) {
			n++
		}
	}
	return n, nil
}

// removing begins the names of directories that were worktrees and have nothing to keep. A
// directory gets the name in one step, so that no process opens half of a worktree.
const removing = ".removing-"

// forgetTimeout bounds the calls of git after the directory of a worktree was removed.
const forgetTimeout = 5 * time.Second

// remove removes the worktree and its branch, and reports whether the directory is gone. The
// branch goes only from where it began. Once the directory is gone, the end of ctx does not cut
// the rest.
func (k Worktrees) remove(ctx context.Context, session string, w event.Worktree) (isRemoved bool, err error) {
	k.discard(ctx, session)
	err = os.Rename(w.Path, filepath.Join(k.Dir, removing+session))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetTimeout)
	defer cancel()
	if err := k.unregister(ctx, session, w); err != nil {
		return true, err
	}
	err = k.dropBranch(ctx, w)
	k.discard(ctx, session)
	_ = os.Remove(k.Dir) // fails unless the directory is empty
	return true, err
}

// discardTimeout bounds the wait for the deletion of a worktree's files.
const discardTimeout = 5 * time.Second

// discard deletes the remaining files of a session's removed worktree. Files that cannot be deleted
// in time stay, under a name that no session opens, for a later discardAll.
func (k Worktrees) discard(ctx context.Context, session string) {
	ctx, cancel := context.WithTimeout(ctx, discardTimeout)
	defer cancel()
	done := make(chan struct{})
	// Ends with the deletion, or with the process.
	go scope.Shield(func(error) {}, func() {
		defer close(done)
		deleteAll(filepath.Join(k.Dir, removing+session))
	})()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// discardAll deletes the remaining files of all removed worktrees.
func (k Worktrees) discardAll(ctx context.Context) {
	entries, _ := os.ReadDir(k.Dir)
	for _, e := range entries {
		if session, ok := strings.CutPrefix(e.Name(), removing); ok {
			k.discard(ctx, session)
		}
	}
}

func deleteAll(path string) {
	if os.RemoveAll(path) == nil {
		return
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }() // nothing was written
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(name, 0o700) // for files in read-only directories, such as modules of Go
		}
		return nil
	})
	_ = os.RemoveAll(path)
}

// unregister removes a worktree that git knows, with its directory if there is one. Without
// --force, git would look for changes once more, also in submodules.
func (k Worktrees) unregister(ctx context.Context, session string, w event.Worktree) error {
	top := filepath.Dir(w.Git)
	registered, err := k.git(ctx, w.Git, top, "worktree", "list", "--porcelain")
	if err != nil || !strings.Contains(registered, "worktree "+filepath.ToSlash(w.Path)+"\n") {
		return err
	}
	if k.admin(session, w) != "" {
		if _, err := k.git(ctx, w.Git, top, "worktree", "unlock", w.Path); err != nil {
			return err
		}
	}
	_, err = k.git(ctx, w.Git, top, "worktree", "remove", "--force", w.Path)
	return err
}

// dropBranch removes the branch if it is still at its first commit and no worktree has it.
func (k Worktrees) dropBranch(ctx context.Context, w event.Worktree) error {
	list, err := k.git(ctx, w.Git, filepath.Dir(w.Git), "worktree", "list", "--porcelain")
	if err != nil || strings.Contains(list, "\nbranch refs/heads/"+w.Branch+"\n") {
		return err
	}
	_, err = k.git(ctx, w.Git, filepath.Dir(w.Git), "update-ref", "-d", "refs/heads/"+w.Branch, w.Base)
	return err
}
