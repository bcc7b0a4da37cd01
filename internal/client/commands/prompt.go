package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/tool/mcp"
)

// Prompter is a source that has prompts of MCP servers.
type Prompter interface {
	// Prompts returns the prompts that are known now, and notes on names that cannot be
	// used.
	Prompts() (list []mcp.Command, notes []string)
}

// connected is a source with a session, whose MCP servers can be called.
type connected interface{ Servers() *mcp.Servers }

// With is the set with the prompts of MCP servers. A command or a skill of the name
// hides one.
func (s Set) With(p Prompter) Set {
	list, notes := p.Prompts()
	s.List, s.Hidden = slices.Clone(s.List), slices.Clone(s.Hidden)
	for _, note := range notes {
		s.Hidden = append(s.Hidden, errors.New(note))
	}
	paths := map[string]string{} // by name
	for n := range s.List {
		if c := &s.List[n]; c.Server == "" {
			paths[c.Name] = c.Path
		}
	}
	for _, p := range list {
		c := ofPrompt(p)
		if path, taken := paths[c.Name]; taken {
			s.Hidden = append(
				s.Hidden,
				fmt.Errorf("the prompt %q of the MCP server %q: it is hidden by %s", p.Prompt.Name, p.Server, path),
			)
			continue
		}
		s.List = append(s.List, c)
	}
	slices.SortFunc(s.List, func(a, b Command) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// ofPrompt is a prompt of a server.
func ofPrompt(p mcp.Command) Command {
	c := Command{Name: p.Name, About: oneLine(p.Prompt.Description), Server: p.Server, prompt: p}
	if c.About == "" {
		c.About = "a prompt of the MCP server " + p.Server
	}
	var hint []string
	for _, a := range p.Prompt.Arguments {
		name := oneLine(a.Name)
		if !a.Required {
			name = "[" + name + "]"
		}
		hint = append(hint, name)
	}
	c.Hint = strings.Join(hint, " ")
	return c
}

// ClaudeName is the command's name in Claude Code.
func (c Command) ClaudeName() string {
	if c.Server != "" {
		return c.prompt.ClaudeName()
	}
	return c.Name
}

// FailedError reports that a command could not be expanded. No input was sent.
type FailedError struct{ why error }

func (e *FailedError) Error() string { return e.why.Error() }
func (e *FailedError) Unwrap() error { return e.why }

// Expander returns the option that expands an input which calls a command. Files and skills
// are read at once. For a prompt of an MCP server, settle requests it from the server and
// starts the server first if necessary. Any other text stays unchanged.
func Expander(s Source) settle.InputOption { return settle.WithExpansion(Expansion{s}.Expand) }

// Required returns a function that expands as expand does, and refuses a text that calls no
// command.
func Required(
	expand func(context.Context, string) (string, []event.Image, error),
) func(context.Context, string) (string, []event.Image, error) {
	return func(ctx context.Context, text string) (string, []event.Image, error) {
		stands, images, err := expand(ctx, text)
		if name, _, _ := strings.Cut(text, " "); err == nil && stands == text && len(images) == 0 {
			err = fmt.Errorf("there is no command %s; a space before the slash sends it as it is", name)
		}
		return stands, images, err
	}
}

// Expansion expands the commands of a source.
type Expansion struct{ Source Source }

// Expand returns the expanded text. The error is a [*FailedError].
func (x Expansion) Expand(ctx context.Context, text string) (string, []event.Image, error) {
	name, arguments := parted(text)
	if name == "" || !IsName(name) {
		return text, nil, nil
	}
	text, images, err := x.expand(ctx, text, name, arguments)
	if err != nil {
		return "", nil, &FailedError{err}
	}
	return text, images, nil
}

func (x Expansion) expand(ctx context.Context, text, name, arguments string) (string, []event.Image, error) {
	if c, ok := Of(x.Source).Named(name); ok && c.Server == "" {
		if !c.calls(arguments) {
			return text, nil, nil
		}
		text, err := c.Expand(arguments)
		return text, nil, err
	}
	open, ok := x.Source.(connected)
	if !ok {
		return text, nil, nil
	}
	servers := open.Servers()
	c, ok, err := servers.Find(ctx, name) // starts the server if necessary
	if err != nil || !ok {
		return text, nil, err
	}
	return fetch(ctx, servers, c, arguments)
}

// Async reports whether expanding a text can take time.
func Async(text string) bool {
	name, _ := parted(text)
	return strings.Contains(name, mcp.Separator) && IsName(name)
}

// fetch asks the server of a prompt for it.
func fetch(ctx context.Context, servers *mcp.Servers, c mcp.Command, words string) (string, []event.Image, error) {
	values, rest, err := assigned(c, words)
	if err != nil {
		return "", nil, err
	}
	got, err := servers.Get(ctx, c, values, "prompt-"+uuid.NewString())
	if err != nil {
		return "", nil, err
	}
	if rest != "" { // as for the commands that have no place for words
		got.Text += "\n\n" + rest
	}
	return got.Text, got.Images, nil
}

// assigned assigns the words of a call to the arguments of a prompt: NAME=value to the
// argument of that name, other words in order, and all remaining text to the last argument.
// rest holds the words that no argument takes.
func assigned(c mcp.Command, words string) (values map[string]string, rest string, err error) {
	values = map[string]string{}
	named := func(name string) bool {
		return slices.ContainsFunc(c.Prompt.Arguments, func(a mcp.Argument) bool { return a.Name == name })
	}
	var open []skills.Word
	for _, word := range skills.Words(words) {
		if name, value, is := strings.Cut(word.Text, "="); is && named(name) {
			values[name] = value
			continue
		}
		open = append(open, word)
	}
	var free, missing []string
	for _, a := range c.Prompt.Arguments {
		if _, given := values[a.Name]; !given {
			free = append(free, a.Name)
		}
	}
	if len(free) > 0 && len(open) > len(free) {
		open[len(free)-1].Text = skills.Raw(words, open[len(free)-1:])
		open = open[:len(free)]
	}
	for n, name := range free[:min(len(free), len(open))] {
		values[name] = open[n].Text
	}
	for _, a := range c.Prompt.Arguments {
		if _, given := values[a.Name]; a.Required && !given {
			missing = append(missing, oneLine(a.Name))
		}
	}
	if len(missing) > 0 {
		return nil, "", fmt.Errorf(
			"/%s needs %s; usage: /%s %s", c.Name, strings.Join(missing, ", "), c.Name, ofPrompt(c).Hint,
		)
	}
	return values, skills.Raw(words, open[min(len(free), len(open)):]), nil
}
