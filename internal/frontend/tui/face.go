package tui

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// frameDelay is the least time between two frames that no key asked for.
	frameDelay = 16 * time.Millisecond
	// quitDelay is how long a first Ctrl-C waits for the second one that quits.
	quitDelay = time.Second
	// askDelay is how long a question is on the screen before a key answers it:
	// what was typed until then was meant for something else.
	askDelay = 400 * time.Millisecond
	// closeTimeout bounds the end of a session.
	closeTimeout = 1500 * time.Millisecond
	// actTimeout bounds what waits for the session to take something.
	actTimeout = 10 * time.Second
	// mostCommits is how many rows and entries wait for the next frame, or for a terminal
	// that is slow: until it has taken them, no more of the log is read (C17).
	mostCommits = 1000
	// mostFrame is of how many bytes a frame's memory is kept for the next one.
	mostFrame = 64 << 10
	// mostWrite bounds how long the last rows wait for a terminal that does not
	// take them.
	mostWrite = 500 * time.Millisecond
)

// user is who acts at the terminal, as the log has it.
const user = "user"

// Terminal is the terminal in raw mode.
type Terminal interface {
	io.ReadWriter
	Size() (width, height int)
	// Restore gives it back as it was, and Take takes it over again.
	Restore()
	Take() error
}

// Options say what to show, and where.
type Options struct {
	Terminal Terminal
	Palette  terminal.Palette
	Reflow   terminal.Reflow
	// Notify is how the person is called while the window has not the focus, and Through
	// what stands between settle and the terminal.
	Notify  terminal.Notification
	Through terminal.Passthrough
	// Keys are those of the editor at the beginning.
	Keys     Keys
	Sessions Sessions
	// Session is opened first; "" makes a new one. Prompt, if set, is sent to it.
	Session, Prompt string
	// Place is the working directory, as it is shown.
	Place string
	// DataDir is where prompts are remembered; "" for nowhere.
	DataDir string
	// Commands are the user's and the project's own commands, as they are now; nil
	// for none.
	Commands func() commands.Set
	// Stops are signals, Resized says that the terminal has another size.
	Stops   <-chan stdio.Stop
	Resized <-chan struct{}
	// Suspend stops the process until somebody continues it; nil where that is
	// not to be had.
	Suspend func()
	// Edit has the person edit a text in a program of their own, which has the
	// terminal meanwhile; nil where that is not to be had.
	Edit func(ctx context.Context, text string) (string, error)
	// Resume is the command that continues a session.
	Resume func(session string) string
	// Mask masks secrets.
	Mask func(string) string
	// FreeMemory, if set, is called when nothing has run for a time: see [FreeMemory].
	FreeMemory func()
	// Doctor, if set, checks the installation.
	Doctor func(ctx context.Context, out io.Writer)
}

// Face is a terminal with a session. Everything in it belongs to Run.
type Face struct {
	Options
	ctx    context.Context //nolint:containedctx // Run's own
	post   chan func()
	screen *terminal.Screen
	frames bytes.Buffer // what the screen draws, on its way to the writer
	writer *writer

	conversation Conversation
	log          *transcript.Transcript
	out          *printout
	feed         *feed
	unfollow     context.CancelFunc

	commits []terminal.Line // not drawn yet
	editor  editor
	past    *past
	search  *search
	pager   *pager
	menu    *menu

	backUntil  time.Time // until when Esc goes back to an earlier input
	sentAt     time.Time // when an input was sent last
	outside    func()    // ends the program that has the terminal; nil for none
	completion *completion
	dismissed  int // one more than the place of a word that is not to be completed
	files      fileList

	hint string

	dirty   bool
	drawnAt time.Time
	// Keys mean what is on the screen: shown is what the last frame showed that
	// the terminal took.
	shown moment
	since time.Time // when the approval that is shown came on the screen
	// hasty says that an input was sent while no turn was on the screen, and that
	// none has been since: a key that interrupts means its turn.
	hasty bool
	// pressed is what was on the screen when a key came of which nobody knew yet
	// what it was: a lone escape is known by the time that passes.
	pressed      *moment
	interrupting string // the turn that Esc has ended
	away         bool   // the window has not the person's attention
	fetching     *fetch // a prompt of a server; nil for none
	calls        string // why the person is called with the next frame; empty if they are not
	vi           vi
	answered     map[string]bool
	form         *filling  // that is filled in
	armed        time.Time // until when Ctrl-C quits
	leaving      bool
	closing      bool // the end of the session is expected
	gone         bool // it has ended, and nobody here wanted that
	code         int
	failure      error
	done         bool
	spare        *time.Timer // until memory is given back
	work         chan func() // done one after the other
}

// Run shows the session until the person quits or a stop comes, ends everything
// and returns the exit code.
func Run(ctx context.Context, o Options) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := &Face{
		Options: o, ctx: ctx, post: make(chan func()), past: openPast(o.DataDir), answered: map[string]bool{}, dirty: true,
		work: make(chan func(), 64), hint: "/help shows keys and commands",
	}
	width, height := o.Terminal.Size()
	f.vi.on, f.Notify = o.Keys == ViKeys, cmp.Or(o.Notify, terminal.Bell)
	f.screen = terminal.NewScreen(&f.frames, o.Palette, o.Reflow, width, height)
	if err := f.open(o.Session); err != nil {
		return stdio.CodeUsage, err
	}
	f.writer = newWriter(o.Terminal, f.send)
	go f.guarded(func() { f.writer.run(ctx) })  // ends with ctx
	go f.guarded(func() { f.workOff(ctx) })     // ends with ctx
	go f.guarded(func() { f.read(ctx.Done()) }) // ends with ctx, or with the terminal
	if o.Prompt != "" {
		f.hint = ""
		f.sendFirst(o.Prompt)
	}
	err = scope.Guard(func() error { f.loop(); return nil })
	f.finish()
	if err := errors.Join(err, f.failure); err != nil {
		return stdio.CodeFailed, err
	}
	return f.code, nil
}

// guarded does something beside the loop. A panic ends the loop, so that the
// terminal is given back, and the error is said.
func (f *Face) guarded(do func()) {
	if err := scope.Guard(func() error { do(); return nil }); err != nil {
		f.send(func() { f.failure, f.done = err, true })
	}
}

// send has the loop call a function. It does not wait for that to happen, but
// for the loop to take it.
func (f *Face) send(do func()) {
	select {
	case f.post <- do:
	case <-f.ctx.Done():
	}
}

func (f *Face) read(stop <-chan struct{}) {
	terminal.Read(f.Terminal, stop, func(events []terminal.Event) {
		f.send(func() {
			if len(events) == 0 {
				m := f.shown
				f.pressed = &m
				return
			}
			for _, e := range events {
				f.take(e)
			}
			f.pressed = nil
			f.draw(time.Now())
		})
	})
	f.send(func() { f.stop(stdio.Stop{Reason: event.Shutdown, By: "terminal", Code: stdio.CodeHangup}) })
}

// workOff does what must happen in order and may wait for a disk.
func (f *Face) workOff(ctx context.Context) {
	for {
		select {
		case do := <-f.work:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// loop is the one goroutine that everything belongs to.
func (f *Face) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for !f.done {
		var fed <-chan struct{}
		if f.hungry() {
			fed = f.feed.kick
		}
		select {
		case do := <-f.post:
			do()
		case <-fed:
			f.follow()
		case <-f.ended():
			f.lost()
		case <-f.Resized:
			f.resized()
		case stop := <-f.Stops:
			f.stop(stop)
		case <-timer.C:
		case <-f.ctx.Done():
			return
		}
		timer.Reset(f.tick(time.Now()))
	}
}

// hungry reports whether more of the log is to be read. What waits for the next frame
// is bounded; but what no frame takes, since it is held, holds nothing up.
func (f *Face) hungry() bool {
	return f.leaving || f.out.filled() && len(f.commits)+f.out.waiting() < mostCommits || !f.blocked() && !f.dirty
}

// idleDelay is when the loop wakes up while nothing happens at all: never, as far
// as anybody notices.
const idleDelay = 24 * time.Hour

// tick draws what is due and returns when to look again.
func (f *Face) tick(now time.Time) time.Duration {
	if !f.armed.IsZero() && now.After(f.armed) {
		f.hint, f.armed, f.dirty = "", time.Time{}, true
	}
	next := idleDelay
	if f.state().Running() != nil || f.leaving { // it has a clock
		next = time.Second
		if now.Sub(f.drawnAt) >= time.Second {
			f.dirty = true
		}
	}
	if !f.armed.IsZero() {
		next = min(next, f.armed.Sub(now)+time.Millisecond)
	}
	if f.dirty && !f.blocked() {
		if wait := frameDelay - now.Sub(f.drawnAt); wait > 0 {
			return min(next, wait)
		}
		f.draw(now)
	}
	return next
}

// draw shows a frame, unless the terminal is still busy with the last one: then
// the next one follows as soon as it is not.
func (f *Face) draw(now time.Time) {
	if f.blocked() || f.done {
		f.dirty = true
		return
	}
	f.dirty, f.drawnAt = false, now
	f.call()
	drawn := f.shown
	if f.pager != nil {
		f.pager.draw(&f.frames, f.screen, f.Palette)
	} else {
		f.refill()
		frame := f.frame(now)
		if err := f.screen.Draw(f.commits, frame); err != nil {
			return // it is memory
		}
		f.commits, f.dirty = nil, !f.out.filled()
		drawn = f.moment()
	}
	if f.frames.Len() == 0 {
		f.note(drawn)
		return
	}
	frame := f.frames.Bytes()
	if len(frame) > mostFrame { // it is the writer's now
		f.frames = bytes.Buffer{}
	} else {
		frame = bytes.Clone(frame)
		f.frames.Reset()
	}
	f.writer.write(frame, func() { f.note(drawn) })
}

// moment is what keys may mean.
type moment struct{ session, turn, approval string }

func (f *Face) moment() moment {
	m := moment{session: f.conversation.ID()}
	if t := f.state().Running(); t != nil {
		m.turn = t.ID
	}
	if a, _ := f.asked(); a != nil {
		m.approval = a.Approval
	}
	return m
}

// note keeps what keys mean from now on: what is on the screen.
func (f *Face) note(m moment) {
	if m.approval != f.shown.approval || m.session != f.shown.session {
		f.since = time.Now()
	}
	f.shown, f.hasty = m, f.hasty && m.turn == ""
}

// target is the turn that an interrupt means, nil for none.
func (f *Face) target() *event.Turn {
	seen := f.shown
	if f.pressed != nil {
		seen = *f.pressed
	}
	switch {
	case f.hasty:
		return f.state().Running()
	case seen.session == f.conversation.ID():
		return f.state().Turn(seen.turn)
	}
	return nil
}

func (f *Face) resized() {
	f.screen.Resize(f.Terminal.Size())
	f.dirty = true
	f.draw(time.Now())
}

// say shows a hint in the status until the next key.
func (f *Face) say(format string, args ...any) {
	f.hint, f.dirty = fmt.Sprintf(format, args...), true
}

// stop ends everything for a signal.
func (f *Face) stop(s stdio.Stop) {
	if f.leaving && !s.Insists() {
		return
	}
	if f.outside != nil {
		if s.Reason == event.Interrupted { // Ctrl-C is for the program that has the terminal
			return
		}
		f.outside()
	}
	f.code = s.Code
	f.leave(s.Reason, s.By)
}

// leave ends the session, and then the loop.
func (f *Face) leave(reason event.Reason, by string) {
	if f.leaving {
		f.done = true // whoever asks twice does not want to wait
		return
	}
	f.leaving, f.closing, f.dirty = true, true, true
	c, fed := f.conversation, f.feed
	go f.guarded(func() { // ends within closeTimeout
		ctx, cancel := context.WithTimeout(context.WithoutCancel(f.ctx), closeTimeout)
		defer cancel()
		err := f.Sessions.Close(ctx, c, reason, by)
		select {
		case <-fed.done:
		case <-ctx.Done():
		}
		f.send(func() {
			if err != nil {
				f.commit(notice(warned(), "%v", err))
			}
			f.follow() // what is left of the log
			f.done = true
		})
	})
}

// finish gives the terminal back, with what was still to be shown.
func (f *Face) finish() {
	f.unfollow()
	f.drain()
	if f.outside != nil {
		f.outside()
	}
	if f.spare != nil {
		f.spare.Stop()
	}
	if f.pager != nil {
		f.frames.WriteString(leavePager)
		f.pager = nil
	}
	if host := hostOf(f.conversation); host != "" && !f.gone {
		f.commit(notice(faint(), "the session goes on in %s", host))
	}
	if f.Resume != nil && f.conversation != nil && len(f.state().Turns) > 0 {
		f.commit(entry{group: ofEnding, gap: true, rows: paragraph("", "Continue with:\n"+f.Resume(f.conversation.ID()), faint(), faint())})
	}
	_ = f.screen.Leave(f.commits) // it is memory
	f.writer.last(f.frames.Bytes())
	f.Terminal.Restore()
}
