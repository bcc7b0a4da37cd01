package policy

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/repo"
)

// gitOptions are git's long options that name a program, a configuration, or a file to read
// or write. Git accepts unambiguous beginnings of them.
const gitOptions = `
--upload-pack --receive-pack --exec --exec-path --config --config-env --git-dir --work-tree
--super-prefix --output --output-directory --template --file
--pathspec-from-file --ext-diff --no-index --open-files-in-pager --reference --reference-if-able
--separate-git-dir --bundle-uri --extcmd --tool
--unsafe-paths --directory --prefix --contents --ignore-revs-file --remote --import-marks
--import-marks-if-exists --export-marks --shallow-file
--attr-source --repo --recurse-submodules --to-command
`

// gitLetters are the short options of the same kind, by subcommand; "git" has the options before
// the subcommand.
const gitLetters = `
git:c clone:uc commit:Ft tag:F notes:F merge:F commit-tree:F rebase:x archive:o format-patch:oO
grep:Of config:f blame:S annotate:S ls-files:X difftool:xt
mergetool:t diff:O log:O show:O diff-tree:O diff-index:O diff-files:O whatchanged:O bugreport:o
diagnose:o submodule--helper:c
`

// gitPrograms are subcommands that run a program of their operands or of a configuration that they
// change or name. A subcommand with words does so only with one of the words.
const gitPrograms = `
config daemon instaweb filter-branch filter-repo difftool mergetool send-email for-each-repo
remote-ext upload-pack receive-pack upload-archive http-backend
shell fetch-pack send-pack credential cvsserver archimport cvsimport p4 svn fast-import imap-send
bisect:run,visualize,view submodule:foreach hook:run
`

// gitPlaces are subcommands that use a repository or a file at a path that an operand
// names.
const gitPlaces = " push fetch pull clone ls-remote remote submodule bundle subtree "

var gitRisks = sync.OnceValue(func() (t struct {
	options  []string
	letters  map[string]string
	programs map[string][]string
},
) {
	t.options, t.letters, t.programs = strings.Fields(gitOptions), map[string]string{}, map[string][]string{}
	for entry := range strings.FieldsSeq(gitLetters) {
		name, letters, _ := strings.Cut(entry, ":")
		t.letters[name] = letters
	}
	for entry := range strings.FieldsSeq(gitPrograms) {
		name, words, some := strings.Cut(entry, ":")
		if t.programs[name] = nil; some {
			t.programs[name] = strings.Split(words, ",")
		}
	}
	return t
})

// elsewhere matches an operand that names a repository of another machine: a URL of a
// network protocol, or "host:path".
var elsewhere = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i:(?:https?|ssh|git|git\+ssh|ssh\+git)://|[^/:]{2,}:(?:[^:/]|/[^/]|$))`)
})

// risk is a word of a git command, and its effect.
type risk struct{ word, what string }

// risks returns the words that make git use a program, a file or a repository in a place
// that commands can change, although a rule for the subcommand does not name them.
func (g gitCall) risks() (list []risk) {
	for _, glob := range g.globs {
		if _, why := expand(g.dir, glob); why != "" {
			list = append(list, risk{glob, "is not certain: " + why})
		}
	}
	program := "names a program, a configuration or a file that git then uses"
	options := func(words []string, letters string) {
		for _, word := range words {
			if word == "--" {
				return
			}
			if takesPlace(word, letters) {
				list = append(list, risk{word, program})
			}
		}
	}
	options(g.options, gitRisks().letters["git"])
	options(g.args, gitRisks().letters[g.name])
	if words, known := gitRisks().programs[g.name]; known && words == nil {
		list = append(list, risk{g.name, "can make git run programs"})
	} else if n := slices.IndexFunc(g.args, func(arg string) bool { return slices.Contains(words, arg) }); n >= 0 {
		list = append(list, risk{g.args[n], "runs the words after it as a program"})
	}
	if strings.Contains(gitPlaces, " "+g.name+" ") {
		for _, arg := range g.args {
			if g.local(arg) {
				list = append(list, risk{arg, "is a place on this machine, whose hooks and configuration git obeys"})
			}
		}
	}
	return list
}

// takesPlace reports whether a word is one of git's options, or the beginning of one, or a
// group of short options with one of the letters before a message.
func takesPlace(word, letters string) bool {
	name, _, _ := strings.Cut(word, "=")
	if strings.HasPrefix(name, "--") {
		return len(name) > 2 && slices.ContainsFunc(gitRisks().options, func(option string) bool {
			return strings.HasPrefix(option, name)
		})
	}
	group, _, _ := strings.Cut(word, "m")
	return strings.HasPrefix(group, "-") && strings.ContainsAny(group, letters)
}

// local reports whether an operand names a place on this machine: by its form, or because
// it exists.
func (g gitCall) local(arg string) bool {
	switch {
	case arg == "" || arg[0] == '-':
		return false
	case repo.IsThisMachine(arg):
		return true
	case elsewhere().MatchString(arg) && strings.Contains(arg, "://"):
		return false
	case filepath.IsAbs(arg), strings.ContainsAny(arg[:1], "~."), strings.Contains(arg, "::"),
		strings.Contains(arg, "://"), strings.Contains(arg, "/../"):
		return true
	}
	for _, name := range []string{arg, arg + ".git"} {
		if _, err := os.Lstat(filepath.Join(g.dir, name)); err == nil {
			return true
		}
	}
	return false
}

// askAboutWords asks about git outside of the sandbox by a rule, if a word of the command
// that no rule names leads git to a program, a file or a repository.
func (p *Policy) askAboutWords(c toolCall, verdicts []verdict, j *settle.Judgement) {
	for _, g := range c.gitCalls() {
		list := g.risks()
		if real, err := c.workspace.resolve(g.dir); err != nil || !disk.Within(c.workspace.real, real) {
			list = append(list, risk{cmp.Or(g.into, g.dir), "is outside of the working directory"})
		}
		for _, r := range list {
			if !ruleNames(verdicts, r.word) {
				j.Decision, j.Rule = event.Ask, bySandbox
				j.Why = clip(fmt.Sprintf("git would run outside of the sandbox, and %q %s; "+
					"a rule allows it only if its pattern has this word", r.word, r.what))
				return
			}
		}
	}
}

// ruleNames reports whether the rule of a verdict has a word, or the name of an option; or
// whether it allows all commands.
func ruleNames(verdicts []verdict, word string) bool {
	option, _, _ := strings.Cut(word, "=")
	return slices.ContainsFunc(verdicts, func(v verdict) bool {
		return v.rule == "rule shell" || v.rule == "rule *" ||
			slices.ContainsFunc(strings.Fields(v.rule), func(named string) bool {
				name, _, _ := strings.Cut(named, "=")
				return !strings.Contains(name, "*") &&
					(named == word || strings.HasPrefix(option, "-") && name == option)
			})
	})
}

// gitCalls returns the git commands of a call.
func (c toolCall) gitCalls() (list []gitCall) {
	at := filepath.Clean(absolute(c.workspace.dir, c.Workdir))
	for _, command := range c.script.Commands {
		if g, isGit := gitCommand(filepath.Clean(absolute(at, command.Dir)), command.Words); isGit {
			list = append(list, g)
		}
	}
	return list
}

// gitTreeChanges are git's commands that can bring a submodule into the index and then
// enter it.
const gitTreeChanges = ` am bisect checkout cherry-pick clone merge pull read-tree rebase reset restore revert stash
submodule switch worktree `

// entersSubmodules reports whether git can enter a submodule that the index does not have
// yet: commands bring it in before.
func entersSubmodules(calls []gitCall) bool {
	return len(calls) > 1 || len(calls) == 1 && slices.Contains(strings.Fields(gitTreeChanges), calls[0].name)
}
