package transcript

import (
	"fmt"

	"mvdan.cc/sh/v3/syntax"

	"github.com/settle-agent/settle/event"
)

// WorktreeLines returns the location of a session's own git worktree after the session has closed,
// and the commands that merge and discard it. It returns nil if settle removed the worktree.
func WorktreeLines(host event.SessionOpened, left *event.WorktreeLeft) []string {
	w := host.Worktree
	if w == nil || left == nil || !left.Kept {
		return nil
	}
	words := fmt.Sprintf("the work is in the git worktree %s, branch %s: %s", w.Path, w.Branch, left.Why)
	return append([]string{words}, WorktreeCommands(*w)...)
}

// WorktreeCommands are the commands that commit, merge and discard the work in a git worktree.
func WorktreeCommands(w event.Worktree) []string {
	from, path, branch := shellWord(w.From), shellWord(w.Path), shellWord(w.Branch)
	return []string{
		fmt.Sprintf("  commit:  git -C %s add --all && git -C %[1]s commit", path),
		fmt.Sprintf("  merge:   git -C %s merge %s", from, branch),
		fmt.Sprintf(
			"  discard: git -C %s worktree remove --force %s && git -C %[1]s branch -D %[3]s", from, path, branch,
		),
	}
}

// shellWord quotes a word for a shell, if it needs quotes.
func shellWord(word string) string {
	quoted, err := syntax.Quote(word, syntax.LangBash)
	if err != nil {
		return word // it has a zero byte, and names no file
	}
	return quoted
}
