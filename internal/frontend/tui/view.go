package tui

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
)

// view is the open session and its entries.
type view struct {
	conversation Conversation
	log          *transcript.Transcript
	printout     *printout
	feed         *feed
	unfollow     context.CancelFunc // ends feed

	fetch   *fetch // the input that is being prepared; nil for none
	closing bool   // the terminal is closing the session
	lost    bool   // the session ended, and this terminal did not close it
}

// open opens a session and shows its last turns.
func (u *UI) open(id string) error {
	ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
	defer cancel()
	c, err := u.Sessions.Open(ctx, id)
	if err != nil {
		return err
	}
	u.attach(c)
	return nil
}

func (u *UI) attach(c Conversation) {
	if u.view.fetch != nil && u.view.fetch.takeBack != nil {
		u.view.fetch.takeBack()
	}
	if u.view.unfollow != nil {
		u.view.unfollow()
		u.drain()
	}
	state := c.State()
	u.view.conversation, u.view.log, u.view.printout = c, transcript.New(state, transcript.Live), newPrintout(u.Keys)
	u.view.printout.answered = func(approval string) bool { return u.questions.answeredIDs[approval] }
	u.interrupts.turn, u.questions.answeredIDs, u.interrupts.pending, u.display.dirty = "", map[string]bool{}, false, true
	u.view.closing, u.view.lost, u.view.fetch, u.questions.texts = false, false, nil, nil
	if !u.display.welcomed && u.Version != "" {
		u.display.welcomed = true
		u.commit(u.welcome())
	}
	host := hostOf(c)
	if host != "" {
		u.showHost(host)
	}
	if note := noteOf(c); note != "" {
		u.commit(notice(warning(), "%s", note))
	}
	u.commitRecent(state)
	ctx, cancel := context.WithCancel(u.ctx)
	u.view.unfollow = cancel
	if host == "" {
		u.showOpening(ctx, c, state)
	}
	u.commitFinished()
	u.freeMemoryLater()
	fed := newFeed()
	u.view.feed = fed
	go u.guarded(func() { fed.run(ctx, c, state.Seq) }) // ends with ctx
}

// showOpening shows the notes of the session's opening, and of a recovery before it.
func (u *UI) showOpening(ctx context.Context, c Conversation, state event.State) {
	for e, err := range c.Events(ctx, max(state.HostSeq, 2)-2) { // the opening, and a recovery before it
		if err != nil || e.Seq > state.HostSeq {
			break
		}
		change := transcript.Change{Event: e}
		if _, recovered := e.Data.(event.SessionRecovered); recovered {
			change.State = &state
		}
		u.view.printout.sessionChanged(change)
		if e.Seq == state.HostSeq {
			break
		}
	}
}

// recentTurns is the number of shown turns of a reopened session. recentEntries is the number of
// their shown calls, blocks of text and lines of code.
const (
	recentTurns   = 3
	recentEntries = 500
)

// commitRecent shows the last turns.
func (u *UI) commitRecent(state event.State) {
	earlier := max(len(state.Turns)-recentTurns, 0)
	if earlier > 0 {
		u.commit(notice(faint(), "%s (%s shows them)", terminal.Count(earlier, "earlier turn"), u.view.printout.all))
	}
	var entries []entry
	for _, t := range state.Turns[earlier:] {
		if t.Cause == nil {
			continue
		}
		entries = append(entries, turnEntries(u.view.printout.renderer, state, t, u.view.printout.all)...)
	}
	if cut := len(entries) - recentEntries; cut > 0 {
		u.commit(notice(faint(), "the beginning of this is left out (%s shows it)", u.view.printout.all))
		entries = entries[cut:]
	}
	for _, e := range entries {
		u.commit(e)
	}
	if t := state.Running(); t != nil { // of a session that is hosted elsewhere
		u.view.printout.resume(t, u.view.log)
	}
	u.commitFinished()
}

// turnEntries is a turn that has ended, as it was when it ran.
func turnEntries(r *markdown.Renderer, s event.State, t *event.Turn, all string) (out []entry) {
	for e := range transcript.Entries(t) {
		if e.Input != nil {
			if !e.Input.Command {
				out = append(out, shortInput(e.Input, all))
			}
			continue
		}
		out = append(out, itemEntries(r, s, t, e.Item, all)...)
	}
	if t.Cause != nil && !onlyCommands(t) {
		out = append(out, endEntry(t))
	}
	return foldLooks(out)
}

func (u *UI) state() event.State { return u.view.log.State() }

// follow takes the events that have come.
func (u *UI) follow() {
	events, err := u.view.feed.take()
	for _, e := range events {
		changes, err := u.view.log.Take(e)
		if err != nil {
			u.drain()
			u.commit(notice(failure(), "%v", err))
			return
		}
		for _, c := range changes {
			u.view.printout.take(c)
			u.react(c)
		}
		u.commitFinished()
		u.refreshMenu()
		u.display.dirty = true
	}
	if err != nil {
		u.drain()
		u.commit(notice(failure(), "cannot read the session any more: %v", err))
	}
}

// react handles a change beyond showing it.
func (u *UI) react(c transcript.Change) {
	u.prepareNotification(c)
	ended := c.Thing == transcript.Turn && c.What == transcript.Ended
	if ended {
		u.freeMemoryLater()
		u.askHeldAgain(c.Turn)
	}
	if ended && c.Turn.Cause.Reason == event.Interrupted && len(c.Turn.Items) == 0 && c.Turn.Interrupt != nil &&
		u.interrupts.turn == c.Turn.ID && u.input.editor.empty() && len(c.Turn.Inputs) == 1 &&
		c.Turn.Inputs[0].HeldCall == nil {
		u.edit(&c.Turn.Inputs[0]) // the turn produced nothing: the person can change the input and send it again
	}
}

// replace closes the session and opens another one, with a text in the editor if draft is not
// empty, and then calls the functions then.
func (u *UI) replace(id, draft string, then ...func()) {
	old := u.view.conversation
	u.exit.earlier = u.continueCommand()
	u.view.closing = true
	u.showHint("opening the session")
	go u.guarded(func() { // ends within the timeouts
		ctx, cancel := context.WithTimeout(u.ctx, closeTimeout)
		err := u.Sessions.Close(ctx, old, event.Shutdown, user)
		cancel()
		ctx, cancel = context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		c, opened := u.Sessions.Open(ctx, id)
		u.send(func() {
			u.display.hint = ""
			if err != nil {
				u.commit(notice(warning(), "%v", err))
			}
			if opened == nil {
				u.commit(notice(accent(), "session %s", c.ID()))
				u.attach(c)
				if draft != "" {
					u.input.editor.set(draft)
				}
				for _, do := range then {
					do()
				}
				return
			}
			u.commit(
				notice(failure(), "%v", fmt.Errorf("cannot open the session; the one before was closed: %w", opened)),
			)
			u.reopen(old.ID())
		})
	})
}

// reopen goes back to a session that was closed for another one.
func (u *UI) reopen(id string) {
	go u.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(u.ctx, actTimeout)
		defer cancel()
		c, err := u.Sessions.Open(ctx, id)
		u.send(func() {
			if err != nil {
				u.exit.code = 1
				u.commit(notice(failure(), "%v", err))
				u.exit.done = true
				return
			}
			u.attach(c)
		})
	})
}
