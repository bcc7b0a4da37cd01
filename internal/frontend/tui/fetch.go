package tui

import (
	"context"
	"errors"
	"strings"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/terminal"
)

// Expander is a conversation whose MCP servers have prompts.
type Expander interface {
	commands.Prompter
	// Expand returns the expansion of a text, and can take time if it needs a server.
	Expand(ctx context.Context, text string) (string, []event.Image, error)
}

// fetch is the preparation of an input that the session has not accepted: the expansion of an MCP
// prompt, or the reading of the files that the input names. The session accepts an MCP prompt when
// the server has answered; until then an interrupt with the input's ID cancels the fetch.
type fetch struct {
	input, text string
	givenUp     bool

	file string // the first file that is read; "" for an MCP prompt
	// takeBack takes back the input whose files are read, unless it is being sent, and reports whether
	// it did.
	takeBack func() bool
}

// newFetch returns a fetch, and the function that submits it and waits for the server.
func newFetch(c Conversation, text string) (one *fetch, send func(context.Context) error) {
	one = &fetch{input: "tui-" + uuid.NewString(), text: text}
	return one, func(ctx context.Context) error {
		options := []settle.InputOption{settle.From(user), settle.WithID(one.input)}
		if e, ok := c.(Expander); ok {
			options = append(options, settle.WithExpansion(commands.Required(e.Expand)))
		}
		_, err := c.Submit(ctx, text, options...)
		return err
	}
}

// giveUp takes the input back, or ends its turn where it has just been accepted (C10). It reports
// whether an input was taken back whose files are read: the key then interrupts no turn.
func (one *fetch) giveUp(ctx context.Context, c Conversation) bool {
	if one.givenUp {
		return false
	}
	if one.takeBack != nil {
		return one.takeBack()
	}
	one.givenUp = true
	go func() { // ends at once, or with the turn, which ends in time (C9)
		_, _ = c.Interrupt(ctx, settle.Interruption{By: user, Input: one.input}) // Submit returns the outcome
	}()
	return false
}

// failure returns why nothing was sent; "" after a cancel by the person.
func (one *fetch) failure(err error) string {
	if cause := (*event.Cause)(nil); one.givenUp && errors.As(err, &cause) {
		return ""
	}
	return err.Error()
}

// fetch sends the expansion of an MCP prompt once the server has answered. If the fetch
// fails, the text returns to the editor.
func (u *UI) fetch(text string) {
	c := u.view.conversation
	one, send := newFetch(c, text)
	u.view.fetch = one
	go u.guarded(func() { // ends with the answer of the server, with an interrupt, or with the session
		err := send(u.ctx)
		u.send(func() {
			u.display.dirty = true
			if u.view.fetch == one {
				u.view.fetch = nil
			}
			if err == nil || u.view.conversation != c {
				return
			}
			back := "↑ brings it back"
			if u.input.editor.empty() {
				u.input.editor.set(text)
				back = "it is in the editor again"
			}
			if why := one.failure(err); why != "" {
				u.commit(notice(failure(), "not sent: %s", why))
			} else {
				u.showHint("not sent; %s", back)
			}
		})
	})
}

// fetches reports whether a text is a prompt of a server, which may not be known yet,
// and no command that hides it.
func (o *Options) fetches(c Conversation, text string) bool {
	if _, ok := c.(Expander); !ok || !commands.Async(text) {
		return false
	}
	if o.Commands == nil {
		return true
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(text, "/"), " ")
	_, hidden := o.Commands().Named(name)
	return !hidden
}

// sendFirst sends the prompt from the command line, or its expansion. The terminal's own slash
// commands work only at the keyboard.
func (u *UI) sendFirst(text string) {
	u.input.history.add(u.masked(text))
	if u.fetches(u.view.conversation, text) {
		u.fetch(text)
		return
	}
	stands, err := u.expanded(text)
	if err != nil {
		u.input.editor.set(text)
		u.commit(notice(failure(), "not sent: %v", err))
		return
	}
	u.deliver(partsOf(stands), event.Queue)
}

// expanded returns the expansion of a text from files.
func (o *Options) expanded(text string) (string, error) {
	if o.Commands == nil {
		return text, nil
	}
	return o.Commands().Expand(text)
}

// busy reports whether a fetch is running, and then shows a hint: a second input would
// overtake the first.
func (u *UI) busy() bool {
	if u.view.fetch == nil {
		return false
	}
	u.showHint("waiting for %s; Esc cancels it", terminal.Short(u.view.fetch.text, maxHelp))
	return true
}

// what describes the operation that the input waits for.
func (one *fetch) what() string {
	if one.file != "" {
		return "reading " + terminal.Short(one.file, maxHelp)
	}
	return "waiting for the MCP server"
}

// fetchRows shows the running fetch.
func (u *UI) fetchRows(width int) []terminal.Line {
	if u.view.fetch == nil {
		return nil
	}
	how := "↳ " + u.view.fetch.what() + " (Esc cancels): "
	if u.view.fetch.givenUp {
		how = "↳ cancelling: "
	}
	return []terminal.Line{
		terminal.Clip(
			terminal.Line{{Text: how, Style: faint()}, {Text: terminal.OneLine(strings.TrimSpace(u.view.fetch.text))}},
			width,
		),
	}
}
