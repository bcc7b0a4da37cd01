package policy

import (
	"regexp"
	"slices"
	"strings"
)

// Parts of a git command in which the word of a risk is.
const (
	inArguments  = iota
	beforeName   // an option before the subcommand, with its value
	isSubcommand // the subcommand itself
	inNoWord
)

// splitGit splits the words after "git" before the subcommand.
func splitGit(words []string) (head, rest []string) {
	n := 0
	for n < len(words) && strings.HasPrefix(words[n], "-") {
		if n++; gitHeadValue(words[n-1]) {
			n = min(n+1, len(words))
		}
	}
	return words[:n], words[n:]
}

// gitHeadValue reports whether the word after an option before the subcommand is its value.
func gitHeadValue(option string) bool {
	switch option {
	case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env":
		return true
	}
	return false
}

// ruleNames reports whether the rule of a verdict that matches a git command has the word of a risk as
// often as the command; or whether it allows all commands.
func ruleNames(verdicts []verdict, g gitCall, r risk) bool {
	return slices.ContainsFunc(verdicts, func(v verdict) bool {
		pattern, isPattern := strings.CutPrefix(v.rule, "rule shell ")
		return v.rule == "rule shell" || v.rule == "rule *" || isPattern && g.isNamed(strings.Fields(pattern), r)
	})
}

// isNamed reports whether a pattern matches the command and has the word of a risk as often.
func (g gitCall) isNamed(pattern []string, r risk) bool {
	if baseName(pattern[0]) != "git" || !newCommandPattern(pattern).allows(g.words) {
		return false
	}
	head, rest := splitGit(pattern[1:])
	switch {
	case r.part == beforeName:
		return namesUses(head, g.head, r.word)
	case len(rest) == 0, r.part == inNoWord:
		return false
	case r.part == isSubcommand:
		return rest[0] == g.name
	}
	return namesUses(rest[1:], g.args, r.word)
}

// wordUse is a word of a command or a pattern, with the next word if it can be the word's value.
type wordUse struct{ word, value string }

// usesOf returns the uses of a word; of an option, those with any value.
func usesOf(words []string, word string) (list []wordUse) {
	option, _, _ := strings.Cut(word, "=")
	for i, w := range words {
		name, _, valued := strings.Cut(w, "=")
		switch isOption := strings.HasPrefix(word, "-"); {
		case isOption && name == option && !valued && i+1 < len(words):
			list = append(list, wordUse{w, words[i+1]})
		case isOption && name == option, w == word:
			list = append(list, wordUse{word: w})
		}
	}
	return list
}

// namesUses reports whether each use of a word in a command is one in a pattern, where "*" in a value
// stands for any text. Each use in the pattern counts once.
func namesUses(pattern, words []string, word string) bool {
	named, uses := usesOf(pattern, word), usesOf(words, word)
	fixed := word
	if strings.HasPrefix(word, "-") {
		fixed, _, _ = strings.Cut(word, "=")
	}
	if len(uses) == 0 || strings.Contains(fixed, "*") {
		return false
	}
	for _, matches := range []func(pattern, text string) bool{
		func(pattern, text string) bool { return pattern == text }, matchesText,
	} {
		uses = slices.DeleteFunc(uses, func(use wordUse) bool {
			i := slices.IndexFunc(named, func(n wordUse) bool {
				return matches(n.word, use.word) && matches(n.value, use.value)
			})
			if i >= 0 {
				named = slices.Delete(named, i, i+1)
			}
			return i >= 0
		})
	}
	return len(uses) == 0
}

// matchesText reports whether a word of a pattern matches a word.
func matchesText(pattern, text string) bool {
	return regexp.MustCompile(
		`(?s)^` + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`) + `$`).MatchString(text)
}
