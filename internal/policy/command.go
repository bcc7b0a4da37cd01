package policy

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call looks at a simple command.
func (s *script) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		s.assignments(n.Assigns)
		return
	}
	words := s.words(n.Args)
	sets := slices.Concat(s.sets, s.prefixes(n.Assigns))
	if at, ok := s.functions[words[0].text]; ok && words[0].definite() && at < n.Pos().Offset() && len(sets) == 0 {
		s.add(deed{kind: runs, text: s.source(n), words: words, starts: true})
		return
	}
	s.command(words, sets)
}

// command finds the deeds of one command: itself, and those that it starts.
func (s *script) command(words []word, sets []string) {
	if len(words) == 0 {
		return
	}
	if !words[0].definite() || words[0].text == "" {
		s.hide(line(sets, words), "which command this is, is not known")
		return
	}
	name := baseName(words[0].text)
	builtin := name == words[0].text
	switch {
	case builtin && s.builtin(name, words, sets):
	case slices.Contains([]string{"bash", "sh", "dash", "ash", "rbash"}, name):
		s.shell(words, sets)
	case slices.Contains(otherShells(), name), slices.Contains(starters(), name):
		s.run(deed{words: words, sets: sets})
		s.hide(line(sets, words), "what "+name+" runs is not looked at")
	case name == "find":
		s.find(words, sets)
	case name == "xargs":
		s.xargs(words, sets)
	case name == "busybox", name == "toybox":
		s.run(deed{words: words, sets: sets})
		s.command(words[1:], sets)
	default:
		if w, ok := wrappers()[name]; ok {
			s.wrapper(w, words, sets)
			return
		}
		s.run(deed{words: words, sets: sets})
	}
}

// run adds the deed of a command itself.
func (s *script) run(d deed) {
	d.kind = runs
	d.text = line(d.sets, d.words)
	if s.evaluates(d.words) {
		s.hide(d.text, "it evaluates the subscript of a variable")
	}
	switch {
	case d.starts && len(d.sets) == 0:
	case len(d.sets) > 0:
		d.why = "it sets " + strings.Join(names(d.sets), ", ") + " for " + d.words[0].text
		d.starts = false
	default:
		d.touches, d.why = s.harmless(d.words)
		d.safe = d.why == ""
	}
	s.add(d)
}

func names(sets []string) []string {
	var list []string
	for _, set := range sets {
		name, _, _ := strings.Cut(set, "=")
		list = append(list, name)
	}
	return list
}

func line(sets []string, words []word) string {
	return strings.Join(slices.Concat(sets, texts(words)), " ")
}

// evaluates reports whether a builtin would run what is in a subscript, as
// "unset 'a[$(date)]'" does.
func (s *script) evaluates(words []word) bool {
	if !slices.Contains([]string{"let", "declare", "typeset", "local", "export", "readonly", "printf", "read", "unset", "test", "[", "mapfile", "readarray", "wait"}, words[0].text) {
		return false
	}
	return slices.ContainsFunc(words[1:], func(w word) bool {
		return strings.Contains(w.text, "[") && strings.ContainsAny(w.text, "$`")
	})
}

// builtin handles what the shell does itself; false leaves it to others.
func (s *script) builtin(name string, words []word, sets []string) bool {
	args := words[1:]
	switch name {
	case "eval":
		s.run(deed{words: words, sets: sets, starts: true})
		if len(args) > 0 && args[0].text == "--" {
			args = args[1:]
		}
		if slices.ContainsFunc(args, func(w word) bool { return !w.definite() }) {
			s.hide(line(sets, words), "what eval runs is not known")
			return true
		}
		s.nested(strings.Join(texts(args), " "), sets, nil)
	case "trap":
		s.trap(words, sets)
	case "alias":
		s.run(deed{words: words, sets: sets})
		s.hide(line(sets, words), "aliases change what commands are")
	case "shopt":
		s.run(deed{words: words, sets: sets})
		s.hide(line(sets, words), "it changes how commands are read")
	case "set", "read", "unset":
		s.run(deed{words: words, sets: sets})
		for _, w := range args {
			if name == "read" && w.definite() && !strings.HasPrefix(w.text, "-") {
				s.variable(w.text, line(sets, words))
			}
		}
	case "cd", "pushd", "popd":
		s.changeDir(name, words, sets)
	default:
		return false
	}
	return true
}

// trap runs its first operand when a signal comes, or at the end.
func (s *script) trap(words []word, sets []string) {
	args := words[1:]
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	s.run(deed{words: words, sets: sets, starts: true})
	switch {
	case len(args) < 2 || args[0].definite() && (args[0].text == "" || args[0].text == "-"):
	case !args[0].definite():
		s.hide(line(sets, words), "what the trap runs is not known")
	default:
		s.loops = true
		s.nested(args[0].text, sets, nil)
	}
}

// changeDir follows a change of the directory. Since it may fail, the old one
// remains possible.
func (s *script) changeDir(name string, words []word, sets []string) {
	p, ok := grammar{flags: "LPe", stop: true}.parse(words[1:])
	d := deed{kind: runs, words: words, sets: sets, text: line(sets, words), safe: len(sets) == 0, why: "it sets variables for cd"}
	known := ok && name != "popd" && len(p.operands) == 1 && p.operands[0].definite() && p.operands[0].text != "-" && len(s.dirs) > 0
	if !known || s.loops && strings.Contains(p.operands[0].text, "..") {
		s.dirs = nil
		d.safe, d.why = false, "it changes to a directory that is not known"
		s.add(d)
		return
	}
	if d.safe {
		d.touches = s.paths(looks, p.operands[0].text)
		d.why = ""
	}
	s.add(d)
	dirs := slices.Clone(s.dirs)
	for _, t := range d.touches {
		if t.kind == looks && !slices.Contains(dirs, t.place.named) {
			dirs = append(dirs, t.place.named)
		}
	}
	if s.dirs = dirs; len(dirs) > maxNesting {
		s.dirs = nil
	}
}

// shell looks at bash and its like.
func (s *script) shell(words []word, sets []string) {
	system := systemName(words[0].text) == baseName(words[0].text)
	s.run(deed{words: words, sets: sets, starts: system && slices.ContainsFunc(words[1:], func(w word) bool {
		return strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "--") && strings.HasSuffix(w.text, "c")
	})})
	p, ok := grammar{
		flags: "abcefhilmnprstuvxBCEHPT", values: "oO", stop: true,
		long: []string{"norc", "noprofile", "login", "posix", "verbose", "restricted"}, exact: []string{"+x", "+e", "+o"},
	}.parse(words[1:])
	switch {
	case !ok:
		s.hide(line(sets, words), "the options are not understood")
	case p.has("c"):
		if len(p.operands) == 0 || !p.operands[0].definite() || p.has("O") {
			s.hide(line(sets, words), "what the shell runs is not known")
			return
		}
		s.nested(p.operands[0].text, sets, p.operands[1:])
	case len(p.operands) == 0 || p.has("s") || !p.operands[0].definite() || p.operands[0].text == "-" || strings.HasPrefix(p.operands[0].text, "/dev/") || strings.HasPrefix(p.operands[0].text, "/proc/"):
		if !p.has("n") || len(p.operands) == 0 {
			s.hide(line(sets, words), "the shell runs what it reads")
		}
	}
}
