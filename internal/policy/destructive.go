package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/policy/effects"
)

// maxOperands is how many files one rm can name before it counts as a deletion of many.
const maxOperands = 10

// destructive returns why a script deletes or overwrites many files, rewrites the history
// of a repository or pushes; empty if it does none of these. Such a command needs an
// approval also in a sandbox. The function reads words, not syntax: it finds a command
// behind env, sudo, xargs and sh -c, and in quotes, and it also reports some texts that
// only mention one. It guards against mistakes: a program can do the same unseen.
func destructive(script string) string {
	if m := removesTrees().FindString(script); m != "" {
		return m + " deletes a folder with all that is in it"
	}
	list := segments(script)
	loops := slices.ContainsFunc(list, func(words []string) bool { return slices.Contains(words, "do") })
	for _, words := range list {
		for i, word := range words {
			many := loops || slices.ContainsFunc(words[:i], isSpreader)
			if why := destroys(baseName(word), words[i+1:], many); why != "" {
				return why
			}
			if i == 0 && word[0] == '$' && isRecursive(words[1:]) {
				return fmt.Sprintf("%s may be rm, and would delete folders", word)
			}
		}
	}
	return ""
}

// removesTrees matches the functions of programming languages that delete a folder.
var removesTrees = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`\b(rmtree|rm_rf|rm_r|remove_tree|remove_dir_all|RemoveAll|rmSync|rmdirSync|rimraf|Remove-Item)\b`,
	)
})

// unquoted drops quotes and escapes from a script, and puts a blank for $IFS.
var unquoted = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(
		"\\\n", "", "${IFS}", " ", "$IFS", " ", "$'", "", `$"`, "", "'", "", `"`, "", "\\", "",
	)
})

// segments returns the words of each simple command, as far as they can be read without
// the syntax: quoted text is split like other text.
func segments(script string) (list [][]string) {
	text := unquoted().Replace(script)
	ends := func(r rune) bool { return strings.ContainsRune(";&|\n()`", r) }
	for segment := range strings.FieldsFuncSeq(text, ends) {
		if words := strings.Fields(segment); len(words) > 0 {
			list = append(list, words)
		}
	}
	return list
}

// isSpreader reports whether a program runs another one for many files.
func isSpreader(word string) bool {
	return slices.Contains([]string{"xargs", "find", "fd", "fdfind", "parallel"}, baseName(word))
}

// destroys returns why a command with these arguments destroys; empty if it does not.
// many reports that it runs for each of many files.
func destroys(name string, args []string, many bool) string {
	wide := many || slices.ContainsFunc(args, isPattern)
	switch {
	case name == "rm" && isRecursive(args):
		return "rm -r deletes folders with all that is in them"
	case (name == "rm" || name == "unlink") && (wide || operands(args) > maxOperands):
		return name + " deletes many files"
	case name == "find" && slices.Contains(args, "-delete"):
		return "find -delete deletes all files that it finds"
	case name == "rsync" && slices.ContainsFunc(args, deletesSource):
		return "rsync deletes the files that the other side does not have"
	case name == "shred", name == "wipefs", strings.HasPrefix(name, "mkfs"), name == "blkdiscard":
		return name + " destroys data"
	case name == "dd" && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "of=") }):
		return "dd overwrites its output"
	case (name == "sed" || name == "perl") && wide && inPlace(args), name == "truncate" && wide:
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
func operands(args []string) (n int) {
	for _, a := range args {
		if a[0] != '-' {
			n++
		}
	}
	return n
}

// isRecursive reports whether an option of rm includes folders.
func isRecursive(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		if strings.HasPrefix(a, "--") {
			return isOption(a, "--recursive") || a == "--r" || a == "--re"
		}
		return a[0] == '-' && strings.ContainsAny(a, "rR")
	})
}

// inPlace reports whether sed or perl overwrites the files that it reads.
func inPlace(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		short := len(a) > 1 && a[0] == '-' && a[1] != '-'
		return strings.HasPrefix(a, "--in-place") || short && strings.Contains(a, "i")
	})
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

// harmlessGitOptions make git only show what it would do, or end a rebase without effect.
var harmlessGitOptions = sync.OnceValue(func() []string {
	return []string{"-n", "--dry-run", "--help", "-h", "--abort"}
})

// destroysGit returns why git with these arguments destroys; empty if it does not.
func destroysGit(args []string) string {
	words := []effects.Word{{Text: "git"}}
	for _, a := range args {
		words = append(words, effects.Word{Text: a})
	}
	g, ok := gitCommand("/", words)
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

// gitReason says what git destroys.
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
