package policy

import (
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
)

// gitCommands are the subcommands that may run without asking. Left out on
// purpose: options that start programs (--ext-diff, -O), that write
// (--output), and that read any file (--no-index).
var gitCommands = sync.OnceValue(func() map[string]harmless {
	logs := grammar{
		flags: "pnsuzcmiEFPgbwaMCDR", values: "nSGLU", number: true,
		long: words(`oneline graph all decorate? no-decorate stat? numstat shortstat name-only name-status format= pretty? abbrev-commit abbrev? since=
			after= until= before= author= committer= grep= follow reverse max-count= patch no-patch merges no-merges first-parent date= cached staged
			color? no-color word-diff? unified= ignore-all-space ignore-space-change ignore-blank-lines summary raw dirstat diff-filter= left-right
			topo-order date-order tags? branches? remotes? skip= find-renames? no-renames no-ext-diff no-textconv exit-code quiet check minimal
			histogram patience diff-algorithm= merge-base relative? full-index binary no-prefix function-context source boundary
			ancestry-path cherry-pick no-walk`),
	}
	return map[string]harmless{
		"status": {operands: revs, grammar: grammar{flags: "sbvz", exact: []string{"-uno", "-uall", "-unormal", "-u"}, long: words(`short branch porcelain? long verbose
			untracked-files? ignored? show-stash no-renames column? ahead-behind no-ahead-behind`)}},
		"log": {operands: revs, grammar: logs}, "show": {operands: revs, grammar: logs}, "diff": {operands: revs, grammar: logs},
		"shortlog": {operands: revs, grammar: grammar{flags: "sne", long: words("summary numbered email all since= until= no-merges")}},
		"rev-list": {operands: revs, grammar: grammar{values: "n", long: words("count max-count= all since= until= no-merges merges reverse first-parent left-right")}},
		"rev-parse": {operands: revs, grammar: grammar{flags: "q", long: words(`abbrev-ref? show-toplevel show-prefix show-cdup git-dir git-common-dir
			is-inside-work-tree is-bare-repository short? verify quiet symbolic-full-name`)}},
		"merge-base": {operands: revs, grammar: grammar{flags: "a", long: words("all is-ancestor fork-point octopus")}},
		"describe":   {operands: revs, grammar: grammar{long: words("tags always dirty? abbrev= all long match= exact-match")}},
		"cat-file":   {operands: revs, grammar: grammar{flags: "ptse"}},
		"ls-tree":    {operands: revs, grammar: grammar{flags: "rltdz", long: words("name-only name-status long full-tree full-name abbrev?")}},
		"ls-files":   {operands: revs, grammar: grammar{flags: "cdmosiutvz", values: "x", long: words("cached deleted modified others stage unmerged exclude-standard exclude= full-name error-unmatch ignored directory")}},
		"blame":      {operands: revs, grammar: grammar{flags: "wlstefnMCcb", values: "L", long: words("date= porcelain line-porcelain show-name show-number show-email root abbrev=")}},
		"grep": {operands: pattern, here: true, grammar: grammar{flags: "nilLcwEFPGvhHoqapW", values: "eABCm", long: words(`line-number ignore-case files-with-matches
			files-without-match count word-regexp extended-regexp fixed-strings perl-regexp cached untracked context= after-context= before-context=
			show-function function-context heading break color? no-color name-only and or not all-match max-depth=`)}},
		"branch":   {operands: none, grammar: grammar{flags: "avr", exact: []string{"-vv"}, long: words("list all remotes verbose show-current sort= format= contains= merged= no-merged= column? color? no-color")}},
		"tag":      {operands: none, grammar: grammar{flags: "l", long: words("list sort= format= contains= merged= points-at=")}},
		"remote":   {operands: none, grammar: grammar{flags: "v", long: words("verbose")}},
		"stash":    {operands: some, most: 1},
		"worktree": {operands: some, most: 1, grammar: grammar{long: words("porcelain")}},
		"reflog":   {operands: none, grammar: grammar{number: true, values: "n", long: words("oneline date=")}},
		"version":  {operands: none},
	}
})

func (s *script) git(args []word) (touches []deed, why string) {
	for len(args) > 0 && args[0].definite() && args[0].text == "--no-pager" {
		args = args[1:]
	}
	if len(args) == 0 || !args[0].definite() {
		return nil, "which git command this is, is not known"
	}
	name := args[0].text
	if len(args) == 1 && name == "--version" {
		return nil, ""
	}
	h, ok := gitCommands()[name]
	if !ok {
		return nil, "git " + name + " is not on the list of harmless commands"
	}
	if name == "stash" || name == "worktree" {
		if len(args) < 2 || args[1].text != "list" {
			return nil, "git " + name + " is harmless only as git " + name + " list"
		}
	}
	return s.check("git "+name, h, args[1:])
}

// revisions looks at operands of git, any of which may be a path: two paths
// outside of a repository are compared.
func (s *script) revisions(list []string) (touches []deed, why string) {
	for _, text := range list {
		if strings.HasPrefix(text, "-") {
			return nil, "an option of git is not known to be harmless"
		}
		touches = append(touches, s.paths(reads, text)...)
		if _, path, ok := strings.Cut(text, ":"); ok && path != "" && !strings.HasPrefix(text, ":") {
			touches = append(touches, s.paths(reads, path)...)
		}
	}
	return touches, ""
}

// maxBelow bounds the entries that are looked at for secrets before a command
// reads all of a directory.
const maxBelow = 5000

// below returns deeds for secret files in the directories that are read with
// all that is in them.
func (s *script) below(touches []deed) []deed {
	seen := 0
	for _, t := range touches {
		if t.kind != reads || !t.place.inside {
			continue
		}
		var found *deed
		err := filepath.WalkDir(t.place.real, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil // the command cannot read it either
			}
			if seen++; seen > maxBelow {
				return errManyFiles
			}
			if p, err := s.ground.locate(s.ground.dir, path); err == nil && !entry.IsDir() && p.secret() {
				d := pathDeed(reads, p)
				found = &d
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			return []deed{{kind: hidden, text: t.place.String(), why: "it reads a directory with more files than can be looked at"}}
		}
		if found != nil {
			return []deed{*found}
		}
	}
	return nil
}
