package tui

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/internal/terminal/keymap"
)

const (
	// frameDelay is the least time between two frames that no key asked for.
	frameDelay = 16 * time.Millisecond
	// quitDelay is the time in which a second Ctrl-C quits after a first one.
	quitDelay = time.Second
	// askDelay is how long a question must be visible before a key answers it: earlier keys
	// were typed for something else. For as long after its end, the keys of its answers are no text.
	askDelay = 400 * time.Millisecond
	// closeTimeout bounds the end of a session.
	closeTimeout = 1500 * time.Millisecond
	// worktreeTimeout bounds the end of a session with a git worktree of its own: settle looks
	// through the worktree, and removes it.
	worktreeTimeout = 12 * time.Second
	// actTimeout bounds requests to the session.
	actTimeout = 10 * time.Second
	// maxCommits bounds the rows and entries that wait for the next frame or a slow terminal. Until
	// they are written, the loop reads no more of the log (C17).
	maxCommits = 1000
	// maxFrame bounds the memory of a frame that is kept for the next frame, in bytes.
	maxFrame = 64 << 10
	// maxWrite bounds how long the last rows wait for a terminal that does not
	// take them.
	maxWrite = 500 * time.Millisecond
)

// user is the name of the person at the terminal in the log.
const user = "user"

// Terminal is the terminal in raw mode.
type Terminal interface {
	io.ReadWriter
	Size() (width, height int)
	// Restore returns the terminal to its earlier mode, and Take sets raw mode again.
	Restore()
	Take() error
}

// Options configure the terminal frontend.
type Options struct {
	Terminal Terminal
	Palette  terminal.Palette
	// AutoTheme has the theme follow the background that the terminal reports.
	AutoTheme bool
	Reflow    terminal.Reflow
	// Notify is the kind of notification while the terminal's window is unfocused. Through is the
	// multiplexer between settle and the terminal.
	Notify  terminal.Notification
	Through terminal.Passthrough
	// Keys are the actions of keys.
	Keys     keymap.Map
	Sessions Sessions
	// Session is opened first; "" makes a new one. Prompt, if set, is sent to it.
	Session, Prompt string
	// Place is the working directory, as it is shown, and Version the version in the first
	// rows; without it, there are none. PlaceOf, if set, returns how a session's directory is shown, which
	// can be a git worktree, or another process's.
	Place, Version string
	PlaceOf        func(dir string) string
	// StatusLine is the template of the status row; empty for settle's own. StatusCommand, if set, runs the
	// person's command for the row with its input, and returns its output.
	StatusLine    string
	StatusCommand func(ctx context.Context, input []byte) (string, error)
	// DataDir is the directory with the remembered prompts; "" remembers none. FindsDataDir reports
	// that settle finds it without a flag or variable, so that printed commands need none.
	DataDir      string
	FindsDataDir bool
	// Commands are the user's and the project's own commands, as they are now; nil
	// for none.
	Commands func() commands.Set
	// Stops receives signals; Resized receives a value when the terminal's size has
	// changed.
	Stops   <-chan stdio.Stop
	Resized <-chan struct{}
	// Suspend stops the process until it receives a continue signal; nil where the system
	// has none.
	Suspend func()
	// Edit opens a text in an external editor, which uses the terminal until it ends; nil
	// if unavailable.
	Edit func(ctx context.Context, text string) (string, error)
	// PasteImage returns the picture in the clipboard; nil if unavailable.
	PasteImage func(ctx context.Context) (event.Image, error)
	// Resume is the command that continues a session; hosted reports that another process hosts it.
	Resume func(session string, hosted bool) string
	// Mask masks secrets.
	Mask func(string) string
	// FreeMemory, if set, is called when nothing has run for a time: see [FreeMemory].
	FreeMemory func()
	// AgentKinds, if set, lists the kinds of child agents.
	AgentKinds func(out io.Writer)
	// Plugins, if set, lists the user's plugins.
	Plugins func(out io.Writer)
	// Doctor, if set, checks the installation.
	Doctor func(ctx context.Context, out io.Writer)
	// Settings, if set, writes the settings in force that are not defaults, and their origins. InUse, if
	// set, writes the instructions, hooks, skills and commands in use.
	Settings, InUse func(out io.Writer)
	// Imported, if set, returns a line about the configuration of other agents that is in use; ""
	// for none.
	Imported func() string

	// documents reads the PDFs of an input; nil for [session.ReadDocuments].
	documents func(context.Context, []event.Document) ([]event.Document, error)
}

// placeIn returns how the working directory of a session is shown.
func (o *Options) placeIn(s event.State) string {
	if o.PlaceOf == nil || s.Host.Dir == "" {
		return o.Place
	}
	return o.PlaceOf(s.Host.Dir)
}

// UI is the terminal with the session that it shows. The goroutine of loop owns all
// of its state, except the two channels.
type UI struct {
	Options
	ctx  context.Context // Run's own
	post chan func()     // functions that the loop calls
	work chan func()     // requests to the session, sent one after the other

	display    display
	view       view
	input      input
	overlay    overlay
	questions  questions
	interrupts interrupts
	attention  attention
	exit       exit

	endEditor   func()      // ends the external editor; nil while none has the terminal
	memoryTimer *time.Timer // returns unused memory to the system
}

// Run shows the session until the person quits or a stop comes, ends everything
// and returns the exit code.
func Run(ctx context.Context, o Options) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	u := &UI{Options: o, ctx: ctx, post: make(chan func()), work: make(chan func(), 64)}
	u.input.history, u.questions.answeredIDs = openHistory(o.DataDir), map[string]bool{}
	u.display.dirty = true
	width, height := o.Terminal.Size()
	u.input.vi.on, u.Notify = o.Keys.Vi, cmp.Or(o.Notify, terminal.Bell)
	u.display.screen = terminal.NewScreen(&u.display.frames, o.Palette, o.Reflow, width, height)
	if o.AutoTheme && o.Palette.Color {
		u.followBackground()
		u.display.auto.heldUntil = time.Now().Add(backgroundDelay)
	}
	if err := u.open(o.Session); err != nil {
		return stdio.CodeUsage, err
	}
	u.display.writer = newWriter(o.Terminal, u.send)
	go u.guarded(func() { u.display.writer.run(ctx) }) // ends with ctx
	go u.guarded(func() { u.runRequests(ctx) })        // ends with ctx
	go u.guarded(func() { u.read(ctx.Done()) })        // ends with ctx, or with the terminal
	if o.Prompt != "" {
		u.display.hint = ""
		u.sendFirst(o.Prompt)
	}
	err = scope.Guard(func() error { u.loop(); return nil })
	u.finish()
	if err := errors.Join(err, u.exit.failure); err != nil {
		return stdio.CodeFailed, err
	}
	return u.exit.code, nil
}

// closeTimeoutOf bounds the end of a session in the state.
func closeTimeoutOf(state event.State) time.Duration {
	if state.Host.Worktree != nil {
		return worktreeTimeout
	}
	return closeTimeout
}

func (u *UI) read(stop <-chan struct{}) {
	terminal.Read(u.Terminal, stop, func(events []terminal.Event) {
		u.send(func() {
			if len(events) == 0 {
				m := u.display.shown
				u.interrupts.keyMoment = &m
				return
			}
			for _, e := range events {
				u.take(e)
			}
			u.interrupts.keyMoment = nil
			u.draw(time.Now())
		})
	})
	u.send(func() { u.stop(stdio.Stop{Reason: event.Shutdown, By: "terminal", Code: stdio.CodeHangup}) })
}

// loop is the one goroutine that everything belongs to.
func (u *UI) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !u.exit.done {
		var fed <-chan struct{}
		if u.canReadMore() {
			fed = u.view.feed.kick
		}
		select {
		case do := <-u.post:
			do()
		case <-fed:
			u.follow()
		case <-u.ended():
			u.sessionLost()
		case <-u.Resized:
			u.resized()
		case stop := <-u.Stops:
			u.stop(stop)
		case <-timer.C:
		case <-u.ctx.Done():
			return
		}
		timer.Reset(u.tick(time.Now()))
	}
}

// canReadMore reports whether the loop may read more of the log. It bounds the rows for the
// next frame; rows that are held do not stop the reading.
func (u *UI) canReadMore() bool {
	return u.exit.leaving || u.view.printout.filled() && len(u.display.rows)+
		u.view.printout.waiting() < maxCommits || !u.blocked() && !u.display.dirty
}

// idleDelay is the timer's period while nothing happens.
const idleDelay = 24 * time.Hour

// tick draws a frame if one is due, and returns the time until the next tick.
func (u *UI) tick(now time.Time) time.Duration {
	if !u.exit.quitDeadline.IsZero() && now.After(u.exit.quitDeadline) {
		u.display.hint, u.exit.quitDeadline, u.display.dirty = "", time.Time{}, true
	}
	next := idleDelay
	if u.state().Running() != nil || u.exit.leaving { // it has a clock
		next = time.Second
		if now.Sub(u.display.drawnAt) >= time.Second {
			u.display.dirty = true
		}
	}
	if !u.exit.quitDeadline.IsZero() {
		next = min(next, u.exit.quitDeadline.Sub(now)+time.Millisecond)
	}
	if u.display.dirty && !u.blocked() {
		wait := max(frameDelay-now.Sub(u.display.drawnAt), u.display.auto.heldUntil.Sub(now))
		if wait > 0 {
			return min(next, wait)
		}
		u.draw(now)
	}
	return next
}
