package effects

import (
	"slices"
	"strings"
	"sync"
)

// gitTable has the subcommands of git that only read. Left out on purpose:
// options that start programs (--ext-diff, --textconv, -O, --show-signature),
// that write (--output), and that read any file (--no-index).
var gitTable = sync.OnceValue(func() map[string]entry {
	logs := entry{
		operands: revs, flags: "psuzcmiEFPgbwaMCDRWt", numbers: "nUl", texts: "SG", digits: true, more: shown,
		long: `oneline graph all decorate? no-decorate stat? numstat shortstat name-only name-status format= pretty? abbrev-commit abbrev? since=
			after= until= before= author= committer= grep= follow reverse max-count= patch no-patch merges no-merges first-parent date= cached staged
			color? no-color word-diff? unified= ignore-all-space ignore-space-change ignore-blank-lines summary raw dirstat diff-filter= left-right
			topo-order date-order tags? branches? remotes? skip= find-renames? no-renames no-ext-diff no-textconv exit-code quiet check minimal
			histogram patience diff-algorithm= merge-base relative? full-index binary no-prefix function-context source boundary cc
			ancestry-path cherry-pick no-walk`,
	}
	names := entry{operands: revs, more: named}
	with := func(e entry, flags, numbers, texts, long string) entry {
		e.flags, e.numbers, e.texts, e.long = flags, numbers, texts, long
		return e
	}
	list := func(e entry) entry { e.operands = none; return e }
	return map[string]entry{
		"log": logs, "show": logs, "diff": logs,
		"status": with(entry{operands: revs, more: status}, "sbvz", "", "", `short branch porcelain? long verbose untracked-files? ignored?
			show-stash no-renames column? ahead-behind no-ahead-behind`),
		"shortlog":   with(names, "sne", "", "", "summary numbered email all since= until= no-merges"),
		"rev-list":   with(names, "", "n", "", "count max-count= all since= until= no-merges merges reverse first-parent left-right"),
		"rev-parse":  with(names, "q", "", "", `abbrev-ref? show-toplevel show-prefix show-cdup git-dir git-common-dir is-inside-work-tree is-bare-repository short? verify quiet symbolic-full-name`),
		"merge-base": with(names, "a", "", "", "all is-ancestor fork-point octopus"),
		"describe":   with(names, "", "", "", "tags always dirty abbrev= all long match= exact-match"),
		"cat-file":   with(entry{operands: revs, more: shown, least: 2, most: 2}, "", "", "", ""),
		"ls-tree":    with(names, "rltdz", "", "", "name-only name-status long full-tree full-name abbrev?"),
		"ls-files":   with(names, "cdmosiutvz", "", "x", "cached deleted modified others stage unmerged exclude-standard exclude= full-name error-unmatch ignored directory"),
		"blame":      with(entry{operands: revs, more: shown}, "wlstefnMCcb", "", "L", "date= porcelain line-porcelain show-name show-number show-email root abbrev="),
		"grep": with(entry{operands: revs, more: shown, digits: true, least: 1}, "nilLcwEFGPvhHoqapW", "ABCm", "e", `line-number ignore-case files-with-matches
			files-without-match count word-regexp extended-regexp fixed-strings perl-regexp cached context= after-context= before-context=
			show-function function-context heading break color? no-color name-only all-match max-depth=`),
		"branch":   list(with(names, "avr", "", "", "list all remotes verbose show-current sort= format= contains= merged= no-merged= column? color? no-color")),
		"tag":      list(with(names, "l", "", "", "list sort= format= contains= merged= points-at=")),
		"remote":   list(with(entry{more: remotes}, "v", "", "", "verbose")),
		"reflog":   list(with(entry{more: named, digits: true}, "", "n", "", "oneline date=")),
		"stash":    with(entry{operands: texts, least: 1, most: 1, fits: `^list$`}, "", "", "", ""),
		"worktree": with(entry{operands: texts, least: 1, most: 1, fits: `^list$`}, "", "", "", "porcelain"),
	}
})

// git takes "git [--no-pager] [-C DIR] SUBCOMMAND …".
func git(g given) ([]Effect, string) {
	words, dir := g.operands, "."
	for len(words) > 0 && words[0].Text == "--no-pager" {
		words = words[1:]
	}
	if len(words) > 2 && words[0].Text == "-C" && !words[1].Glob && words[1].Text != "" {
		dir, words = words[1].Text, words[2:]
	}
	if len(words) == 0 {
		return nil, "git needs a command"
	}
	if len(words) == 1 && words[0].Text == "--version" {
		return nil, ""
	}
	name := words[0].Text
	e, ok := gitTable()[name]
	if !ok || words[0].Glob {
		return nil, "git " + name + " is not on the list of commands that only read"
	}
	if name == "cat-file" && len(words) == 3 && slices.Contains([]string{"-p", "-t", "-s", "-e"}, words[1].Text) {
		words = []Word{words[0], {Text: "blob"}, words[2]} // the same as far as effects go
	}
	if name == "status" {
		words = slices.DeleteFunc(slices.Clone(words), func(w Word) bool { return slices.Contains([]string{"-uno", "-uall", "-unormal"}, w.Text) })
	}
	g, ok = e.parse(words[1:])
	switch n := len(g.operands); {
	case !ok:
		return nil, "an option of git " + name + " is not on the list of those that only read"
	case n < e.least, e.operands == none && n > 0, e.most > 0 && n > e.most, slices.ContainsFunc(g.operands, isGlob):
		return nil, "git " + name + " is not known to only read with these operands"
	case e.fits != "" && !matches(e.fits, g.operands[0].Text):
		return nil, "git " + name + " is only known to be harmless as git " + name + " list"
	}
	list := []Effect{{Kind: Obeys, Path: ".", In: dir}}
	if dir != "." {
		list = append(list, Effect{Kind: Looks, Path: dir})
	}
	if e.more == nil {
		return list, ""
	}
	further, why := e.more(g)
	for _, f := range further {
		f.In = dir
		list = append(list, f)
	}
	return list, why
}

// named is a subcommand that shows names and messages.
func named(g given) ([]Effect, string) {
	for _, value := range g.values("format", "pretty", "sort") {
		if matches(`%[-+ ]*G|signature`, value) {
			return nil, "git would have a signature verified by a program"
		}
	}
	for _, value := range g.values("L") {
		if !matches(`^[0-9]+(,\+?[0-9]+)?$`, value) {
			return nil, "git is only known to be harmless with -L FROM,TO"
		}
	}
	var list []Effect
	for _, w := range g.operands {
		list = append(list, operandPaths(w.Text)...)
	}
	return list, ""
}

// operandPaths are the paths that an operand may be: itself, or after a revision.
func operandPaths(text string) []Effect {
	list := []Effect{{Kind: Reads, Path: text}}
	if _, path, ok := strings.Cut(text, ":"); ok && path != "" {
		list = append(list, Effect{Kind: Reads, Path: path})
	}
	return list
}

// shown is a subcommand that may show the content of what git tracks. Outside
// of a repository it would compare any two files.
func shown(g given) ([]Effect, string) {
	list, why := named(g)
	for i, w := range g.operands {
		list = append(list, Effect{Kind: Tracked, Path: w.Text})
		if g.dashes >= 0 && i >= g.dashes && !strings.ContainsAny(w.Text, ":*?[\\") {
			continue
		}
		list = append(list, Effect{Kind: Tracked, Path: "."})
	}
	if len(g.operands) == 0 || g.dashes == len(g.operands) {
		list = append(list, Effect{Kind: Tracked, Path: "."})
	}
	return list, why
}

// status shows content only if it is to be verbose.
func status(g given) ([]Effect, string) {
	if g.has("v", "verbose") {
		return shown(g)
	}
	return named(g)
}

// remotes are shown with their addresses.
func remotes(given) ([]Effect, string) { return []Effect{{Kind: Remotes, Path: "."}}, "" }
