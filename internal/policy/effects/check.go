package effects

import (
	"slices"
	"strings"
)

// check determines the effects of a command, or the reason why they are unknown.
func (c *Command) check() {
	words, program := c.Words, c.Words[0].Text
	if program == "git" {
		words = c.enterGit()
	}
	name := program
	if program == "git" && len(words) > 1 {
		name += " " + words[1].Text
	}
	e, n := find(words)
	if e != nil {
		c.Name = name
	}
	if e == nil || e.does == changes {
		c.Effects, c.Why = nil, name+" is not on the list of commands that only read"
		return
	}
	a, known := e.arguments(words[n:])
	list, why := e.effects(a, known, program == "git")
	if why != "" {
		c.Effects, c.Why = nil, name+why
		return
	}
	c.Effects = append(c.Effects, list...)
	switch {
	case e.is("tracked"):
		c.Effects = append(c.Effects, Effect{Kind: Tracked, Path: "."})
	case program == "git":
		c.Effects = append(c.Effects, Effect{Kind: Obeys, Path: "."})
	}
	if !e.is("builtin") {
		c.Effects = append(c.Effects, Effect{Kind: Starts, Path: program})
	}
}

// enterGit removes the options of "git [--no-pager] [-C DIR] SUBCOMMAND …".
func (c *Command) enterGit() []Word {
	words := c.Words[1:]
	if len(words) > 0 && words[0].Text == "--no-pager" {
		words = words[1:]
	}
	if len(words) > 1 && words[0].Text == "-C" && words[1].Text != "" && !words[1].Glob &&
		!strings.Contains(words[1].Text, "..") {
		c.Dir, c.Effects = join(c.Dir, words[1].Text), []Effect{{Kind: Looks, Path: "."}}
		words = words[2:]
	}
	return append([]Word{{Text: "git"}}, words...)
}

// find returns the entry of a command, and the number of words of its name.
func find(words []Word) (e *entry, n int) {
	for n = min(3, len(words)); n > 0 && e == nil; n-- {
		e = table()[joined(words[:n])]
	}
	return e, n + 1
}

const unknownOperands = " is not known to only read with these operands"

// effects returns the effects of a command with these arguments.
func (e *entry) effects(a arguments, ok, git bool) ([]Effect, string) {
	n, first, each, isGlob := len(a.operands), e.marks["first"], e.marks["each"], func(w Word) bool { return w.Glob }
	switch {
	case !ok:
		return nil, " has an option that is not on the list of those that only read"
	case n < e.least, e.limit >= 0 && n+len(a.late) > e.limit, (e.limit >= 0 || git) &&
		slices.ContainsFunc(a.operands, isGlob),
		each != nil && slices.ContainsFunc(a.operands, func(w Word) bool { return !each.MatchString(w.Text) }):
		return nil, unknownOperands
	}
	operands, scripts := a.operands, a.values(e, "script")
	if e.is("script") && len(scripts) == 0 {
		if n == 0 || operands[0].Glob {
			return nil, " needs a pattern in quotes"
		}
		scripts, operands = []string{operands[0].Text}, operands[1:]
	}
	if first != nil && (len(a.late) > 0 ||
		slices.ContainsFunc(scripts, func(text string) bool { return !first.MatchString(text) })) {
		return nil, unknownOperands // in sed 'w x' -e p, "w x" can be the script
	}
	return e.touch(a, operands, git), ""
}

// touch returns the effects of a command on its operands.
func (e *entry) touch(a arguments, operands []Word, git bool) (list []Effect) {
	does := Effect{Kind: e.does, Links: e.is("links") && (e.marks["links"] == nil || a.values(e, "links") != nil)}
	if a.values(e, "below") != nil {
		does.Kind = Walks
	}
	if len(operands) == 0 && (does.Kind == Looks || does.Kind == Walks) {
		operands = []Word{{Text: "."}}
	}
	if !git {
		operands = append(slices.Clone(operands), a.late...)
	}
	for _, w := range operands {
		if does.Path, does.Glob = w.Text, w.Glob; e.does == nothing {
			does.Kind = Looks // the files that wildcards match
		}
		if (e.does != nothing || w.Glob) && (w.Text != "-" || does.Kind == Looks) {
			list = append(list, does)
		}
		if _, file, ok := strings.Cut(w.Text, ":"); ok && file != "" && git { // after a revision
			list = append(list, Effect{Kind: Reads, Path: file})
		}
	}
	return list
}
