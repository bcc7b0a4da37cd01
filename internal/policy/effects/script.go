package effects

import (
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxText     = 16 << 10
	maxCommands = 100
	maxDirs     = 8
)

// Parse says what a script does.
func Parse(text string) Script {
	if why := strange(text); why != "" {
		return Script{Why: why}
	}
	var plain [2]Script
	for i, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangPOSIX} {
		file, err := syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
		if err != nil {
			return Script{Why: "it is not understood by every shell", Commands: plain[0].Commands}
		}
		r := reader{text: text}
		r.comments(file)
		r.list(file.Stmts, []string{"."})
		plain[i] = Script{Why: r.why, Commands: r.commands}
		if r.why != "" {
			plain[i].Commands = r.visible(file)
		}
	}
	if plain[0].Why == "" && !reflect.DeepEqual(plain[0], plain[1]) {
		return Script{Why: "shells differ in how they read it", Commands: plain[0].Commands}
	}
	return plain[0]
}

// strange finds text that people and shells may read differently.
func strange(text string) string {
	switch {
	case len(text) > maxText:
		return "it is too long"
	case !utf8.ValidString(text):
		return "it is not text"
	}
	for i, c := range text {
		switch {
		case c == '\\' && strings.HasPrefix(text[i+1:], "\n") && (i == 0 || text[i-1] != ' '):
			return "a word goes on in another line"
		case c != '\n' && c != '\t' && !unicode.IsPrint(c):
			return "it has characters that cannot be seen"
		}
	}
	return ""
}

// reader goes over the syntax of a script.
type reader struct {
	text     string
	why      string
	commands []Command
}

func (r *reader) refuse(why string) {
	if r.why == "" {
		r.why = why
	}
}

// comments must not go on in the next line for any shell.
func (r *reader) comments(file *syntax.File) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok && strings.HasSuffix(c.Text, `\`) {
			r.refuse("a comment ends with a backslash")
		}
		return true
	})
}

// list reads statements that run one after the other, and returns where the
// next one may run.
func (r *reader) list(stmts []*syntax.Stmt, dirs []string) []string {
	for _, s := range stmts {
		done, failed := r.stmt(s, dirs)
		dirs = union(done, failed)
	}
	return dirs
}

// stmt returns where the shell may be after success and after failure.
func (r *reader) stmt(s *syntax.Stmt, dirs []string) (done, failed []string) {
	if s.Negated || s.Background || s.Coprocess || s.Disown {
		r.refuse("it uses \"!\" or \"&\"")
	}
	switch n := s.Cmd.(type) {
	case *syntax.CallExpr:
		return r.call(n, s, dirs)
	case *syntax.BinaryCmd:
		if len(s.Redirs) > 0 {
			r.refuse("it redirects more than a simple command")
		}
		done, failed = r.stmt(n.X, dirs)
		switch n.Op {
		case syntax.AndStmt:
			yes, no := r.stmt(n.Y, done)
			return yes, union(failed, no)
		case syntax.OrStmt:
			yes, no := r.stmt(n.Y, failed)
			return union(done, yes), no
		case syntax.Pipe:
			r.stmt(n.Y, dirs)
			return dirs, dirs // each side is a process of its own
		}
	}
	r.refuse("it is more than simple commands with |, &&, || and ;")
	return dirs, dirs
}

// union of two sets of directories; both in the order of their discovery.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, dir := range b {
		if !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	return all
}

// call reads one simple command.
func (r *reader) call(n *syntax.CallExpr, s *syntax.Stmt, dirs []string) (done, failed []string) {
	c := Command{Text: r.source(s), Dirs: dirs}
	if len(n.Assigns) > 0 || len(n.Args) == 0 {
		r.refuse("it sets variables, or is no command")
		return dirs, dirs
	}
	for _, arg := range n.Args {
		c.Words = append(c.Words, r.word(arg))
	}
	c.Effects, c.Why = check(c.Words)
	for _, rd := range s.Redirs {
		r.redirect(rd, &c)
	}
	if r.commands = append(r.commands, c); len(r.commands) > maxCommands || len(dirs) > maxDirs {
		r.refuse("it has too many commands")
		return nil, nil
	}
	if c.Words[0].Text != "cd" || c.Why != "" {
		return dirs, dirs
	}
	for _, dir := range dirs {
		done = union(done, []string{join(dir, c.Words[1].Text)})
	}
	return done, dirs
}

// join is how cd goes from one directory to another: by names.
func join(dir, to string) string {
	if path.IsAbs(to) {
		return path.Clean(to)
	}
	return path.Join(dir, to)
}

// redirect allows /dev/null, descriptors that exist, and files with a name.
func (r *reader) redirect(rd *syntax.Redirect, c *Command) {
	w := r.word(rd.Word)
	standard := func(text string) bool { return text == "0" || text == "1" || text == "2" }
	switch {
	case rd.N != nil && !standard(rd.N.Value), rd.Hdoc != nil, w.Glob:
		r.refuse("a redirection is not understood")
	case rd.Op == syntax.DplOut && standard(w.Text):
	case rd.Op == syntax.RdrIn && w.Text != "":
		c.Effects = append(c.Effects, Effect{Kind: Reads, Path: w.Text})
	case (rd.Op == syntax.RdrOut || rd.Op == syntax.AppOut) && w.Text != "":
		if w.Text != "/dev/null" {
			c.Effects = append(c.Effects, Effect{Kind: Writes, Path: w.Text})
		}
	default:
		r.refuse("a redirection is not understood")
	}
}

func (r *reader) source(n syntax.Node) string {
	return strings.TrimRight(r.text[n.Pos().Offset():n.End().Offset()], " \t\n;")
}

// visible lists the commands of a script that is not understood.
func (r *reader) visible(file *syntax.File) []Command {
	var list []Command
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || len(list) == maxCommands {
			return true
		}
		c := Command{Text: r.source(call), Why: "it is part of a script that is not understood"}
		for _, arg := range call.Args {
			one := reader{text: r.text}
			w := one.word(arg)
			if one.why != "" {
				w = Word{Text: r.source(arg), Unknown: true}
			}
			c.Words = append(c.Words, w)
		}
		list = append(list, c)
		return true
	})
	return list
}
