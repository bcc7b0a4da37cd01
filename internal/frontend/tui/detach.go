package tui

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle/event"
)

// HostedConversation is a conversation whose session a process of its own hosts, which this
// terminal has started. Closing it ends the session, unless it was detached.
type HostedConversation interface {
	// Process names that process, such as "pid 4711 (terminal)".
	Process() string
	// Detach has the process live on without this terminal.
	Detach(ctx context.Context) error
}

// insideWords say why a session cannot be detached, and how one can.
const insideWords = "this session runs in the terminal's own process and ends with it; with host = \"own\" " +
	"under [terminal] in your configuration, the terminal starts a process for each session, which /detach " +
	"leaves running (set it, /quit, and continue with settle resume)"

// detach leaves the session running in its host process, and ends the terminal.
func (u *UI) detach(string) {
	c := u.view.conversation
	own, ok := c.(HostedConversation)
	switch {
	case u.view.lost:
		u.showHint("the session has ended")
	case hostOf(c) != "": // of another terminal or program, which keeps it
		u.leave(event.Shutdown, user)
	case !ok:
		u.commit(notice(accent(), "%s", insideWords))
	case u.busy():
	default:
		u.enqueue(func(ctx context.Context) error { // after the inputs that were sent before
			if err := own.Detach(ctx); err != nil {
				return fmt.Errorf("cannot detach: %w", err)
			}
			u.send(func() { u.leave(event.Shutdown, user) })
			return nil
		})
	}
}

// detach leaves the session running in its host process, and ends the terminal.
func (p *plain) detach() {
	own, ok := p.conversation.(HostedConversation)
	switch {
	case hostOf(p.conversation) != "":
		p.done = true
	case !ok:
		p.printf("Not detached: %s.", insideWords)
	case p.fetching != nil:
		p.printf("Not detached: waiting for the MCP server. /stop cancels it.")
	default:
		ctx, cancel := context.WithTimeout(p.ctx, actTimeout)
		defer cancel()
		if err := own.Detach(ctx); err != nil {
			p.printf("Not detached: %v", err)
			return
		}
		p.done = true
	}
}
