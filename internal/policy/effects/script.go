package effects

import (
	"path"
	"slices"
	"strings"
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
	l := lexer{text: text}
	p := parser{text: text, rest: l.tokens()}
	for dirs := []string{"."}; l.why == "" && p.why == "" && p.lines(); {
		dirs = p.list(dirs)
	}
	if l.why != "" || p.why != "" {
		return Script{Why: l.why + p.why}
	}
	return Script{Commands: p.commands}
}

// parser finds the commands among the tokens.
type parser struct {
	text     string
	rest     []token
	why      string
	commands []Command
}

func (p *parser) refuse(why string) {
	if p.why == "" {
		p.why = why
	}
	p.rest = nil
}

// operator takes one of these operators, if it is next.
func (p *parser) operator(wanted ...string) string {
	if len(p.rest) == 0 || !slices.Contains(wanted, p.rest[0].operator) {
		return ""
	}
	next := p.rest[0].operator
	p.rest = p.rest[1:]
	return next
}

// lines skips the ends of lines, and reports whether something follows.
func (p *parser) lines() bool {
	for p.operator("\n") != "" {
	}
	return len(p.rest) > 0
}

// list reads pipelines with && and ||, and returns where the next list may run.
func (p *parser) list(dirs []string) []string {
	done, failed := p.pipeline(dirs)
	for {
		switch p.operator("&&", "||") {
		case "&&":
			p.lines()
			yes, no := p.pipeline(done)
			done, failed = yes, union(failed, no)
		case "||":
			p.lines()
			yes, no := p.pipeline(failed)
			done, failed = union(done, yes), no
		default:
			if len(p.rest) > 0 && p.operator(";", "\n") == "" {
				p.refuse("it is more than simple commands with |, &&, || and ;")
			}
			return union(done, failed)
		}
	}
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

// pipeline returns where the shell may be after success and after failure.
func (p *parser) pipeline(dirs []string) (done, failed []string) {
	done, failed = p.command(dirs)
	for p.operator("|") != "" {
		p.lines()
		p.command(dirs)
		done, failed = dirs, dirs // each side is a process of its own
	}
	return done, failed
}

// reserved words begin something else than a simple command.
const reserved = "if then else elif fi do done case esac while until for in function select time coproc ! [[ ]]"

// command reads one simple command.
func (p *parser) command(dirs []string) (done, failed []string) {
	c := Command{Dirs: dirs}
	var redirections []Effect
	begin, end := p.rest, 0
	for len(p.rest) > 0 && !slices.Contains([]string{"\n", ";", "|", "&&", "||"}, p.rest[0].operator) {
		t := p.rest[0]
		p.rest, end = p.rest[1:], t.to
		switch {
		case t.operator == ">&": // with both descriptors
		case t.operator != "" && (len(p.rest) == 0 || p.rest[0].operator != "" || p.rest[0].Glob || p.rest[0].Text == ""):
			p.refuse("a redirection is not understood")
		case t.operator != "":
			if target := p.rest[0].Text; t.operator == "<" {
				redirections = append(redirections, Effect{Kind: Reads, Path: target})
			} else if target != "/dev/null" {
				redirections = append(redirections, Effect{Kind: Writes, Path: target})
			}
			p.rest, end = p.rest[1:], p.rest[0].to
		case len(c.Words) == 0 && (strings.Contains(t.Text, "=") || slices.Contains(strings.Fields(reserved), t.Text)):
			p.refuse("it has " + t.Text + ", which is no simple command")
		default:
			c.Words = append(c.Words, t.Word)
		}
	}
	if len(c.Words) == 0 || len(p.commands) == maxCommands || len(dirs) > maxDirs {
		p.refuse("it has too many commands, or one without a name")
		return dirs, dirs
	}
	c.Text = p.text[begin[0].from:end]
	c.Effects, c.Why = check(c.Words)
	c.Effects = append(c.Effects, redirections...)
	p.commands = append(p.commands, c)
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
