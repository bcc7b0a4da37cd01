package effects

import (
	"regexp"
	"slices"
	"strings"
)

// check says what a command of these words does, or why that is not known.
func check(words []Word) ([]Effect, string) {
	name := words[0].Text
	e, ok := table()[name]
	if !ok || words[0].Glob {
		return nil, name + " is not on the list of commands that only read"
	}
	list, why := e.check(name, words[1:])
	if why == "" && !e.builtin {
		list = append(list, Effect{Kind: Starts, Path: name})
	}
	return list, why
}

func (e entry) check(name string, args []Word) ([]Effect, string) {
	if e.more != nil && e.operands == none {
		return e.more(given{entry: e, operands: args})
	}
	g, ok := e.parse(args)
	switch n := len(g.operands); {
	case !ok:
		return nil, "an option of " + name + " is not on the list of those that only read"
	case e.most > 0 && e.operands != trees && len(g.late) > 0: // uniq FILE -c writes to -c
		return nil, name + " has options after its operands, which programs read differently"
	case n < e.least, e.operands == none && n > 0, e.most > 0 && (n > e.most || slices.ContainsFunc(g.operands, isGlob)):
		return nil, name + " is not known to only read with these operands"
	}
	list, why := g.effects()
	if why != "" {
		return nil, name + " " + why
	}
	if e.more == nil {
		return list, ""
	}
	further, why := e.more(g)
	return append(list, further...), why
}

func isGlob(w Word) bool { return w.Glob }

func matches(expression, text string) bool {
	ok, err := regexp.MatchString(expression, text)
	return ok && err == nil
}

// effects are those of the operands.
func (g given) effects() ([]Effect, string) {
	list, kind := g.operands, Reads
	matched := list
	switch g.entry.operands {
	case texts:
		kind = Looks // at what wildcards match
		list = slices.DeleteFunc(slices.Clone(list), func(w Word) bool { return !w.Glob })
	case paths, here:
		kind = Looks
	case trees:
		kind = Walks
	case patterns:
		scripts := g.values("e", "regexp")
		if len(scripts) == 0 && !g.has("files") {
			if len(list) == 0 || list[0].Glob {
				return nil, "needs a pattern in quotes"
			}
			scripts, list = []string{list[0].Text}, list[1:]
		} else if len(g.late) > 0 {
			return nil, "has options after its operands, which programs read differently"
		}
		matched = nil
		for _, text := range scripts {
			matched = append(matched, Word{Text: text})
		}
	case revs:
		return nil, ""
	}
	if g.fits != "" && slices.ContainsFunc(matched, func(w Word) bool { return !matches(g.fits, w.Text) }) {
		return nil, "is not known to only read with these operands"
	}
	if len(list) == 0 && g.entry.operands == here {
		list = []Word{{Text: "."}}
	}
	if kind != Looks || g.entry.operands != texts {
		list = append(slices.Clone(list), g.late...)
	}
	return touch(kind, list), ""
}

func touch(kind Kind, words []Word) (list []Effect) {
	for _, w := range words {
		if w.Text != "-" || kind == Looks {
			list = append(list, Effect{Kind: kind, Path: w.Text, Glob: w.Glob, Hidden: true, Links: true})
		}
	}
	return list
}

// search makes what grep and rg read of their files.
func search(g given) ([]Effect, string) {
	paths := g.operands
	if len(g.values("e", "regexp")) == 0 && !g.has("files") {
		paths = paths[1:]
	}
	walk := Effect{Kind: Walks, Path: ".", Hidden: true, Links: g.has("R"), Only: only(g)}
	if strings.Contains(g.long, "hidden") { // rg, for which globs outweigh what is hidden
		walk.Hidden = g.has(".", "hidden", "u", "unrestricted", "g", "glob", "iglob")
		if g.has("files") {
			walk.Kind = Looks
		}
	} else if !g.has("r", "R", "recursive") {
		return nil, ""
	}
	var list []Effect
	if len(paths) == 0 {
		list = append(list, walk)
	}
	for _, w := range slices.Concat(paths, g.late) {
		walk.Path, walk.Glob = w.Text, w.Glob
		list = append(list, walk)
	}
	return list, ""
}

// only are the names that --include or -g picks, where nothing else does.
func only(g given) []string {
	list := g.values("include", "g", "glob")
	// A link that -R follows may lead to a directory with such names.
	if g.has("R", "exclude", "iglob") || slices.ContainsFunc(list, func(glob string) bool { return strings.HasPrefix(glob, "!") }) {
		return nil
	}
	return list
}

// find takes its paths and the tests and actions that only look.
func find(g given) ([]Effect, string) {
	words := g.operands
	for len(words) > 0 && slices.Contains([]string{"-H", "-P"}, words[0].Text) {
		words = words[1:]
	}
	at := slices.IndexFunc(words, func(w Word) bool { return w.Text != "" && strings.IndexByte("-(!", w.Text[0]) >= 0 })
	if at < 0 {
		at = len(words)
	}
	starts := words[:at]
	for i := at; i < len(words); i++ {
		text := words[i].Text
		switch {
		case words[i].Glob:
			return nil, "find has wildcards without quotes"
		case slices.Contains(strings.Fields(findTests), text):
		case slices.Contains(strings.Fields(findValues), text) && i+1 < len(words) && !words[i+1].Glob:
			i++
		default:
			return nil, "find " + text + " is not on the list of those that only look"
		}
	}
	if len(starts) == 0 {
		starts = []Word{{Text: "."}}
	}
	return touch(Looks, starts), ""
}

const (
	findTests = `( ) ! -not -a -and -o -or -print -print0 -prune -empty -xdev -mount -ls -quit -true -false -depth
		-readable -writable -executable`
	findValues = `-name -iname -path -ipath -wholename -iwholename -type -maxdepth -mindepth -size -mtime -mmin -atime -amin
		-ctime -cmin -perm -user -group -regex -iregex -regextype -links -newermt`
)

// say has texts only; what wildcards stand for are names.
func say(g given) ([]Effect, string) {
	return touch(Looks, slices.DeleteFunc(slices.Clone(g.operands), func(w Word) bool { return !w.Glob })), ""
}

// test takes one question about a file or a text.
func test(g given) ([]Effect, string) {
	words := g.operands
	if len(words) > 0 && words[0].Text == "!" {
		words = words[1:]
	}
	switch {
	case len(words) != 2 || words[1].Glob:
	case matches(`^-[efdsrwxLh]$`, words[0].Text):
		return touch(Looks, words[1:]), ""
	case words[0].Text == "-n" || words[0].Text == "-z":
		return nil, ""
	}
	return nil, "test is only known to be harmless with one question, such as -f FILE"
}

// bracket is test, up to the bracket that closes it.
func bracket(g given) ([]Effect, string) {
	n := len(g.operands)
	if n == 0 || g.operands[n-1].Text != "]" {
		return nil, "[ without ]"
	}
	g.operands = g.operands[:n-1]
	return test(g)
}

// change is cd to a directory with a name, or to those above. For DIR/../OTHER, bash takes names away where that leads to a directory,
// and follows links where it does not.
func change(g given) ([]Effect, string) {
	if len(g.operands) != 1 || g.operands[0].Glob || strings.Trim(g.operands[0].Text, "-+") == "" || strings.ContainsAny(g.operands[0].Text[:1], "-+") {
		return nil, "cd to a directory that is not known"
	}
	if to := g.operands[0].Text; strings.Contains(to, "..") && !matches(`^(\.\./)*\.\./?$`, to) {
		return nil, "cd through .., which shells read differently after a link"
	}
	return touch(Looks, g.operands), ""
}

// lookup is "command -v NAME".
func lookup(g given) ([]Effect, string) {
	if len(g.operands) != 2 || g.operands[0].Text != "-v" || !matches(programName, g.operands[1].Text) {
		return nil, "command is only known to be harmless as command -v NAME"
	}
	return nil, ""
}

// version is a program that is only asked for its version.
func version(g given) ([]Effect, string) {
	if len(g.operands) != 1 || g.operands[0].Text != "--version" {
		return nil, "only its --version is known to be harmless"
	}
	return nil, ""
}

// goVersion also chooses a toolchain, and may fetch one.
func goVersion(g given) ([]Effect, string) {
	if len(g.operands) != 1 || g.operands[0].Text != "version" {
		return nil, "of go, only go version is known to be harmless"
	}
	return []Effect{{Kind: Toolchain, Path: "."}}, ""
}
