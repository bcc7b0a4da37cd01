package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/repo"
)

// Worktrees makes and removes git worktrees. It implements [task.Worktrees].
type Worktrees struct {
	// Dir is the directory of the worktrees, absolute. It need not exist.
	Dir string
	// Env is the environment of git, without keys.
	Env []string
}

// WorktreeDir returns the directory of the worktrees below a data directory.
func WorktreeDir(dataDir string) string { return filepath.Join(dataDir, "worktrees") }

// harmlessKeys are keys of git's configuration that have no effect on worktrees: other commands use
// them, or git receives another value on its command line.
var harmlessKeys = []string{"blame.ignorerevsfile", "format.pretty", "gpg.format", "submodule.recurse", "tag.sort"}

// branchPrefix begins the names of branches.
const branchPrefix = "settle/"

// folder returns the directory of a session's worktree.
func (k Worktrees) folder(session string) (string, error) {
	if session == "" || session != filepath.Base(session) || strings.HasPrefix(session, ".") {
		return "", fmt.Errorf("cannot make a worktree for session %q: the name is none of a folder", session)
	}
	return filepath.Join(k.Dir, session), nil
}

// Plan returns the worktree for a child agent with the session, whose parent works in dir. It
// changes nothing.
func (k Worktrees) Plan(ctx context.Context, dir, session string) (event.Worktree, error) {
	w, err := k.plan(ctx, dir, session)
	if err != nil {
		return event.Worktree{}, fmt.Errorf("cannot give the agent a git worktree of its own: %w", err)
	}
	return w, nil
}

func (k Worktrees) plan(ctx context.Context, dir, session string) (event.Worktree, error) {
	none := func(err error) (event.Worktree, error) { return event.Worktree{}, err }
	path, err := k.folder(session)
	if err != nil {
		return none(err)
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return none(err)
	}
	g, err := repo.FindGit(dir)
	if err == nil && g.Top == "" {
		err = fmt.Errorf("%q is not in a git repository", dir)
	}
	if err == nil {
		err = cmp.Or(disk.CheckWorkDirName(dir), disk.CheckWorkDirName(g.Common))
	}
	if err == nil {
		err = g.Check(harmlessKeys...)
	}
	if err != nil {
		return none(err)
	}
	base, err := k.line(ctx, g.Top, g.Top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	if exit := (*exitError)(nil); errors.As(err, &exit) && exit.code == 1 {
		err = errors.New("the repository has no commit yet; make one first: git add -A && git commit -m start")
	}
	if err != nil {
		return none(err)
	}
	below, err := filepath.Rel(g.Top, dir)
	if err != nil {
		return none(err)
	}
	return event.Worktree{
		Path: path, Dir: filepath.Join(path, below), Git: g.Common, Branch: branchPrefix + session, Base: base,
	}, nil
}

// lockReason is the reason with which git has a worktree locked.
func lockReason(session string, w event.Worktree) string {
	if w.From != "" {
		return "settle: session " + session
	}
	return "settle: child agent in session " + session
}

// Make makes the planned worktree.
func (k Worktrees) Make(ctx context.Context, session string, w event.Worktree) error {
	if err := os.MkdirAll(k.Dir, 0o700); err != nil {
		return fmt.Errorf("cannot make a git worktree: %w", err)
	}
	if err := k.add(ctx, session, w, "-b", w.Branch, w.Path, w.Base); err != nil {
		return err
	}
	if err := makeFolder(w); err != nil {
		return fmt.Errorf("cannot make the folder of the agent in its worktree: %w", err)
	}
	return nil
}

// add has git add a worktree, locked.
func (k Worktrees) add(ctx context.Context, session string, w event.Worktree, args ...string) error {
	top := filepath.Dir(w.Git) // git checks safe.directory against the directory of the repository
	all := []string{
		"worktree", "add", "--quiet", "--lock", "--reason", lockReason(session, w), "--no-guess-remote",
	}
	if _, err := k.git(ctx, w.Git, top, append(all, args...)...); err != nil {
		return fmt.Errorf("cannot make a git worktree: %w", err)
	}
	return nil
}

// makeFolder makes the child's working directory: git keeps no empty directories. In the
// commit the directory may be a link, or behind one. A link that leads out of the worktree is
// an error, because the child and its sandbox would work there.
func makeFolder(w event.Worktree) error {
	below, err := filepath.Rel(w.Path, w.Dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(w.Path)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written
	if err := root.MkdirAll(below, 0o755); err != nil {
		return err
	}
	if info, err := root.Stat(below); err != nil {
		return fmt.Errorf("%q must not be a link out of the repository, as it is in the commit: %w", below, err)
	} else if !info.IsDir() {
		return fmt.Errorf("%q is no directory in the commit", below)
	}
	return nil
}

// Held reports whether settle made the worktree for the session and has not left it to the
// user.
func (k Worktrees) Held(session string, w event.Worktree) bool {
	path, err := k.folder(session)
	return err == nil && w.Path == path && k.admin(session, w) != ""
}

// admin returns git's own directory for the worktree; "" if settle did not make the worktree.
// It searches the repository, so that it also finds a worktree whose directory is gone.
func (k Worktrees) admin(session string, w event.Worktree) string {
	folders, err := os.ReadDir(filepath.Join(w.Git, "worktrees"))
	if err != nil {
		return ""
	}
	for _, f := range folders {
		at := filepath.Join(w.Git, "worktrees", f.Name())
		if fileText(filepath.Join(at, "locked")) == lockReason(session, w) &&
			fileText(filepath.Join(at, "gitdir")) == filepath.Join(w.Path, ".git") {
			return at
		}
	}
	return ""
}

// fileText returns the text of a small file without its last line feed.
func fileText(path string) string {
	data, size, err := disk.Read(path, 4<<10)
	if err != nil || size > int64(len(data)) {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}
