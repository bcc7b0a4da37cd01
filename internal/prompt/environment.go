package prompt

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/settle-agent/settle/internal/repo"
)

// Git runs git with the arguments in a directory and returns what it printed.
// It ends when ctx does.
type Git func(ctx context.Context, dir string, args ...string) (stdout string, err error)

const gitTimeout = 2 * time.Second

func environment(ctx context.Context, o Options) string {
	lines := []string{
		"# Environment", "",
		"- Platform: " + o.GOOS,
		"- Working directory: " + oneLine(o.Dir),
	}
	root, ok := repo.Root(o.Dir)
	if !ok {
		lines = append(lines, "- Git: not a repository")
	} else {
		if root != filepath.Clean(o.Dir) {
			lines = append(lines, "- Repository: "+oneLine(root))
		}
		lines = append(lines, "- Git, when the session began: "+gitState(ctx, o, root))
	}
	lines = append(lines, "- Date, when the session began: "+o.Now.Format("2006-01-02"))
	return strings.Join(lines, "\n")
}

// gitState takes the branch from .git, so that it is known without git, and
// the number of changed files from git, if it says so in time.
func gitState(ctx context.Context, o Options, root string) string {
	state := head(root)
	if o.Git == nil {
		return state
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	// Neither may a look at the state change it (a lock, an index), nor may a
	// repository's settings run a program.
	out, err := o.Git(ctx, root, "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false",
		"status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all")
	if err != nil {
		return state
	}
	switch changed := strings.Count(out, "\x00"); changed {
	case 0:
		return state + ", clean"
	case 1:
		return state + ", 1 changed or new file"
	default:
		return fmt.Sprintf("%s, %d changed or new files", state, changed)
	}
}

// head reads what HEAD is.
func head(root string) string {
	const limit = 4096
	dir := filepath.Join(root, ".git")
	// In a worktree or a submodule .git is a file that says where it is.
	if data, _, err := repo.ReadFile(dir, limit); err == nil {
		target := strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir:"))
		if !filepath.IsAbs(target) {
			target = filepath.Join(root, target)
		}
		dir = target
	}
	data, _, err := repo.ReadFile(filepath.Join(dir, "HEAD"), limit)
	text := strings.TrimSpace(clean(string(data)))
	if err != nil || text == "" {
		return "unknown branch"
	}
	if branch, ok := strings.CutPrefix(text, "ref: refs/heads/"); ok {
		return "branch " + oneLine(branch)
	}
	return "detached at " + oneLine(text[:min(len(text), 12)])
}

// oneLine quotes a name that could pass for more than a name.
func oneLine(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
