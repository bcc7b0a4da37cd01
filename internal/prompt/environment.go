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

// head reads what HEAD is, without git, which would do what the repository's
// configuration says.
func head(root string) string {
	const limit = 4096
	dir := filepath.Join(root, ".git")
	// In a worktree or a submodule .git is a file that says where it is.
	if data, _, err := disk.Read(dir, limit); err == nil {
		target := strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir:"))
		if !filepath.IsAbs(target) {
			target = filepath.Join(root, target)
		}
		dir = target
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

// branchName reports whether git could have made a branch of this name
// (git-check-ref-format(1)): the file may hold anything else. One that reftable
// keeps elsewhere is called .invalid.
func branchName(name string) bool {
	return name != "" && name != ".invalid" && len(name) < 256 && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return !unicode.IsPrint(r) || unicode.IsSpace(r) || strings.ContainsRune(`~^:?*[\`, r)
		})
}

// objectName reports whether the text is a commit's, in SHA-1 or SHA-256.
func objectName(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// oneLine quotes a name that could pass for more than a name.
func oneLine(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return strconv.Quote(name)
	}
	return name
}
