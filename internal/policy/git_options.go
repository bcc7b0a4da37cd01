package policy

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed git_options.txt
var gitOptions string

// gitGlobals are the options before the subcommand, beside -C.
const gitGlobals = " --no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects "

// Kinds of options.
const (
	takesNothing = 0
	takesValue   = '='
	mayTakeValue = '?'
)

// gitOptionTable has the options of subcommands, with their kinds.
var gitOptionTable = sync.OnceValue(func() map[string]map[string]byte {
	table := map[string]map[string]byte{}
	for line := range strings.Lines(gitOptions) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		names, options, _ := strings.Cut(strings.TrimSpace(line), ":")
		kinds := map[string]byte{}
		for option := range strings.FieldsSeq(options) {
			kind := option[len(option)-1]
			if kind != takesValue && kind != mayTakeValue {
				kinds[option] = takesNothing
				continue
			}
			kinds[option[:len(option)-1]] = kind
		}
		for name := range strings.SplitSeq(names, ", ") {
			table[name] = kinds
		}
	}
	return table
})

// gitArguments are the arguments of a subcommand, as git's parse-options reads them.
type gitArguments struct {
	// options are the known options, without values, and operands the other words.
	options, operands []string
	verb              string // the first operand, if it selects the options
	// unknown are words that are no known option.
	unknown []string
	// dashed are words like options that are values of options, and late such words after "--". Git
	// reads the words of most subcommands a second time, with other options.
	dashed, late []string
}

// gitReadsOnce are the subcommands that read their words once, so that a word like an option after "--"
// is a path; of "commit" and "tag", such a value is one as well.
const gitReadsOnce = " add rm checkout restore commit reset diff log show status blame grep ls-files "

// parseGit reads the arguments of a subcommand with some options. The word after an unknown option
// can be its value: it counts as unknown as well if it looks like an option.
func parseGit(kinds map[string]byte, words []string) (a gitArguments) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		if word == "--" {
			for _, word := range words[i+1:] {
				if a.operands = append(a.operands, word); strings.HasPrefix(word, "-") {
					a.late = append(a.late, word)
				}
			}
			return a
		}
		if len(word) < 2 || word[0] != '-' {
			a.operands = append(a.operands, word)
			continue
		}
		known, next := a.option(kinds, word)
		switch {
		case !known:
			if a.unknown = append(a.unknown, word); i+1 < len(words) && strings.HasPrefix(words[i+1], "-") {
				i++
				a.unknown = append(a.unknown, words[i])
			}
		case next && (i+1 == len(words) || words[i+1] == "--"):
			a.unknown = append(a.unknown, word)
		case next:
			if i++; strings.HasPrefix(words[i], "-") {
				a.dashed = append(a.dashed, words[i])
			}
		}
	}
	return a
}

// option reads a word with options, and reports whether all of them are known, and whether the next
// word is a value.
func (a *gitArguments) option(kinds map[string]byte, word string) (known, next bool) {
	if strings.HasPrefix(word, "--") {
		name, _, valued := strings.Cut(word, "=")
		kind, known := kinds[name]
		a.options = append(a.options, name)
		return known && !(valued && kind == takesNothing), kind == takesValue && !valued
	}
	for i := 1; i < len(word); i++ {
		name := "-" + word[i:i+1]
		kind, known := kinds[name]
		if !known {
			return false, false
		}
		a.options = append(a.options, name)
		if kind != takesNothing { // the rest of the word is the value
			return true, kind == takesValue && i+1 == len(word)
		}
	}
	return true, false
}

// arguments returns the arguments of a git command; ok is false if the subcommand is unknown.
func (g gitCall) arguments() (a gitArguments, ok bool) {
	table, words, verb := gitOptionTable(), g.args, ""
	kinds, ok := table[g.name]
	if len(words) > 0 {
		if own, is := table[g.name+" "+words[0]]; is {
			kinds, ok, verb, words = own, true, words[0], words[1:]
		}
	}
	if !ok {
		return a, false
	}
	a = parseGit(kinds, words)
	if a.verb = verb; !g.takesPaths() {
		a.unknown = append(a.unknown, a.late...)
	}
	if g.name != "commit" && g.name != "tag" {
		a.unknown = append(a.unknown, a.dashed...)
	}
	return a, true
}

// takesPaths reports whether git takes each word after "--" as a path.
func (g gitCall) takesPaths() bool {
	return strings.Contains(gitReadsOnce, " "+g.name+" ") ||
		g.name == "stash" && len(g.args) > 0 && g.args[0] == "push"
}

// has reports whether one of the options is present.
func (a gitArguments) has(options ...string) bool {
	return slices.ContainsFunc(a.options, func(option string) bool { return slices.Contains(options, option) })
}
