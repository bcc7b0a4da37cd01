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
// end. A word that is only known when the command runs is indefinite.
const (
	indefinite = "\x01"
	anyText    = `[^\x00\x01]*`
	anyWords   = `(?:[^\x00]*\x00)*`
	options    = `(?:-[^\x00]*\x00(?:[^\x00]*\x00)?)*` // and their values
	edge       = `[^\pL\pN_.-]`                        // of a name within a text
)

// commandPattern is a pattern for commands that has been understood.
type commandPattern struct {
	// whole matches a command that is surely what the pattern says, begin one
	// that is that or begins with it, wherever the program is and whatever
	// options come between, and perhaps one that may be that.
	whole, begin, perhaps *regexp.Regexp
	// later is begin or perhaps from another word on; mention matches a text
	// that has the program's name in it or, in a setting, its subcommand's.
	// Both are nil where the pattern names no program.
	later, mention *regexp.Regexp
	// aliases says that it is about a subcommand of git, which may have others.
	aliases bool
}

func newCommandPattern(words []string) commandPattern {
	whole, begin, perhaps := "", "", ""
	wild := func(word string) string { return strings.ReplaceAll(regexp.QuoteMeta(word), `\*`, anyText) }
	for i, word := range words {
		exact, last := wild(word), i == len(words)-1
		if word == "*" {
			whole += anyWords
			if !last {
				begin += anyWords
			}
			continue
		}
		if whole += exact + `\x00`; last && strings.HasSuffix(word, "*") {
			whole += anyWords
		}
		if i > 0 {
			begin += options
		} else if base := baseName(word); !strings.Contains(base, "*") {
			exact += `|(?:[^\x00]*[/\\])?` + wild(base) + `(?:\.exe)?`
		} else {
			exact += `|[^\x00]*[/\\]` + exact
		}
		perhaps += begin + indefinite + "|"
		begin += `(?:` + exact + `)\x00`
	}
	p := commandPattern{
		whole: regexp.MustCompile(`(?s)^` + whole + `$`), begin: regexp.MustCompile(`(?is)^` + begin),
		perhaps: regexp.MustCompile(`(?is)^(?:` + perhaps + indefinite + `)`),
	}
	if words[0] == "*" {
		return p
	}
	mention := `[$` + "`" + `]|(?:^|` + edge + `)[-.]*` + wild(baseName(words[0])) + `[-.]*(?:` + edge + `|$)`
	if len(words) > 1 && words[1] != "*" {
		mention += `|=(?:.*` + edge + `)?[-.]*` + wild(words[1]) + `[-.]*(?:` + edge + `|$)`
		p.aliases = baseName(words[0]) == "git"
	}
	p.later, p.mention = regexp.MustCompile(`(?is)\x00(?:`+perhaps+begin+`)`), regexp.MustCompile(`(?is)`+mention)
	return p
}

// joined are the words of a command as patterns see them.
func joined(words []effects.Word) string {
	text := ""
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
func (p commandPattern) forbids(words []effects.Word, known bool) match {
	text := joined(words)
	switch {
	case p.begin.MatchString(text):
		return yes
	case p.perhaps.MatchString(text):
		return maybe
	case known || p.later == nil:
		return no
	case p.later.MatchString(text), startsOther().MatchString(text), p.aliases && gitAlias(words):
		return maybe
	}
	for _, w := range words[1:] { // a script or a setting that comes to it: "git -c alias.p=push p"
		if p.mention.MatchString(strings.NewReplacer(`"`, "", "'", "", `\`, "").Replace(w.Text)) { // as a shell within it does
			return maybe
		}
	}
	return no
}

// startsOther matches a command that runs a script that is in its words or
// comes from its input: what that is, is not looked at.
var startsOther = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)(?:^|\x00)(?:[^\x00]*/)?(?:` +
		`(?:eval|source|trap|alias|awk|gawk|mawk|nawk|ed|ex|vi|vim|nvim|emacs|gdb|lldb|m4|osascript|xargs|parallel|enable)[0-9.]*\x00|` +
		`(?:sh|bash|dash|ash|ksh|mksh|rbash|zsh|fish|csh|tcsh|pwsh|python|perl|ruby|node|php|lua|tclsh|expect|deno|bun)[0-9.]*\x00(?:$|[-+\x01]|/dev/|/proc/)|` +
		`env\x00-)|(?:^|\x00)\.\x00`)
})

// gitAlias reports whether a command has git run what is no subcommand of its
// own: by an alias it may be any other.
func gitAlias(words []effects.Word) bool {
	at := slices.IndexFunc(words, func(w effects.Word) bool { return strings.HasPrefix(baseName(w.Text), "git") })
	if at < 0 || baseName(words[at].Text) != "git" {
		return at >= 0 && strings.HasPrefix(baseName(words[at].Text), "git-") // where git keeps them
	}
	for words = words[at+1:]; len(words) > 0 && strings.HasPrefix(words[0].Text, "-"); words = words[1:] {
		if slices.Contains([]string{"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env"}, words[0].Text) && len(words) > 1 {
			words = words[1:]
		}
	}
	return len(words) > 0 && !slices.Contains(strings.Fields(gitCommands), words[0].Text)
}

const gitCommands = `add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore checkout checkout-index cherry cherry-pick
	clean clone commit commit-tree config count-objects describe diff diff-files diff-index diff-tree difftool fetch for-each-ref format-patch fsck
	gc grep hash-object help init log ls-files ls-remote ls-tree merge merge-base merge-file merge-tree mergetool mv name-rev notes prune pull push
	range-diff read-tree rebase reflog remote repack replace rerere reset restore rev-list rev-parse revert rm shortlog show show-branch show-ref
	sparse-checkout stash status submodule switch symbolic-ref tag update-index update-ref var verify-commit verify-tag version worktree write-tree`

// baseName is the name of a program without its directory, and without case,
// which for many file systems does not count.
func baseName(name string) string {
	return strings.TrimSuffix(path.Base(strings.ToLower(slashed(name))), ".exe")
}
