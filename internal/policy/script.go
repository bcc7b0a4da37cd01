package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxScript bounds the text of a command that is looked at, in bytes.
	maxScript = 64 << 10
	// maxNesting bounds scripts in scripts, as in bash -c 'bash -c …'.
	maxNesting = 8
	// maxDeeds bounds what is judged of one call.
	maxDeeds = 1000
)

// script finds all deeds of a shell command, without running any of it.
type script struct {
	home   string
	ground ground
	// dirs are the directories in which a command may run, as far as the
	// script has been read; none: nobody knows.
	dirs  []string
	deeds []deed
	depth int
	text  string
	// sets are assignments that hold for all commands, from outside.
	sets []string
	// tainted says that variables hold what came from outside of the text.
	tainted bool

	survey
}

// read finds the deeds of a text.
func (s *script) read(text string) {
	if why := unreadable(text); why != "" {
		s.hide(text, why)
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		s.hide(text, "it is not understood: "+err.Error())
		return
	}
	s.text = text
	s.survey = look(file)
	s.numeric = s.numeric && !s.tainted && len(s.functions) == 0
	syntax.Walk(file, s.visit)
}

// unreadable says what in a text people and parsers may see differently.
func unreadable(text string) string {
	if len(text) > maxScript {
		return "it is too long to look at"
	}
	if !utf8.ValidString(text) {
		return "it is not valid UTF-8"
	}
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == ' ':
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.IsSpace(r):
			return "it has invisible characters"
		}
	}
	return ""
}

// nested finds the deeds of a text that a command runs as a script.
func (s *script) nested(text string, sets []string, args []word) {
	if s.depth >= maxNesting {
		s.hide(text, "scripts are nested too deeply")
		return
	}
	inner := &script{home: s.home, ground: s.ground, dirs: s.dirs, depth: s.depth + 1, sets: sets}
	inner.tainted = len(args) > 0 || !s.numeric
	inner.read(text)
	s.deeds = append(s.deeds, inner.deeds...)
	s.dirs = inner.dirs // eval may change it, and for others more is asked
}

func (s *script) add(d deed) {
	if len(s.deeds) > maxDeeds {
		return
	}
	if len(s.deeds) == maxDeeds {
		d = deed{kind: hidden, text: "…", why: "there are too many commands"}
	}
	d.text = clip(d.text)
	if len(s.dirs) == 1 {
		d.at = s.dirs[0]
	}
	s.deeds = append(s.deeds, d)
}

// hide adds what cannot be judged.
func (s *script) hide(text, why string) {
	s.add(deed{kind: hidden, text: text, why: why})
}

func (s *script) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(s.text)) {
		return "…"
	}
	return s.text[from:to]
}

// visit looks at one node; Walk comes by all of them, wherever they are.
func (s *script) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CallExpr:
		s.call(n)
	case *syntax.Redirect:
		s.redirect(n)
	case *syntax.DeclClause:
		s.declare(n)
	case *syntax.ArithmCmd, *syntax.ArithmExp, *syntax.LetClause, *syntax.CStyleLoop:
		s.arithmetic(n)
	case *syntax.Assign:
		if n.Index != nil {
			s.arithmetic(n.Index)
		}
	case *syntax.ArrayElem:
		if n.Index != nil {
			s.arithmetic(n.Index)
		}
	case *syntax.ParamExp:
		s.parameter(n)
	case *syntax.WordIter:
		s.variable(n.Name.Value, s.source(n))
	case *syntax.BinaryTest:
		if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
			s.arithmetic(n)
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			s.hide(s.source(n), "it looks at a variable by its name")
		}
	case *syntax.CoprocClause, *syntax.TestDecl:
		s.hide(s.source(n), "it is not understood")
	}
	return true
}

// parameter looks at ${…}: some forms run what a variable holds.
func (s *script) parameter(n *syntax.ParamExp) {
	if n.Excl || n.Names != 0 || n.NestedParam != nil || n.Flags != nil || len(n.Modifiers) > 0 ||
		n.Exp != nil && n.Exp.Op == syntax.OtherParamOps {
		s.hide(s.source(n), "it expands what a variable holds")
	}
	if n.Index != nil {
		if text := s.source(n.Index); text != "@" && text != "*" {
			s.arithmetic(n.Index)
		}
	}
	if n.Slice != nil {
		for _, part := range []syntax.ArithmExpr{n.Slice.Offset, n.Slice.Length} {
			if part != nil {
				s.arithmetic(part)
			}
		}
	}
	if n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
		s.variable(n.Param.Value, s.source(n))
	}
}

// arithmetic runs commands that a variable holds, as in 'a[$(date)]'. Where
// the script gives variables nothing but numbers it is harmless.
func (s *script) arithmetic(n syntax.Node) {
	doubtful := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.SglQuoted:
			doubtful = true // the text that it gives is computed
			return false
		case *syntax.ParamExp:
			doubtful = doubtful || !s.numeric || n.Exp != nil || n.Repl != nil
		case *syntax.Lit:
			doubtful = doubtful || strings.Contains(n.Value, `\`) || !s.numeric && strings.ContainsFunc(n.Value, unicode.IsLetter)
		}
		return true
	})
	if doubtful {
		s.hide(s.source(n), "it computes with what is not known to be a number")
	}
}

// redirect looks at what is read and written for a command.
func (s *script) redirect(n *syntax.Redirect) {
	kind := reads
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		if n.Hdoc != nil && !s.plain(n.Hdoc) || n.Op == syntax.WordHdoc && !s.plain(n.Word) {
			s.add(deed{kind: shows, text: s.source(n), why: "it may show a variable that holds a secret"})
		}
		return
	case syntax.RdrIn:
	case syntax.DplIn, syntax.DplOut:
		if text := s.source(n.Word); strings.Trim(text, "0123456789") == "" || text == "-" || strings.Trim(text, "0123456789") == "-" {
			return
		}
		kind = writes
	default:
		kind = writes
	}
	words := s.word(n.Word)
	if len(words) != 1 || !words[0].definite() {
		s.hide(s.source(n), "the name of the file is not known")
		return
	}
	if slices.Contains([]string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"}, words[0].text) {
		return
	}
	for _, d := range s.paths(kind, words[0].text) {
		d.text = s.source(n)
		s.add(d)
	}
}

// paths returns deeds for a path, one for each directory that it may be
// relative to.
func (s *script) paths(kind kind, path string) []deed {
	dirs := s.dirs
	if filepath.IsAbs(path) {
		dirs = []string{s.ground.dir}
	}
	if len(dirs) == 0 {
		return []deed{{kind: hidden, text: path, why: "it is not known in which directory it runs"}}
	}
	var list []deed
	for _, dir := range dirs {
		places, err := s.ground.locateAll(dir, path)
		if err != nil {
			return []deed{{kind: hidden, text: path, why: err.Error()}}
		}
		for _, p := range places {
			list = append(list, pathDeed(kind, p))
		}
	}
	return list
}

// pathDeed says what there is to ask about a path.
func pathDeed(kind kind, p place) deed {
	d := deed{kind: kind, text: string(kind) + " " + p.String(), place: p}
	switch {
	case !p.inside:
		d.why = "it " + string(kind) + " " + p.String() + ", which is outside of the working directory"
		if kind == looks {
			d.why = "it looks at " + p.String() + ", which is outside of the working directory"
		}
	case kind == writes:
		d.why = "it writes " + p.String()
	case kind == reads && p.secret():
		d.why = "it reads " + p.String() + ", which by its name holds secrets"
	default:
		d.safe = true
	}
	return d
}
