package commands

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/settle-agent/settle/internal/client/review"
)

const initPrompt = `Write AGENTS.md for this repository: the instructions that a coding agent needs to work in it.

Read first: the README, the build files, the CI configuration, existing instructions (AGENTS.md, CLAUDE.md, .cursorrules) and a few typical source and test files. Then write, in at most 60 lines:
- what the project is, in one or two sentences, and where its main parts are
- the exact commands to build, to test everything, to run a single test, to lint and to format
- conventions that differ from what is usual for the language, each with the file that shows it
- what must not be changed or run, and why

State only what you found in the repository: no general advice, no guesses. Check a command by running it where that changes nothing. If AGENTS.md exists, improve it and keep what is still true.`

// reviewName is the built-in command that reviews the changes that its words describe.
const reviewName = "review"

// builtIn returns settle's own commands that are ordinary prompts, so that each frontend has
// them.
func builtIn() []Command {
	return []Command{
		{Name: "init", About: "have the model write AGENTS.md from the repository", BuiltIn: true, text: initPrompt},
		{
			Name: reviewName, Hint: "[WHAT]", BuiltIn: true,
			About: "have the model review a change; without words, what is not committed",
		},
	}
}

// calls reports whether the words after the command's name make it a call. The name of a built-in command
// also begins ordinary text, such as "/init panics". /init takes no words. /review takes one word that is
// a range or the name of a commit, a branch or a file. A person's own command takes any words.
func (c Command) calls(words string) bool {
	words = strings.TrimSpace(words)
	if !c.BuiltIn || words == "" {
		return true
	}
	if c.Name != reviewName || strings.ContainsFunc(words, unicode.IsSpace) {
		return false
	}
	_, isRange := review.RangeOf(words)
	return isRange || review.CheckBase(words) == nil
}

// BuiltInNamed returns the prompt of a built-in command. It fails if there is none of the name.
func BuiltInNamed(name, arguments string) (string, error) {
	for _, c := range builtIn() {
		if c.Name == name {
			return c.Expand(arguments)
		}
	}
	return "", fmt.Errorf("there is no built-in command %q", name)
}

// WithBuiltIn is the set with the built-in commands. A command or a skill of the name replaces
// one.
func (s Set) WithBuiltIn() Set {
	s.List = slices.Clone(s.List)
	for _, c := range builtIn() {
		if !slices.ContainsFunc(s.List, func(found Command) bool { return found.Name == c.Name }) {
			s.List = append(s.List, c)
		}
	}
	slices.SortFunc(s.List, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// reviewed returns the prompt of a review.
func reviewed(what string) string { return review.Prompt(cmp.Or(what, review.Default)) }
