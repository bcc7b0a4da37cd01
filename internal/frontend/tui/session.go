package tui

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/markdown"
)

// Sessions opens and closes sessions.
type Sessions interface {
	// Open opens the session, which "" makes.
	Open(ctx context.Context, id string) (Conversation, error)
	// Close ends everything of it.
	Close(ctx context.Context, c Conversation, reason event.Reason, by string) error
	// Resolve returns the session that a person means by a name: its id, the
	// beginning of it, or "" for the last one of the directory.
	Resolve(ctx context.Context, name string) (id string, err error)
	// Fork copies what has ended of a session to a new one.
	Fork(ctx context.Context, id string) (fork string, err error)
	// Rename has a session be called by a name.
	Rename(ctx context.Context, id, name string) error
	// List returns the sessions of the directory, the last one first.
	List(ctx context.Context) ([]Listed, error)
}

// Listed is a session that could be opened.
type Listed struct {
	ID, Title string
	Updated   time.Time
	// Host is another process that has it open, such as "pid 4711 (serve)".
	Host string
}

// Conversation is an open session.
type Conversation interface {
	ID() string
	State() event.State
	Events(ctx context.Context, cursor uint64) iter.Seq2[event.Event, error]
	Submit(ctx context.Context, text string, options ...settle.InputOption) (*settle.Turn, error)
	Interrupt(ctx context.Context, i settle.Interruption) (settle.Outcome, error)
	Answer(ctx context.Context, a settle.Answer) error
	Drop(input, by string) (bool, error)
	KillJob(ctx context.Context, job string) error
	Compact(ctx context.Context, by string) (settle.Compacted, error)

	// Model is the model of the next turn, and Window how many tokens it takes,
	// 0 if that is unknown.
	Model() string
	Window() int
	// Effort is how much the model is to think; empty leaves that to it.
	Effort() string
	// Choose has later turns work with another "model" or "effort".
	Choose(ctx context.Context, setting, value string) error
	// Mode is what may run without asking: "ask", "accept-edits", "read-only" or
	// "allow".
	Mode() string
	SetMode(ctx context.Context, name string) error
}

// recentTurns is how many turns of a session are shown when it is opened again, and
// recentEntries how many calls, blocks of text and lines of code of these.
const (
	recentTurns   = 3
	recentEntries = 500
)

// open opens a session and shows what was said last in it.
func (f *Face) open(id string) error {
	ctx, cancel := context.WithTimeout(f.ctx, actTimeout)
	defer cancel()
	c, err := f.Sessions.Open(ctx, id)
	if err != nil {
		return err
	}
	f.attach(c)
	return nil
}

func (f *Face) attach(c Conversation) {
	if f.unfollow != nil {
		f.unfollow()
		f.drain()
	}
	state := c.State()
	f.conversation, f.log, f.out = c, transcript.New(state, transcript.Live), newPrintout()
	f.interrupting, f.answered, f.hasty, f.dirty = "", map[string]bool{}, false, true
	f.closing, f.gone, f.fetching = false, false, nil
	host := hostOf(c)
	if host != "" {
		f.welcome(host)
	}
	f.commitRecent(state)
	ctx, cancel := context.WithCancel(f.ctx)
	f.unfollow = cancel
	if host == "" {
		f.opening(ctx, c, state)
	}
	f.commitFinished()
	f.giveBack()
	fed := newFeed()
	f.feed = fed
	go f.guarded(func() { fed.run(ctx, c, state.Seq) }) // ends with ctx
}

// opening shows what opening the session has brought.
func (f *Face) opening(ctx context.Context, c Conversation, state event.State) {
	for e, err := range c.Events(ctx, max(state.HostSeq, 2)-2) { // the opening, and a recovery before it
		if err != nil || e.Seq > state.HostSeq {
			break
		}
		f.out.session(transcript.Change{Event: e})
		if e.Seq == state.HostSeq {
			break
		}
	}
}

// commitRecent shows what was said last.
func (f *Face) commitRecent(state event.State) {
	earlier := max(len(state.Turns)-recentTurns, 0)
	if earlier > 0 {
		f.commit(notice(faint(), "%s (Ctrl-T shows them)", terminal.Count(earlier, "earlier turn")))
	}
	var entries []entry
	for _, t := range state.Turns[earlier:] {
		if t.Cause == nil {
			continue
		}
		entries = append(entries, turnEntries(f.out.renderer, t, state.Host.Dir)...)
	}
	if cut := len(entries) - recentEntries; cut > 0 {
		f.commit(notice(faint(), "the beginning of this is left out (Ctrl-T shows it)"))
		entries = entries[cut:]
	}
	for _, e := range entries {
		f.commit(e)
	}
	if t := state.Running(); t != nil { // of a session that is hosted elsewhere
		f.out.resume(t, f.log)
	}
	f.out.resumeAsks(state)
	f.commitFinished()
}

// turnEntries is a turn that has ended, as it was when it ran.
func turnEntries(r *markdown.Renderer, t *event.Turn, dir string) (out []entry) {
	for e := range transcript.Entries(t) {
		if e.Input != nil {
			if !e.Input.Command {
				out = append(out, inputEntry(e.Input))
			}
			continue
		}
		out = append(out, itemEntries(r, e.Item, dir)...)
	}
	if t.Cause != nil && !onlyCommands(t) {
		out = append(out, endEntry(t))
	}
	return out
}

func (f *Face) state() event.State { return f.log.State() }

// commit has an entry shown for good.
func (f *Face) commit(e entry) {
	width, _ := f.screen.Size()
	f.commits = append(f.commits, f.out.rows(e, width)...)
	f.dirty = true
}

func (f *Face) commitFinished() {
	for _, e := range f.out.finished() {
		f.commit(e)
	}
}

// follow takes the events that have come.
func (f *Face) follow() {
	events, err := f.feed.take()
	for _, e := range events {
		changes, err := f.log.Take(e)
		if err != nil {
			f.drain()
			f.commit(notice(bad(), "%v", err))
			return
		}
		for _, c := range changes {
			f.out.take(c)
			f.react(c)
		}
		f.commitFinished()
		f.refreshMenu()
		f.dirty = true
	}
	if err != nil {
		f.drain()
		f.commit(notice(bad(), "cannot read the session any more: %v", err))
	}
}

// react does what a change asks for beside being shown.
func (f *Face) react(c transcript.Change) {
	f.notice(c)
	ended := c.Thing == transcript.Turn && c.What == transcript.Ended
	if ended {
		f.giveBack()
	}
	if ended && c.Turn.Cause.Reason == event.Interrupted && len(c.Turn.Items) == 0 && c.Turn.Interrupt != nil &&
		f.interrupting == c.Turn.ID && f.editor.empty() && len(c.Turn.Inputs) == 1 {
		f.edit(&c.Turn.Inputs[0]) // nothing came of it: it can be changed and sent anew
	}
}

// feed are the events that have come and were not taken.
type feed struct {
	kick chan struct{} // one token when there is something
	done chan struct{} // closed when nothing more will come

	mu     sync.Mutex // guards what follows
	events []event.Event
	err    error
	room   *sync.Cond // for more events
	over   bool
}

// mostFed is how many events wait for a loop that is busy.
const mostFed = 1024

func newFeed() *feed {
	f := &feed{kick: make(chan struct{}, 1), done: make(chan struct{})}
	f.room = sync.NewCond(&f.mu)
	return f
}

// run reads the session until ctx ends or the session is closed.
func (f *feed) run(ctx context.Context, c Conversation, cursor uint64) {
	defer close(f.done)
	defer context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.over = true
		f.room.Broadcast()
	})()
	for e, err := range c.Events(ctx, cursor) {
		if ctx.Err() != nil {
			return
		}
		f.mu.Lock()
		for len(f.events) >= mostFed && !f.over {
			f.room.Wait() // until take, or the end of ctx
		}
		if err != nil {
			f.err = err
		} else {
			f.events = append(f.events, e)
		}
		f.mu.Unlock()
		select {
		case f.kick <- struct{}{}:
		default: // there is a token
		}
	}
}

func (f *feed) take() (events []event.Event, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	events, err, f.events, f.err = f.events, f.err, nil, nil
	f.room.Broadcast()
	return events, err
}

// replace closes the session and opens another one, with a text in the editor if
// there is one.
func (f *Face) replace(id, draft string) {
	old := f.conversation
	f.closing = true
	f.say("opening the session")
	go f.guarded(func() { // ends within the timeouts
		ctx, cancel := context.WithTimeout(f.ctx, closeTimeout)
		err := f.Sessions.Close(ctx, old, event.Shutdown, user)
		cancel()
		ctx, cancel = context.WithTimeout(f.ctx, actTimeout)
		defer cancel()
		c, opened := f.Sessions.Open(ctx, id)
		f.send(func() {
			f.hint = ""
			if err != nil {
				f.commit(notice(warned(), "%v", err))
			}
			if opened == nil {
				f.commit(notice(lively(), "session %s", c.ID()))
				f.attach(c)
				if draft != "" {
					f.editor.set(draft)
				}
				return
			}
			f.commit(notice(bad(), "%v", fmt.Errorf("cannot open the session; the one before was closed: %w", opened)))
			f.reopen(old.ID())
		})
	})
}

// reopen goes back to a session that was closed for another one.
func (f *Face) reopen(id string) {
	go f.guarded(func() { // ends within the timeout
		ctx, cancel := context.WithTimeout(f.ctx, actTimeout)
		defer cancel()
		c, err := f.Sessions.Open(ctx, id)
		f.send(func() {
			if err != nil {
				f.code = 1
				f.commit(notice(bad(), "%v", err))
				f.done = true
				return
			}
			f.attach(c)
		})
	})
}
