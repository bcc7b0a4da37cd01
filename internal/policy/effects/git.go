package effects

import (
	"slices"
	"strings"
)

// gitDir takes the options of "git [--no-pager] [-C DIR] SUBCOMMAND …" away.
func gitDir(words []Word) (dir string, rest []Word) {
	for len(words) > 0 && words[0].Text == "--no-pager" {
		words = words[1:]
	}
	if len(words) > 2 && words[0].Text == "-C" && words[1].Text != "" && !words[1].Glob {
		return words[1].Text, words[2:]
	}
	return "", words
}

// in is a path from the directory that git works in.
func in(dir, path string) string {
	if dir == "" || strings.HasPrefix(path, "/") {
		return path
	}
	return dir + "/" + path
}

// git has a subcommand that shows names and messages, or the content of what
// git tracks. Outside of a repository, diff would compare any two files.
func (a arguments) git(dir string) ([]Effect, string) {
	switch {
	case slices.ContainsFunc(a.values("--format", "--pretty", "--sort"), func(format string) bool { return fits(`(?s).*(%[-+ ]*G|signature).*`, format) }):
		return nil, "would have a signature verified by a program"
	case slices.ContainsFunc(a.values("-L"), func(lines string) bool { return !fits(`[0-9]+(,\+?[0-9]+)?`, lines) }):
		return nil, "is only known to only read with -L FROM,TO"
	case slices.ContainsFunc(a.words, isGlob):
		return nil, unknownOperands
	}
	var list []Effect
	if dir != "" {
		list = append(list, Effect{Kind: Looks, Path: dir})
	}
	for _, w := range a.words { // a path, perhaps after a revision
		list = append(list, Effect{Kind: Reads, Path: in(dir, w.Text)})
		if _, path, ok := strings.Cut(w.Text, ":"); ok && path != "" {
			list = append(list, Effect{Kind: Reads, Path: in(dir, path)})
		}
	}
	if a.operands == "shown" {
		list = append(list, Effect{Kind: Tracked, Path: in(dir, ".")})
	}
	return list, ""
}
