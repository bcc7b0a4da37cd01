package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
)

// plainCommand is a command of the plain frontend.
type plainCommand struct {
	name, argument, help string
	run                  func(p *plain, argument string)
}

func plainCommands() []plainCommand {
	return []plainCommand{
		{"stop", "", "interrupts the turn, like Ctrl-C", func(p *plain, _ string) { p.interrupt() }},
		{"quit", "", "ends the session, like Ctrl-C while no turn runs", func(p *plain, _ string) { p.done = true }},
		{
			"detach", "", "leaves the session running, if a process of its own hosts it",
			func(p *plain, _ string) { p.detach() },
		},
		{"decline", "", "declines the questions that wait", func(p *plain, _ string) { p.printf("No question waits.") }},
		{
			"permissions", "MODE", "chooses what may run without a question: " + strings.Join(permissionModes(), ", "),
			(*plain).permissions,
		},
		{
			"model", "NAME", "chooses the model of the next turns",
			func(p *plain, name string) { p.choose("model", name) },
		},
		{
			"effort", "LEVEL", "chooses how much the model thinks, from the next turn",
			func(p *plain, level string) { p.choose("effort", level) },
		},
		{"help", "", "lists these commands", func(p *plain, _ string) { p.help() }},
	}
}

// commandOf returns the command that a line is, by its own name or by an alias.
func (p *plain) commandOf(line string) (c plainCommand, argument string, ok bool) {
	name, argument, ok := commandOf(line)
	if !ok {
		return c, "", false
	}
	all := plainCommands()
	named := func(name string) bool {
		at := slices.IndexFunc(all, func(c plainCommand) bool { return c.name == name })
		if at >= 0 {
			c = all[at]
		}
		return at >= 0
	}
	if named(name) || !p.isUsers(name) && named(aliases()[name]) {
		return c, argument, true
	}
	return c, "", false
}

// isUsers reports whether a command is the user's or the project's own.
func (p *plain) isUsers(name string) bool {
	if p.Commands == nil {
		return false
	}
	_, known := p.Commands().Named(name)
	return known
}

// refused reports whether a line is a command that neither this frontend nor the user has: the
// model must not receive it as a prompt.
func (p *plain) refused(line string) bool {
	name, _, ok := commandOf(line)
	if !ok || p.fetches(p.conversation, line) {
		return false
	}
	if p.isUsers(name) {
		return p.refusedWords(name, line)
	}
	known := make([]string, 0, len(plainCommands()))
	for _, c := range plainCommands() {
		known = append(known, "/"+c.name)
	}
	what := fmt.Sprintf("There is no command /%s%s", name, config.DidYouMean("/"+name, known))
	switch c, isForeign := counterpartOf(name, p.Keys); {
	case isOwn(name), aliases()[name] != "":
		what = fmt.Sprintf("The command /%s is not available in plain mode", name)
		if instead := shellInstead()[cmp.Or(aliases()[name], name)]; instead != "" {
			what += "; in a shell, " + instead
		}
	case isForeign && c.plainWords() != "":
		what = fmt.Sprintf("There is no /%s here: %s", name, c.plainWords())
	}
	if !strings.HasSuffix(what, "?") {
		what += "."
	}
	p.printf("Not sent: %s Commands: %s. A space before the slash sends the line as it is.",
		what, strings.Join(known, ", "))
	return true
}

// refusedWords reports whether a line is a built-in command with words that the command does not take.
func (p *plain) refusedWords(name, line string) bool {
	if p.Commands().Calls(line) {
		return false
	}
	takes := "no words"
	if c, _ := p.Commands().Named(name); c.Hint != "" {
		takes = "at most one word: a range, a commit, a branch or a file"
	}
	p.printf("Not sent: /%s takes %s. A space before the slash sends the line as it is.", name, takes)
	return true
}

// shellInstead returns shell commands in place of commands that plain mode lacks.
func shellInstead() map[string]string {
	const (
		session = "settle sessions show ID prints the session"
		usage   = "settle usage sums all sessions, and settle sessions show ID has the tokens of one"
		machine = "settle doctor checks the installation, and settle config lists the settings"
	)
	return map[string]string{
		"agents":  "settle agents lists the kinds of child agents, and settle sessions those that ran",
		"plugins": "settle plugins lists them", "cost": usage, "usage": usage,
		"status": machine, "doctor": machine, "transcript": session, "export": session,
		"compact": "settle compact makes the history of a session shorter",
		"rewind":  "settle rewind goes back to before an input",
		"resume":  "settle resume ID opens a session, and settle sessions lists them",
		"new":     "settle begins a new session",
		"jobs":    "settle jobs lists and ends jobs", "kill": "settle jobs lists and ends jobs",
		"plan": "settle --plan begins in plan mode",
		"diff": "git diff shows what changed",
	}
}

func (p *plain) help() {
	p.printf("A line is a prompt, or after an exclamation mark a command of your own, which runs outside the " +
		"sandbox; during a turn, the line waits for the end of the turn. A space before a slash sends the line as " +
		"it is. /init, /review, your own commands and the prompts of MCP servers also work.")
	for _, c := range plainCommands() {
		p.printf("%s: %s.", strings.TrimSpace("/"+c.name+" "+c.argument), c.help)
	}
}

// changed makes a change if there is a value, and reports whether it did not fail.
func (p *plain) changed(value string, change func(context.Context) error) bool {
	if value == "" {
		return true
	}
	ctx, cancel := context.WithTimeout(p.ctx, actTimeout)
	defer cancel()
	err := change(ctx)
	if err != nil {
		p.printf("Not changed: %v", err)
	}
	return err == nil
}

// permissions changes the mode, or prints the mode in force.
func (p *plain) permissions(mode string) {
	if !p.changed(mode, func(ctx context.Context) error { return p.conversation.SetMode(ctx, mode) }) {
		return
	}
	now := p.conversation.Mode()
	p.printf("The permission is %s: %s.", now, event.ModeEffect(now, p.log.State().Host.Confinement))
}

// choose changes the model or the effort of the next turns.
func (p *plain) choose(setting, value string) {
	if !p.changed(value, func(ctx context.Context) error { return p.conversation.Choose(ctx, setting, value) }) {
		return
	}
	now := map[string]string{"model": p.conversation.Model(), "effort": p.conversation.Effort()}[setting]
	if now == "" {
		now = "the model's default"
	}
	p.printf("The %s of the next turn is %s.", setting, now)
}
