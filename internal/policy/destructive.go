package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/policy/effects"
)

// maxOperands is the number of files that one rm can name before it counts as a deletion of many
// files.
const maxOperands = 10

// destructive returns all reasons why a script deletes or overwrites many files, rewrites the
// history of a repository or pushes; none if it does none of these. Such a command needs an
// approval also in a sandbox. The function finds commands behind env, sudo, xargs and sh -c,
// in variables and in texts that a shell runs, but not in texts that are only shown. It
// guards against mistakes: a program can do the same unseen.
func (c *toolCall) destructive() []string {
	s, err := readScript(c.Command, 0)
	s.judge()
	if len(s.reasons) == 0 && err != nil {
		return []string{fmt.Sprintf("it cannot be read as a script of bash, and may delete files: %v", err)}
	}
	for _, word := range slices.Compact(slices.Sorted(slices.Values(s.operands))) {
		if c.leavesDirectory(word) {
			s.reasons = append(s.reasons, word+" is outside of the working directory")
		}
	}
	return s.reasons
}

// leavesDirectory reports whether a word is a path outside of the working directory.
func (c *toolCall) leavesDirectory(word string) bool {
	switch {
	case word == "~", strings.HasPrefix(word, "~"+"/"):
		return true
	case !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, ".."):
		return false
	}
	place, err := c.workspace.locate(absolute(absolute(c.workspace.dir, c.Workdir), word))
	return err != nil || !place.inside
}

// removesTrees matches the functions of programming languages that delete a folder.
var removesTrees = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`\b(rmtree|rm_rf|rm_r|remove_tree|remove_dir_all|RemoveAll|rmSync|rmdirSync|rimraf|Remove-Item)\b`,
	)
})

// removesByShell matches a deletion of folders by a shell in a text of another language.
var removesByShell = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\brm[\s"',]+-[a-zA-Z]*[rR][a-zA-Z]*\b`)
})

// isSpreader reports whether a program runs another one for many files.
func isSpreader(word shellWord) bool {
	return slices.Contains([]string{"xargs", "find", "fd", "fdfind", "parallel"}, baseName(word.text))
}

// destroys returns why a command with these arguments destroys; empty if it does not.
// many reports that it runs for each of many files.
func destroys(name string, args []shellWord, many bool) string {
	wide := many || slices.ContainsFunc(args, func(w shellWord) bool { return w.wide })
	has := func(is func(text string) bool) bool {
		return slices.ContainsFunc(args, func(w shellWord) bool { return is(w.text) })
	}
	switch {
	case name == "rm" && isRecursive(args):
		return "rm -r deletes folders with all that is in them"
	case (name == "rm" || name == "unlink") && (wide || operands(args) > maxOperands):
		return name + " deletes many files"
	case name == "find" && has(func(a string) bool { return a == "-delete" }):
		return "find -delete deletes all files that it finds"
	case name == "rsync" && has(deletesSource):
		return "rsync deletes the files that the other side does not have"
	case name == "shred", name == "wipefs", strings.HasPrefix(name, "mkfs"), name == "blkdiscard":
		return name + " destroys data"
	case name == "dd" && has(func(a string) bool { return strings.HasPrefix(a, "of=") }):
		return "dd overwrites its output"
	case (name == "sed" || name == "perl") && wide && has(inPlace), name == "truncate" && wide:
		return name + " overwrites many files"
	case name == "git":
		return destroysGit(args)
	}
	return ""
}

// deletesSource reports whether an option of rsync deletes files.
func deletesSource(a string) bool {
	return strings.HasPrefix(a, "--del") || a == "--remove-source-files"
}

// isPattern reports whether the shell expands a word to several files.
func isPattern(word string) bool { return strings.ContainsAny(word, "*?[{") }

// operands counts the words that are no options.
func operands(args []shellWord) (n int) {
	for _, a := range args {
		if !strings.HasPrefix(a.text, "-") {
			n++
		}
	}
	return n
}

// isRecursive reports whether an option of rm includes folders.
func isRecursive(args []shellWord) bool {
	return slices.ContainsFunc(args, func(w shellWord) bool {
		if strings.HasPrefix(w.text, "--") {
			return isOption(w.text, "--recursive") || w.text == "--r" || w.text == "--re"
		}
		return strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "rR")
	})
}

// inPlace reports whether an option of sed or perl overwrites the files that it reads.
func inPlace(a string) bool {
	short := len(a) > 1 && a[0] == '-' && a[1] != '-'
	return strings.HasPrefix(a, "--in-place") || short && strings.Contains(a, "i")
}

// gitDestroys are git's commands that delete changes or rewrite history, each with the
// options or words that make it do so; "*" for always.
const gitDestroys = `
push:* rebase:* filter-branch:* filter-repo:* replace:* prune:* update-ref:* clean:* fast-import:*
reset:--hard,--merge,--keep checkout:.,:/,-f,--force,--ours,--theirs restore:.,:/
switch:-f,--force,--discard-changes commit:--amend reflog:expire,delete stash:drop,clear
branch:-D,-f,-M,-C,--force tag:-d,-f,--delete,--force
worktree:remove submodule:deinit gc:--prune read-tree:-u,--reset checkout-index:-f,--force rm:-r
`

var gitDestroysTable = sync.OnceValue(func() map[string][]string {
	table := map[string][]string{}
	for entry := range strings.FieldsSeq(gitDestroys) {
		name, words, _ := strings.Cut(entry, ":")
		table[name] = strings.Split(words, ",")
	}
	return table
})

// harmlessGitOptions limit git to showing its plan, or end a rebase without effect.
var harmlessGitOptions = sync.OnceValue(func() []string {
	return []string{"-n", "--dry-run", "--help", "-h", "--abort"}
})

// destroysGit returns the reason why git with these arguments is destructive; empty if it is not.
func destroysGit(args []shellWord) string {
	words := []effects.Word{{Text: "git"}}
	for _, a := range args {
		words = append(words, effects.Word{Text: a.text})
	}
	g, ok := gitCommand("/", words)
	if ok && strings.HasPrefix(g.name, "$") {
		return "git " + g.name + " may discard changes, rewrite the history or push"
	}
	if !ok || slices.ContainsFunc(g.args, func(a string) bool { return slices.Contains(harmlessGitOptions(), a) }) {
		return ""
	}
	for _, word := range gitDestroysTable()[g.name] {
		switch {
		case word == "*":
			return gitReason(g.name, "")
		case slices.ContainsFunc(g.args, func(a string) bool { return isOption(a, word) }):
			return gitReason(g.name, word)
		}
	}
	overwrites := g.name == "rm" || g.name == "checkout" || g.name == "restore"
	if overwrites && slices.ContainsFunc(g.args, isPattern) {
		return "git " + g.name + " overwrites or deletes many files"
	}
	return ""
}

// isOption reports whether an argument is the word, an abbreviation of it as a long option,
// or has it among its short options.
func isOption(a, word string) bool {
	switch {
	case strings.HasPrefix(word, "--"):
		long, _, _ := strings.Cut(a, "=")
		return len(long) > 4 && strings.HasPrefix(word, long)
	case word[0] == '-':
		return len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, word[1:])
	}
	return a == word
}

// gitReason returns the reason why a git command is destructive.
func gitReason(name, word string) string {
	what := strings.TrimSpace("git " + name + " " + word)
	switch name {
	case "push":
		return what + " changes the repository that it pushes to"
	case "reset", "checkout", "restore", "switch", "clean", "stash", "rm", "read-tree", "checkout-index", "worktree",
		"submodule":
		return what + " discards changes that are not committed"
	}
	return what + " rewrites the history"
}
