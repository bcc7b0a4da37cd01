package prompt

import (
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/repo"
)

func environment(o Options) string {
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
		lines = append(lines, "- Git, when the session began: "+head(root))
	}
	lines = append(lines, "- Date, when the session began: "+o.Now.Format("2006-01-02"))
	return strings.Join(lines, "\n")
}

// head reads HEAD without git, because git would obey the repository's configuration.
func head(root string) string {
	const limit = 4096
	dir := filepath.Join(root, ".git")
	// In a worktree or a submodule, .git is a file with the path of the directory.
	if data, _, err := disk.Read(dir, limit); err == nil {
		dir = disk.AbsoluteIn(root, strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir:")))
	}
	data, _, err := disk.Read(filepath.Join(dir, "HEAD"), limit)
	text := strings.TrimSpace(string(data))
	branch, isBranch := strings.CutPrefix(text, "ref: refs/heads/")
	switch {
	case err != nil:
	case isBranch && branchName(branch):
		return "branch " + branch
	case objectName(text):
		return "detached at " + text[:12]
	}
	return "unknown branch"
}

// branchName reports whether git accepts the name for a branch (git-check-ref-format(1));
// the file can contain anything. With reftable, the name is .invalid.
func branchName(name string) bool {
	return name != "" && name != ".invalid" && len(name) < 256 && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return !unicode.IsPrint(r) || unicode.IsSpace(r) || strings.ContainsRune(`~^:?*[\`, r)
		})
}

// objectName reports whether the text is a commit's name in SHA-1 or SHA-256.
func objectName(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// oneLine quotes a name that could look like more than a name.
func oneLine(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
