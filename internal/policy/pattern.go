package policy

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/policy/effects"
)

// A pattern for commands is words. A "*" alone stands for any number of words,
// at the end for none too; within a word it stands for any characters; at the
// end of the last word it also stands for all words that follow.
//
// It is matched with the words of a command joined, each with a zero at its
// end. A word with wildcards is indefinite: it may be any number of others.
const (
	indefinite = "\x01"
	anyText    = `[^\x00\x01]*`
	anyWords   = `(?:[^\x00]*\x00)*`
	options    = `(?:-[^\x00]*\x00(?:[^\x00]*\x00)?)*` // and their values
	edge       = `[^\pL\pN_.-]`                        // of a name within a text
)

// commandPattern is a pattern for commands that has been understood.
type commandPattern struct {
	// whole matches a command that is surely what the pattern says; begin what
	// is that or begins with it, or may be it, from any word on: wherever the
	// program is, and whatever options come between.
	whole, begin *regexp.Regexp
	// mention matches a text that has the program's name in it; nil where the
	// pattern names none.
	mention *regexp.Regexp
	name    string // of the program, in small letters; empty where the pattern names none
	git     bool   // it is about a subcommand of git, which may have an alias
}

func newCommandPattern(words []string) commandPattern {
	whole, begin := "", ""
	wild := func(word string) string { return strings.ReplaceAll(regexp.QuoteMeta(word), `\*`, anyText) }
	name := baseName(words[0])
	if strings.Contains(name, "*") {
		name = words[0]
	}
	for i, word := range slices.Backward(words) {
		last := i == len(words)-1
		if word == "*" {
			if whole = anyWords + whole; !last {
				begin = anyWords + begin
			}
			continue
		}
		if last && strings.HasSuffix(word, "*") {
			whole = anyWords
		}
		whole = wild(word) + `\x00` + whole
		if i == 0 {
			begin = `(?:` + indefinite + `|(?:[^\x00]*[/\\])?` + wild(name) + `(?:\.exe)?\x00` + begin + `)`
		} else {
			begin = options + `(?:` + indefinite + `|` + wild(word) + `\x00` + begin + `)`
		}
	}
	p := commandPattern{whole: regexp.MustCompile(`(?s)^` + whole + `$`), begin: regexp.MustCompile(`(?is)(?:^|\x00)` + begin)}
	if words[0] != "*" {
		if !strings.Contains(name, "*") {
			p.name = name
		}
		p.git = len(words) > 1 && words[1] != "*" && name == "git"
		p.mention = regexp.MustCompile(`(?is)[$` + "`" + `]|(?:^|` + edge + `)[-.]*` + wild(name) + `[-.]*(?:` + edge + `|$)`)
	}
	return p
}

// joined are the words of a command as patterns see them.
func joined(words []effects.Word) (text string) {
	for _, w := range words {
		if w.Glob {
			w.Text = indefinite
		}
		text += w.Text + "\x00"
	}
	return text
}

// allows reports whether a command is surely what the pattern says. What the
// system keeps programs in need not be said.
func (p commandPattern) allows(words []effects.Word) bool {
	text := joined(words)
	if dir := path.Dir(words[0].Text); dir == "/bin" || dir == "/usr/bin" {
		text = text[len(dir)+1:]
	}
	return p.whole.MatchString(text)
}

// forbids reports whether a command is what the pattern says or begins with
// that, or may start what does. Of commands in the table it is known that they
// start nothing.
func (p commandPattern) forbids(e effect, known bool) match {
	text := joined(e.words)
	switch found := p.begin.FindString(text); { // with a zero before it from a later word on
	case found != "" && found[0] != 0 && !strings.Contains(found, indefinite):
		return yes
	case found != "" && (found[0] != 0 || !known):
		return maybe
	case known || p.mention == nil:
		return no
	}
	arguments := strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(text[len(e.words[0].Text)+1:]) // as a shell in them has it
	if startsOther().MatchString(text) || p.git && e.alias || p.mention.MatchString(arguments) {
		return maybe
	}
	return no
}

// startsOther matches a command that runs a script that is in its words or
// comes from its input: what that is, is not looked at.
var startsOther = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)(?:^|\x00)(?:[^\x00]*/)?(?:` +
		`(?:eval|source|trap|alias|awk|gawk|mawk|nawk|ed|ex|vi|vim|nvim|emacs|gdb|lldb|m4|osascript|xargs|parallel|enable)[0-9.]*\x00|` +
		`(?:sh|bash|dash|ash|ksh|mksh|rbash|zsh|fish|csh|tcsh|pwsh|python|perl|ruby|node|php|lua|tclsh|expect|deno|bun)[0-9.]*\x00(?:$|[-+\x01]|/dev/|/proc/)|` +
		`env\x00-|git-)|(?:^|\x00)\.\x00`)
})

// baseName is the name of a program without its directory, and without case,
// which for many file systems does not count.
func baseName(name string) string {
	return strings.TrimSuffix(path.Base(strings.ToLower(slashed(name))), ".exe")
}
