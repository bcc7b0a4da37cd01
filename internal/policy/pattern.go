package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/policy/effects"
)

// A pattern for commands consists of words. A "*" as a word matches any number of words, at
// the end also none; in a word it matches any characters; at the end of the last word it
// also matches all following words. A "**" there matches any characters only.
//
// Patterns are matched with the joined words of a command, with a zero byte after each. A
// word with wildcards is indefinite: the shell can expand it to any number of words.
const (
	indefinite = "\x01"
	anyText    = `[^\x00\x01]*`
	anyWords   = `(?:[^\x00]*\x00)*`
	options    = `(?:-[^\x00]*\x00(?:[^\x00]*\x00)?)*` // and their values
	edge       = `[^\pL\pN_.-]`                        // of a name within a text
)

// commandPattern is a compiled pattern for commands.
type commandPattern struct {
	// whole matches a command that certainly matches the pattern; begin matches a command
	// that matches it, begins with a match or can match it, from any word on: with any
	// directory of the program and any options.
	exact, begin *regexp.Regexp
	// mention matches a text that contains the program's name; nil if the pattern names
	// none.
	mention *regexp.Regexp
	name    string // of the program, in small letters; empty if the pattern names none
	git     bool   // for a subcommand of git, which can have an alias
}

func newCommandPattern(words []string) commandPattern {
	exact, begin := "", ""
	wild := func(word string) string { return strings.ReplaceAll(regexp.QuoteMeta(word), `\*`, anyText) }
	name := baseName(words[0])
	if strings.Contains(name, "*") {
		name = words[0]
	}
	for i, word := range slices.Backward(words) {
		last := i == len(words)-1
		if word == "*" {
			if exact = anyWords + exact; !last {
				begin = anyWords + begin
			}
			continue
		}
		if last && strings.HasSuffix(word, "*") && (!strings.HasSuffix(word, "**") || strings.Trim(word, "*") == "") {
			exact = anyWords
		}
		exact = wild(word) + `\x00` + exact
		if i == 0 {
			begin = `(?:` + indefinite + `|(?:[^\x00]*[/\\])?` + wild(name) + `(?:\.exe)?\x00` + begin + `)`
		} else {
			begin = options + `(?:` + indefinite + `|` + wild(word) + `\x00` + begin + `)`
		}
	}
	p := commandPattern{
		exact: regexp.MustCompile(`(?s)^` + exact + `$`),
		begin: regexp.MustCompile(`(?is)(?:^|\x00)` + begin),
	}
	if words[0] != "*" {
		if !strings.Contains(name, "*") {
			p.name = name
		}
		p.git = len(words) > 1 && words[1] != "*" && name == "git"
		p.mention = regexp.MustCompile(`(?is)[$` + "`" + `]|(?:^|` + edge + `)[-.]*` + wild(name) + `[-.]*(?:` +
			edge + `|$)`)
	}
	return p
}

// joined returns the words of a command in the form that patterns match.
func joined(words []effects.Word) (text string) {
	for _, w := range words {
		if w.Glob {
			w.Text = indefinite
		}
		text += w.Text + "\x00"
	}
	return text
}

// allows reports whether a command certainly matches the pattern. The pattern can omit the
// directories of the system's programs.
func (p commandPattern) allows(words []effects.Word) bool {
	text := joined(words)
	if dir := path.Dir(words[0].Text); dir == "/bin" || dir == "/usr/bin" {
		text = text[len(dir)+1:]
	}
	return p.exact.MatchString(text)
}

// forbids reports whether a command matches the pattern, begins with a match, or can start
// a command that does. Commands in the table are known to start nothing.
func (p commandPattern) forbids(e effect, known bool) match {
	text := joined(e.words)
	switch found := p.begin.FindString(text); { // with a zero byte before a match at a later word
	case found != "" && found[0] != 0 && !strings.Contains(found, indefinite):
		return yes
	case found != "" && (found[0] != 0 || !known):
		return maybe
	case known || p.mention == nil:
		return no
	}
	// as an inner shell reads them
	arguments := strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(text[len(e.words[0].Text)+1:])
	if startsOther().MatchString(text) || p.git && e.alias || p.mention.MatchString(arguments) {
		return maybe
	}
	return no
}

// startsOther matches a command that runs a script from its words or its input, which the
// policy does not analyse.
var startsOther = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)(?:^|\x00)(?:[^\x00]*/)?(?:` +
		`(?:eval|source|trap|alias|awk|gawk|mawk|nawk|ed|ex|vi|vim|nvim|emacs|gdb|lldb|m4|osascript|xargs|parallel|enable)[0-9.]*\x00|` +
		`(?:sh|bash|dash|ash|ksh|mksh|rbash|zsh|fish|csh|tcsh|pwsh|python|perl|ruby|node|php|lua|tclsh|expect|deno|bun)[0-9.]*\x00(?:$|[-+\x01]|/dev/|/proc/)|` +
		`env\x00-|git-)|(?:^|\x00)\.\x00`)
})

// baseName returns the name of a program without its directory and in small letters,
// because many file systems ignore case.
func baseName(name string) string {
	return strings.TrimSuffix(path.Base(strings.ToLower(slashed(name))), ".exe")
}
