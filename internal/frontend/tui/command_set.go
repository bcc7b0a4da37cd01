package tui

import (
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/terminal"
)

// commands are all that can be called: settle's, and the user's own.
func (u *UI) commands() []slash {
	all := slashes()
	if _, own := u.view.conversation.(HostedConversation); !own && hostOf(u.view.conversation) == "" {
		n := slices.IndexFunc(all, func(s slash) bool { return s.name == "detach" })
		all[n].help = "leave the session running, and quit (needs terminal.host = \"own\")"
	}
	var set commands.Set
	if u.Commands != nil {
		set = u.Commands() // checkUp reports unusable commands
	}
	if p, ok := u.view.conversation.(Expander); ok {
		set = set.With(p)
	}
	for _, c := range set.List {
		if !slices.ContainsFunc(all, func(s slash) bool { return s.name == c.Name }) {
			all = append(
				all,
				slash{
					c.Name, c.Hint, terminal.Short(c.About, maxHelp),
					func(u *UI, argument string) { u.deliverCommand(c, argument) },
				},
			)
		}
	}
	return all
}

// maxHelp bounds the description of a command, in characters.
const maxHelp = 100

// deliverCommand sends the expansion of a user's or project's command.
func (u *UI) deliverCommand(c commands.Command, argument string) {
	if c.Server != "" {
		u.fetch("/" + strings.TrimSpace(c.Name+" "+argument))
		return
	}
	text, err := c.Expand(argument)
	if err != nil {
		u.showHint("%v", err)
		return
	}
	u.deliver(partsOf(text), event.Queue)
}
