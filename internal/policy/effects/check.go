package effects

import (
	"slices"
	"strings"
)

// check says what a command of these words does, or why that is not known.
func check(words []Word) ([]Effect, string) {
	if words[0].Glob {
		return nil, "its name has wildcards"
	}
	program, name, dir, args := words[0].Text, words[0].Text, "", words[1:]
	if program == "git" {
		if dir, args = gitDir(args); len(args) > 0 && !strings.HasPrefix(args[0].Text, "-") && !args[0].Glob {
			name, args = "git-"+args[0].Text, args[1:]
		}
	}
	shown := strings.Replace(name, "git-", "git ", 1)
	e, ok := table()[name]
	if !ok || strings.HasPrefix(program, "git-") {
		return nil, shown + " is not on the list of commands that only read"
	}
	list, why := e.check(args, dir)
	if why != "" {
		return nil, shown + " " + why
	}
	if name != program {
		list = append(list, Effect{Kind: Obeys, Path: in(dir, ".")})
	}
	if !e.builtin {
		list = append(list, Effect{Kind: Starts, Path: program})
	}
	return list, ""
}

const unknownOperands = "is not known to only read with these operands"

func (e *entry) check(words []Word, dir string) ([]Effect, string) {
	if e.forms != nil {
		return e.form(words)
	}
	a, ok := e.arguments(words)
	switch n := len(a.words); {
	case !ok:
		return nil, "has an option that is not on the list of those that only read"
	case e.most > 0 && e.operands != "trees" && len(a.late) > 0: // uniq FILE -c writes to -c
		return nil, "has options after its operands, which programs read differently"
	case n < e.least, e.most >= 0 && n > e.most, e.most >= 0 && slices.ContainsFunc(a.words, isGlob),
		e.each != nil && slices.ContainsFunc(a.words, func(w Word) bool { return !e.each.MatchString(w.Text) }):
		return nil, unknownOperands
	}
	switch e.operands {
	case "script", "search", "tree":
		return a.script()
	case "find":
		return a.find()
	case "cd":
		return a.cd()
	case "names", "shown":
		return a.git(dir)
	case "words", "texts":
		if e.first != nil && (a.words[0].Glob || !e.first.MatchString(a.words[0].Text)) {
			return nil, unknownOperands
		}
		return touch(Looks, slices.DeleteFunc(a.words, func(w Word) bool { return !w.Glob })), "" // at what wildcards match
	case "paths":
		if len(a.words) == 0 {
			a.words = []Word{{Text: "."}}
		}
		return touch(Looks, append(a.words, a.late...)), ""
	case "trees":
		return touch(Walks, append(a.words, a.late...)), ""
	}
	return touch(Reads, append(a.words, a.late...)), ""
}

func isGlob(w Word) bool { return w.Glob }

// form compares the words with the forms that a command may have.
func (e *entry) form(words []Word) ([]Effect, string) {
	for _, form := range e.forms {
		var list []Effect
		fits := len(form) == len(words) && !slices.ContainsFunc(words, isGlob)
		for i := 0; fits && i < len(form); i++ {
			if form[i].String() == whole("FILE").String() {
				list = append(list, Effect{Kind: Looks, Path: words[i].Text})
			} else {
				fits = form[i].MatchString(words[i].Text)
			}
		}
		if fits {
			return list, ""
		}
	}
	return nil, "is not known to only read in this form"
}

func touch(kind Kind, words []Word) (list []Effect) {
	for _, w := range words {
		if w.Text != "-" || kind == Looks {
			list = append(list, Effect{Kind: kind, Path: w.Text, Glob: w.Glob, Hidden: true, Links: true})
		}
	}
	return list
}

// script has a pattern or script in its first operand, or in options.
func (a arguments) script() ([]Effect, string) {
	scripts, paths := a.values("-e", "--regexp"), a.words
	switch {
	case len(scripts) > 0 || a.has("--files"):
		if len(a.late) > 0 { // sed 'w x' -e p
			return nil, "has options after its operands, which programs read differently"
		}
	case len(paths) == 0 || paths[0].Glob:
		return nil, "needs a pattern in quotes"
	default:
		scripts, paths = []string{paths[0].Text}, paths[1:]
	}
	if a.first != nil && slices.ContainsFunc(scripts, func(text string) bool { return !a.first.MatchString(text) }) {
		return nil, unknownOperands
	}
	all := Effect{Kind: Walks, Hidden: true, Links: a.has("-R")}
	switch {
	case a.operands == "tree": // of rg, for which globs outweigh what is hidden
		all.Hidden = a.has("-.", "--hidden", "-u", "--unrestricted", "-g", "--glob", "--iglob")
		if a.has("--files") {
			all.Kind = Looks
		}
	case !a.has("-r", "-R", "--recursive"):
		return touch(Reads, slices.Concat(paths, a.late)), ""
	}
	if len(paths) == 0 {
		paths = []Word{{Text: "."}}
	}
	var list []Effect
	for _, w := range slices.Concat(paths, a.late) {
		all.Path, all.Glob = w.Text, w.Glob
		list = append(list, all)
	}
	return list, ""
}

// find takes its paths and the tests and actions that only look.
func (a arguments) find() ([]Effect, string) {
	words := a.words
	for len(words) > 0 && (words[0].Text == "-H" || words[0].Text == "-P") {
		words = words[1:]
	}
	at := slices.IndexFunc(words, func(w Word) bool { return w.Text != "" && strings.IndexByte("-(!", w.Text[0]) >= 0 })
	if at < 0 {
		at = len(words)
	}
	for i := at; i < len(words); i++ {
		switch text := words[i].Text; {
		case words[i].Glob:
			return nil, "has wildcards without quotes"
		case a.options[text] == flag:
		case a.options[text] == withValue && i+1 < len(words) && !words[i+1].Glob:
			i++
		default:
			return nil, text + " is not on the list of those that only look"
		}
	}
	if at == 0 {
		return touch(Looks, []Word{{Text: "."}}), ""
	}
	return touch(Looks, words[:at]), ""
}

// cd goes to a directory with a name, or to those above. For DIR/../OTHER, bash
// takes names away where that leads to a directory, and follows links where it
// does not.
func (a arguments) cd() ([]Effect, string) {
	to := a.words[0].Text
	switch {
	case strings.Trim(to, "-+") == "" || to[0] == '+' || to[0] == '-':
		return nil, "goes to a directory that is not known"
	case strings.Contains(to, "..") && !fits(`(\.\./)*\.\./?`, to):
		return nil, "goes through .., which shells read differently after a link"
	}
	return touch(Looks, a.words), ""
}
