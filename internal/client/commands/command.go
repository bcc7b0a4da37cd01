package commands

import (
	"fmt"
	"strings"

	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/tool/mcp"
)

// Command is a prompt that has a name.
type Command struct {
	Name string
	// About describes the command; it defaults to the first line of the text. Hint names
	// the arguments, and is empty if the command takes none.
	About, Hint string
	// Path is the command's file, and Project reports that the file belongs to the project.
	Path    string
	Project bool
	// Plugin is the plugin that has the command; empty for none.
	Plugin string
	// Skill reports that the command is a skill.
	Skill bool
	// Server is the MCP server that has it as a prompt; empty for any other.
	Server string
	// BuiltIn reports that the command is settle's own.
	BuiltIn bool
	// Warnings list the settings in the file that settle ignores.
	Warnings []string

	text   string
	skill  skills.Skill
	prompt mcp.Command
}

// letters are the characters that a command name can have.
const letters = "abcdefghijklmnopqrstuvwxyz0123456789-_:"

// IsName reports whether a word could be the name of a command, or its beginning. Of
// prompts, names have capital letters as well.
func IsName(word string) bool {
	return strings.Trim(word, letters) == "" || strings.Contains(word, mcp.Separator) && strings.Trim(
		strings.ToLower(word), letters,
	) == ""
}

// parse reads a file.
func parse(text string) (Command, error) {
	head, body, _ := skills.Split(skills.Clean(text))
	h, err := skills.Parse(head)
	if err != nil {
		return Command{}, err
	}
	c := Command{
		text: strings.TrimSpace(body), About: oneLine(h.Text("description")),
		Hint: oneLine(h.Text("argument-hint")),
	}
	if c.About == "" {
		first, _, _ := strings.Cut(c.text, "\n")
		c.About = strings.TrimSpace(strings.TrimLeft(first, "# "))
	}
	if c.Hint == "" && skills.HasPlaces(c.text) {
		c.Hint = "[ARGUMENTS]"
	}
	for _, key := range []string{"allowed-tools", "model"} {
		if _, there := h[key]; there {
			c.Warnings = append(c.Warnings, "settle does not use its "+key)
		}
	}
	if strings.Contains(c.text, "!`") {
		c.Warnings = append(c.Warnings, "the commands in it (!`…`) are left to the model")
	}
	return c, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// ofSkill is a skill that a person may call.
func ofSkill(s skills.Skill) Command {
	return Command{
		Name: s.Name, About: s.About, Hint: s.Hint, Path: s.Path, Project: s.Project, Plugin: s.Plugin, Skill: true,
		skill: s,
	}
}

// unrun is for the model, where a file wants commands to have been run.
const unrun = "\n\n[Where this says !`…`, another agent would have put the output of that command. It was not run: run it yourself if you need to know.]"

// Expand returns the prompt with the arguments in their places: all arguments for
// $ARGUMENTS, one word for $1 to $9. Without a place, the arguments follow the text. A
// skill is read again each time. Expand cannot expand the prompt of an MCP server;
// [Expander] can.
func (c Command) Expand(arguments string) (string, error) {
	arguments = strings.TrimSpace(arguments)
	if c.Skill {
		loaded, err := c.skill.Load()
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Use the skill %q, which I have called.\n\n%s", c.Name, loaded.Text(arguments)), nil
	}
	if c.BuiltIn && c.Name == reviewName {
		return reviewed(arguments), nil
	}
	text, ok := skills.Fill(c.text, arguments)
	if !ok && arguments != "" {
		text += "\n\n" + arguments
	}
	if strings.Contains(c.text, "!`") {
		text += unrun
	}
	return text, nil
}
