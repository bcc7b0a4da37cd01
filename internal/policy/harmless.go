package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
)

// operands is what the operands of a harmless command are.
type operands string

const (
	none     operands = "none"
	anything operands = "anything" // texts, also such as are not known but plain
	some     operands = "texts"
	contents operands = "contents" // paths of files that are read
	listed   operands = "paths"    // paths that are looked at
	pattern  operands = "pattern"  // a pattern, then paths of files that are read
	revs     operands = "revs"     // revisions of git, and paths
)

// harmless is how a command may be called without asking.
type harmless struct {
	grammar
	operands operands
	// most bounds the number of operands, where more would be written to; 0:
	// no bound.
	most int
	// here says that without paths it works on the directory.
	here bool
	// fits, if set, must match each operand.
	fits *regexp.Regexp
}

// harmless returns what a command looks at and reads, or why it is to be
// asked about. The list is short on purpose: when in doubt, ask.
func (s *script) harmless(words []word) (touches []deed, why string) {
	ask := words[0].text + " is not on the list of harmless commands"
	name := systemName(words[0].text)
	args := words[1:]
	switch name {
	case "git":
		if len(s.dirs) != 1 || s.dirs[0] != s.ground.dir {
			return nil, "git runs what the configuration of its directory says, and this is not the session's"
		}
		return s.git(args)
	case "find":
		return s.finds(args)
	case "[":
		if len(args) == 0 || args[len(args)-1].text != "]" {
			return nil, ask
		}
		args = args[:len(args)-1]
	case "sed":
		return s.sed(args)
	case "set":
		if len(args) == 0 {
			return nil, "set shows all variables, and some may hold secrets"
		}
	}
	if len(args) == 1 && args[0].definite() && slices.Contains([]string{"--version", "-v", "-V", "version"}, args[0].text) {
		if slices.Contains(versioned()[name], args[0].text) {
			return nil, ""
		}
	}
	h, ok := harmlessCommands()[name]
	if !ok {
		return nil, ask
	}
	return s.check(name, h, args)
}

// versioned are programs that say their version, and how.
func versioned() map[string][]string {
	long := []string{"--version"}
	return map[string][]string{
		"go": {"version"}, "node": {"--version", "-v"}, "npm": {"--version", "-v"}, "python": {"--version", "-V"}, "python3": {"--version", "-V"},
		"cargo": {"--version", "-V"}, "rustc": {"--version", "-V"}, "gcc": long, "clang": long, "make": long, "rg": long, "java": long,
		"bash": long, "ruby": {"--version", "-v"},
	}
}

// check holds the words of a command against what is harmless of it.
func (s *script) check(name string, h harmless, args []word) (touches []deed, why string) {
	if h.operands == anything {
		return nil, s.texts(name, args)
	}
	args, why = s.globbed(name, args)
	if why != "" {
		return nil, why
	}
	p, ok := h.parse(args)
	if !ok {
		return nil, "an option of " + name + " is not known to be harmless"
	}
	for _, o := range p.options {
		if slices.Contains([]string{"g", "glob", "iglob", "include"}, o.name) && secretGlob(o.value, matchesName) {
			return nil, name + " would look into files that by their name hold secrets"
		}
	}
	if h.most > 0 && len(p.operands) > h.most {
		return nil, name + " could write to its last operand"
	}
	list := texts(p.operands)
	if h.fits != nil && slices.ContainsFunc(list, func(text string) bool { return !h.fits.MatchString(text) }) {
		return nil, "an operand of " + name + " is not known to be harmless"
	}
	return s.operands(name, h, p, list)
}

func (s *script) operands(name string, h harmless, p parsed, list []string) (touches []deed, why string) {
	kind := reads
	switch h.operands {
	case none:
		if len(list) > 0 {
			return nil, name + " with operands is not known to be harmless"
		}
		return nil, ""
	case some:
		return nil, ""
	case listed:
		kind = looks
	case pattern:
		if !p.has("e", "regexp", "files") && len(list) > 0 {
			list = list[1:]
		}
	case revs:
		return s.revisions(list)
	}
	recursive := h.operands == pattern && p.has("r", "recursive")
	switch {
	case len(list) > 0:
	case recursive:
		list = []string{"."}
	case h.here:
		list, kind = []string{"."}, looks
	}
	for _, path := range list {
		if path != "-" {
			touches = append(touches, s.paths(kind, path)...)
		}
	}
	if name == "diff" && slices.ContainsFunc(touches, func(t deed) bool { return isDir(t.place.real) }) {
		return nil, "diff would look into all files of a directory"
	}
	if recursive {
		touches = append(touches, s.below(touches)...)
	}
	return touches, ""
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// texts is for commands whose operands are only shown or compared.
func (s *script) texts(name string, args []word) (why string) {
	for i, w := range args {
		switch {
		case name == "printf" && i == 0 && (!w.known || strings.HasPrefix(w.text, "-")), (name == "test" || name == "[") && (w.text == "-v" || w.text == "-R"):
			return "an option of " + name + " is not known to be harmless"
		case !w.known && !w.plain:
			return name + " would show a variable that may hold a secret"
		case w.glob && len(s.dirs) != 1:
			return "it is not known in which directory it runs"
		case w.glob && !strings.HasPrefix(filepath.Clean(w.text), "..") && !filepath.IsAbs(w.text):
		case w.glob && name != "test" && name != "[":
			return name + " would show names from outside of the working directory"
		}
	}
	return ""
}

// globbed replaces words with wildcards by the names that there are.
func (s *script) globbed(name string, args []word) (list []word, why string) {
	for _, w := range args {
		switch {
		case !w.known:
			return nil, "what " + name + " works on is not known"
		case !w.glob:
			list = append(list, w)
			continue
		case len(s.dirs) != 1:
			return nil, "it is not known in which directory it runs"
		}
		found, err := files(w.text, s.dirs[0])
		if err != nil {
			return nil, "what " + w.text + " stands for cannot be said: " + err.Error()
		}
		for _, one := range found {
			list = append(list, literal(one))
		}
	}
	return list, ""
}

func matchesName(pattern, name string) bool {
	if !strings.Contains(pattern, "/") {
		name = filepath.Base(name)
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(pattern, "/"), name)
}

var sedScript = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+|\$)(,([0-9]+|\$))?p(;([0-9]+|\$)(,([0-9]+|\$))?p)*$`)
})

// sed is harmless where it prints lines by their numbers.
func (s *script) sed(args []word) (touches []deed, why string) {
	if len(args) < 2 || args[0].text != "-n" || !args[1].definite() || !sedScript().MatchString(args[1].text) {
		return nil, "sed is harmless only as sed -n 'FROM,TOp'"
	}
	return s.check("sed", harmless{operands: contents}, args[2:])
}

// finds is harmless where it only looks for files.
func (s *script) finds(args []word) (touches []deed, why string) {
	if args, why = s.globbed("find", args); why != "" {
		return nil, why
	}
	i := 0
	for ; i < len(args) && !strings.HasPrefix(args[i].text, "-") && args[i].text != "(" && args[i].text != "!"; i++ {
		touches = append(touches, s.paths(looks, args[i].text)...)
	}
	if i == 0 {
		touches = s.paths(looks, ".")
	}
	for ; i < len(args); i++ {
		switch text := args[i].text; {
		case slices.Contains([]string{
			"(", ")", "!", "-not", "-a", "-and", "-o", "-or", "-print", "-print0", "-prune", "-empty", "-xdev", "-mount", "-ls", "-quit",
			"-true", "-false", "-depth", "-readable", "-writable", "-executable", "-P",
		}, text):
		case slices.Contains([]string{
			"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-type", "-maxdepth", "-mindepth", "-size", "-mtime", "-mmin",
			"-atime", "-amin", "-ctime", "-cmin", "-perm", "-user", "-group", "-regex", "-iregex", "-regextype", "-links", "-printf", "-newermt",
		}, text):
			i++
		default:
			return nil, "find " + text + " is not known to be harmless"
		}
	}
	return touches, ""
}
