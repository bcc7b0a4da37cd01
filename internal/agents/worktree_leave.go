package agents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/terminal"
)

// Leave removes the worktree if nothing in it has changed; otherwise it leaves the worktree to
// the user. Files that git ignores do not count. Nothing may work in the worktree any more.
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
		if err = k.remove(ctx, session, w); err == nil {
			return event.WorktreeLeft{}
		}
	}
	if err != nil {
		changed = err.Error()
	}
	if _, err := k.git(ctx, w.Git, filepath.Dir(w.Git), "worktree", "unlock", w.Path); err != nil {
		changed += "; git has it as locked still"
	}
	return event.WorktreeLeft{Kept: true, Why: changed}
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
		err = g.Check() // the child may have changed the configuration
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
	return strings.Join(parts, ", "), nil
}

// submodules counts the submodules in the index whose folder has files. Git makes these
// folders empty, so the files are somebody's work. Git itself would start "git status" in
// such a folder, and a command may have planted a repository there.
func (k Worktrees) submodules(ctx context.Context, w event.Worktree) (n int, err error) {
	index, err := k.git(ctx, w.Path, w.Path, "ls-files", "--stage", "-z")
	if err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	for entry := range strings.SplitSeq(index, "\x00") {
		head, name, _ := strings.Cut(entry, "\t")
		if !strings.HasPrefix(head, "160000 ") {
			continue
		}
		list, err := fs.ReadDir(root.FS(), name)
		if len(list) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			n++
		}
	}
	return n, nil
}

// remove removes the worktree and its branch. The branch goes only from where it began.
// Without --force, git would look for changes once more, also in submodules.
func (k Worktrees) remove(ctx context.Context, session string, w event.Worktree) error {
	if err := k.unregister(ctx, session, w); err != nil {
		return err
	}
	_ = os.Remove(k.Dir) // fails unless the directory is empty
	return k.dropBranch(ctx, w)
}

// unregister removes a worktree that git knows, with its directory if there is one.
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

// dropBranch removes the branch if it is still at its first commit.
func (k Worktrees) dropBranch(ctx context.Context, w event.Worktree) error {
	_, err := k.git(ctx, w.Git, filepath.Dir(w.Git), "update-ref", "-d", "refs/heads/"+w.Branch, w.Base)
	return err
}
