package quarantine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/disk"
)

// stateFiles map the files of an unfinished rebase, cherry-pick, revert, bisection or application of
// mails, by which git could start a program or pass an option to one, to the form that they may have.
// A missing file is in order. The other files are data: names of commits and refs, messages, patches.
var stateFiles = sync.OnceValue(func() map[string]check {
	return map[string]check{
		"BISECT_NAMES":                        form(`(?: ?` + quotedWord + `)*`),
		"rebase-apply/apply-opt":              form(applyOptions),
		"rebase-apply/author-script":          form(authorScript),
		"rebase-apply/autostash":              form(`[0-9a-f]*`),
		"rebase-apply/gpg_sign_opt":           form(signOption),
		"rebase-apply/strategy":               form(strategy),
		"rebase-apply/strategy_opts":          form(strategyOptions),
		"rebase-merge/author-script":          form(authorScript),
		"rebase-merge/autostash":              form(`[0-9a-f]*`),
		"rebase-merge/git-rebase-todo":        todo,
		"rebase-merge/git-rebase-todo.backup": todo,
		"rebase-merge/gpg_sign_opt":           form(signOption),
		"rebase-merge/strategy":               form(strategy),
		"rebase-merge/strategy_opts":          form(strategyOptions),
		"sequencer/opts":                      sequencerOptions,
		"sequencer/todo":                      todo,
	}
})

// check returns what is out of order in a text; empty for nothing.
type check = func(text string) (fault string)

// Forms of values.
const (
	// strategy is one of git's own strategies; git would start git-merge-NAME for another one.
	strategy       = `ort|recursive|resolve|octopus|ours|subtree`
	strategyOption = `(?:--)?(?:ours|theirs|patience|histogram|diff-algorithm=[a-z]+|` +
		`ignore-(?:space-change|all-space|space-at-eol|cr-at-eol)|` +
		`(?:no-)?renormalize|no-renames|(?:find-renames|rename-threshold)(?:=[0-9]+%?)?|subtree(?:=[A-Za-z0-9._/-]*)?)`
	strategyOptions = `(?: *(?:` + strategyOption + `|"` + strategyOption + `"))* *`
	applyOptions    = `(?: ?'(?:--whitespace=[a-z-]+|-[Cp][0-9]+|--ignore-(?:space-change|whitespace)|--reject)')*`
	quotedWord      = `'(?:[^'\n\x00]|'\\['!]')*'`
	authorScript    = `(?:GIT_AUTHOR_(?:NAME|EMAIL|DATE)=` + quotedWord + `\n?)*`
	signKey         = `(?:(?:0x)?[0-9A-Fa-f]{8,64}!?)?`
	signOption      = `(?:-S` + signKey + `)?`
)

// form returns a check for a file of one form, with or without an end of its line.
func form(pattern string) check {
	expression := sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:` + pattern + `)(?:\r?\n)?$`)
	})
	return func(text string) string {
		if text == "" || expression().MatchString(text) {
			return ""
		}
		return text
	}
}

// todoCommands are the commands of a list that start no program.
const todoCommands = ` pick p reword r edit e squash s fixup f drop d noop break b label l reset t merge m ` +
	`update-ref u revert `

// todo returns the first line of a list of commands that could start a program.
func todo(text string) (fault string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, _, _ := strings.Cut(line, " ")
		if line != "" && line[0] != '#' && !strings.Contains(todoCommands, " "+word+" ") {
			return line
		}
	}
	return ""
}

// sequencerValues are the options of an unfinished cherry-pick or revert, with the form of their values.
var sequencerValues = sync.OnceValue(func() map[string]check {
	return map[string]check{
		"allow-empty": form(truth), "allow-empty-message": form(truth), "allow-ff": form(truth),
		"allow-rerere-auto": form(truth), "committer-date-is-author-date": form(truth),
		"default-msg-cleanup": form(`[a-z]+`), "drop-redundant-commits": form(truth), "edit": form(truth),
		"gpg-sign": form(signKey), "ignore-date": form(truth),
		"keep-redundant-commits": form(truth), "mainline": form(`[0-9]+`), "no-commit": form(truth),
		"record-origin": form(truth), "signoff": form(truth), "strategy": form(strategy),
		"strategy-option": form(strategyOption),
	}
})

const truth = `true|false`

// sequencerOptions returns the first variable of a cherry-pick's options that git does not write so.
func sequencerOptions(text string) (fault string) {
	list, strange := variables(text)
	if strange != "" {
		return strange
	}
	for _, v := range list {
		judge := sequencerValues()[v.key]
		if v.section != "options" || v.sub != "" || judge == nil || judge(v.value) != "" {
			return v.String()
		}
	}
	return ""
}

// stateNames are the names of the state files in order.
var stateNames = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(stateFiles())) })

// operations returns faults for programs that git would start to continue an unfinished operation.
func operations(dir *os.Root, look *look) (faults []fault) {
	seen := map[string]bool{}
	for _, name := range stateNames() {
		entry, _, _ := strings.Cut(name, "/")
		if seen[entry] || look.mustEnd() {
			continue
		}
		text, err := read(dir, name)
		what := stateFiles()[name](string(text))
		if err != nil {
			what = fmt.Sprintf("%s: %v", path.Base(name), err)
		}
		if seen[entry] = what != ""; seen[entry] {
			faults = append(faults, fault{
				entry, fmt.Sprintf("its unfinished %s has %.100q", entry, what), look.identify(dir, entry),
			})
		}
	}
	return faults
}

// maxIdentified bounds the bytes of the files of one part of a repository that are read to identify it.
const maxIdentified = 64 << 20

// identify returns a text that identifies a part of a repository: a file or a folder, with its rights,
// links and whole content, see [disk.Identify].
func (l *look) identify(dir *os.Root, name string) string {
	left := int64(maxIdentified)
	return l.identifyEntry(dir, name, &left)
}

func (l *look) identifyEntry(dir *os.Root, name string, left *int64) string {
	id, n := disk.Identify(dir, name, *left, nil)
	*left -= min(n, *left)
	list, err := readDir(dir, name, l)
	if errors.Is(err, errOdd) {
		return id // its kind is in its identity
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %v", id, err)
	for _, entry := range list {
		if l.mustEnd() {
			break // the look has no result
		}
		fmt.Fprintf(sum, "\n%q %s", entry.Name(), l.identifyEntry(dir, path.Join(name, entry.Name()), left))
	}
	return hex.EncodeToString(sum.Sum(nil))
}
