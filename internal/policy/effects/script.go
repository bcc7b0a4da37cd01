package effects

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const (
	maxCommands = 100
	// reserved words begin something else than a simple command.
	reserved = " if then else elif fi do done case esac while until for in function select time coproc ! [[ ]] "
)

// Parse says what a script does.
func Parse(text string) Script {
	tokens, why := split(text)
	if why != "" {
		return Script{Why: why}
	}
	p := parser{text: text, dir: "."}
	p.steady = !slices.ContainsFunc(tokens, func(t token) bool { return t.operator == ";" || t.operator == "||" || t.operator == "\n" })
	begin, before := 0, "\n"
	for i, t := range append(tokens, token{operator: "\n"}) {
		switch t.operator {
		case "\n", ";", "|", "&&", "||":
		default:
			continue // a word or a redirection
		}
		if i > begin {
			p.command(tokens[begin:i], before == "|" || t.operator == "|")
			before = t.operator
		} else if t.operator != "\n" {
			p.refuse("a command is missing before " + t.operator)
		}
		begin = i + 1
	}
	if strings.ContainsAny(before, "|&") {
		p.refuse("a command is missing after " + before)
	}
	if p.why != "" {
		return Script{Why: p.why}
	}
	return Script{Commands: p.commands}
}

// parser finds the commands among the tokens.
type parser struct {
	text     string
	steady   bool   // only && and | join the commands: each runs after all before it
	dir      string // where the next command runs
	why      string
	commands []Command
}

func (p *parser) refuse(why string) {
	if p.why == "" {
		p.why = why
	}
}

// command reads one simple command, which may be a part of a pipeline.
func (p *parser) command(tokens []token, piped bool) {
	c := Command{Dir: p.dir, Text: p.text[tokens[0].from:tokens[len(tokens)-1].to]}
	var redirections []Effect
	for len(tokens) > 0 {
		t := tokens[0]
		tokens = tokens[1:]
		switch t.operator {
		case "":
			c.Words = append(c.Words, t.Word)
		case "<", "0<", ">", "1>", "2>", ">>", "1>>", "2>>":
			if len(tokens) == 0 || tokens[0].operator != "" || tokens[0].Glob || tokens[0].Text == "" {
				p.refuse("a redirection is not understood")
				return
			}
			e := Effect{Kind: Writes, Path: tokens[0].Text}
			if strings.HasSuffix(t.operator, "<") {
				e.Kind = Reads
			}
			if e != (Effect{Kind: Writes, Path: "/dev/null"}) {
				redirections = append(redirections, e)
			}
			tokens = tokens[1:]
		case ">&1", ">&2", "1>&2", "2>&1": // with both descriptors
		default:
			p.refuse("it uses " + t.operator)
		}
	}
	if len(c.Words) == 0 || len(p.commands) == maxCommands {
		p.refuse("it has too many commands, or one without a name")
		return
	}
	if name := c.Words[0].Text; strings.Contains(name, "=") || strings.Contains(reserved, " "+name+" ") {
		p.refuse(fmt.Sprintf("it has %.40q, which is no simple command", name))
	}
	c.Effects, c.Why = check(c.Words)
	if c.Words[0].Text == "cd" && c.Why == "" {
		p.enter(&c, piped)
	}
	c.Effects = append(c.Effects, redirections...)
	p.commands = append(p.commands, c)
}

// enter has the commands that follow run in another directory. That is the same
// one however the others end if cd comes first, or if all must succeed.
func (p *parser) enter(c *Command, piped bool) {
	first := !slices.ContainsFunc(p.commands, func(c Command) bool { return c.Words[0].Text != "cd" })
	switch to := c.Words[1].Text; {
	case piped, !first && !p.steady:
		c.Why = "cd may not be reached; only && and | may join commands with it"
	case path.IsAbs(to):
		p.dir = path.Clean(to)
	default:
		p.dir = path.Join(p.dir, to) // by names, as shells do
	}
}
