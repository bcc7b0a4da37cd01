package effects

import (
	"path"
	"slices"
	"strings"
)

const (
	maxCommands = 100
	// reserved words begin something else than a simple command.
	reserved = " if then else elif fi do done case esac while until for in function select time coproc ! [[ ]] "
)

// Parse analyses a script.
func Parse(script string) Script {
	if why := strange(script); why != "" {
		return Script{Why: why}
	}
	s, dir, text := Script{}, ".", ""
	for _, m := range splitScript().FindAllStringSubmatch(script+"\n", -1) {
		switch command, operator := m[1], m[2]; {
		case command != "":
			text = command
		case operator != "" && text != "":
			c, why := newCommand(text, dir)
			if len(s.Commands) == maxCommands {
				why = "it has too many commands"
			}
			if why != "" {
				return Script{Why: why}
			}
			if c.Words[0].Text == "cd" && c.Why == "" {
				dir = c.enter(s.Commands, operator)
			}
			s.Commands, text = append(s.Commands, c), ""
		}
	}
	return s
}

// newCommand reads a simple command, or returns the reason why the text is none.
func newCommand(text, dir string) (c Command, why string) {
	c = Command{Text: text, Dir: dir, Start: dir}
	var redirections []Effect
	for _, m := range splitCommand().FindAllStringSubmatch(text, -1) {
		operator := m[1]
		word, ok := unquote(m[2] + m[3])
		switch target := word.Text; {
		case !ok:
			return c, "it has a word with wildcards and quotes"
		case strings.HasSuffix(operator, "<"):
			redirections = append(redirections, Effect{Kind: Reads, Path: target})
		case operator != "" && target != "/dev/null":
			redirections = append(redirections, Effect{Kind: Writes, Path: target})
		case operator == "" && m[3] != "":
			c.Words = append(c.Words, word)
		}
	}
	if len(c.Words) == 0 {
		return c, "it has a command without a name"
	}
	if name := c.Words[0].Text; strings.Contains(name, "=") || strings.Contains(reserved, " "+name+" ") {
		return c, "it has " + name + ", which is no simple command"
	}
	if c.check(); c.Dir != dir && len(redirections) > 0 {
		c.Dir, c.Effects, c.Why = dir, nil, "redirects, and works in another directory"
	}
	c.Effects = append(c.Effects, redirections...)
	return c, ""
}

// enter sets the directory of the commands after a cd. The cd must be the first command, or
// follow another cd: otherwise the shell might not run it.
func (c *Command) enter(before []Command, operator string) string {
	first := !slices.ContainsFunc(before, func(c Command) bool { return c.Words[0].Text != "cd" })
	if !first || operator == "|" || operator == "||" {
		c.Why = "cd is only known to be reached at the beginning, and not with | or ||"
		return c.Dir
	}
	return join(c.Dir, c.Words[1].Text)
}

// join joins a directory and a path by names, as shells do.
func join(dir, to string) string {
	if path.IsAbs(to) {
		return path.Clean(to)
	}
	return path.Join(dir, to)
}
