package run

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/printable"
)

// screen shows a turn to a person: the answer on standard output, what is
// going on beside it on standard error.
type screen struct {
	out, err *stdio.Output
	// tty is where it can be drawn; nil if only lines can be written.
	tty *Screen
	// asker asks the person about calls; nil without one.
	asker *asking

	mu sync.Mutex // guards what follows: the status is drawn meanwhile
	// stream shows the answer as it comes; else it is shown at the end.
	stream bool
	volume Volume

	items map[string]*shown
	open  int // calls that run
	mid   bool
	last  string // item whose text was shown last

	opened event.SessionOpened
	began  time.Time // of the turn
	ended  *ending   // nil while it runs
	status status
	asking bool // somebody is asked
	// prompted is the prompt behind which the cursor is, if it is.
	prompted string
	over     bool // nothing is drawn any more
}

// shown is what is known of an item that was shown.
type shown struct {
	kind  event.ItemType
	title string
	began time.Time
	// running says that it is a call that has started, tail is the end of its
	// output.
	running bool
	tail    string
}

func newScreen(out, err *stdio.Output, o Options) *screen {
	s := &screen{out: out, err: err, stream: o.Format == Terminal, volume: o.Volume, tty: o.Screen, items: map[string]*shown{}}
	if !s.stream {
		s.tty = nil
		if s.volume == Normal {
			s.volume = Quiet // silent until something is wrong
		}
	}
	return s
}

func (s *screen) follow(ctx context.Context, session *settle.Session, cursor uint64) func() error {
	return followEvents(ctx, session, cursor, func(e event.Event) {
		s.show(e)
		if s.asker != nil {
			s.asker.note(e)
		}
	})
}

func (s *screen) show(e event.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress(e)
	switch d := e.Data.(type) {
	case event.SessionRecovered:
		s.notice("%s", recovered(d))
	case event.SessionOpened:
		s.opened = d
		s.detail("session %s in %s; permission: %s", e.Session, d.Dir, d.Permission)
	case event.TurnStarted:
		s.began = e.At
		s.detail("model %s/%s", d.Provider, d.Model)
		if s.stream && s.volume == Normal {
			s.notice("%s/%s in %s; %s", d.Provider, d.Model, s.opened.Dir, may(s.opened.Permission))
		}
	case event.ItemStarted:
		s.items[e.Item] = &shown{kind: d.Type, title: d.Name, began: e.At}
	case event.ItemDelta:
		s.delta(e.Item, d)
	case event.ItemEnded:
		s.itemEnded(e, d)
	case event.CallStarted:
		s.callStarted(e, d)
	case event.AttemptEnded:
		s.attemptEnded(d)
	case event.ApprovalEnded:
		if d.Verdict == event.Denied {
			s.notice("%s", strings.TrimSuffix("denied: "+d.Message, ": "))
		}
	case event.JobStarted:
		s.notice("%s keeps running as job %s (pid %d)", d.Command, d.Job, d.PID)
	case event.JobEnded:
		s.detail("job %s: %s", d.Job, d.How)
	case event.InterruptRequested:
		s.leavePrompt()
		s.notice("ending the turn …")
	case event.TurnCompleted:
		s.turnEnded(e, "completed", green, d.Summary)
	case event.TurnAborted:
		s.turnEnded(e, string(d.Reason), yellow, d.Summary)
	case event.TurnFailed:
		s.turnEnded(e, "failed", red, d.Summary)
	}
}

// progress notes what goes on, for the status.
func (s *screen) progress(e event.Event) {
	switch d := e.Data.(type) {
	case event.AttemptStarted:
		s.does("waiting for the model", e)
	case event.ItemStarted:
		switch d.Type {
		case event.Reasoning:
			s.does("thinking", e)
		case event.Message:
			s.does("answering", e)
		case event.ToolCall:
			s.does("preparing "+d.Name, e)
		}
	case event.ItemDelta:
		if i := s.items[e.Item]; i != nil && d.Stream == event.Output {
			i.tail = appendTail(i.tail, d.Text)
		}
	case event.AttemptEnded:
		if s.status.doing = ""; d.RetryIn != nil {
			s.does("waiting to retry", e)
		}
	case event.InterruptRequested:
		s.does("ending the turn", e)
	}
}

func (s *screen) delta(item string, d event.ItemDelta) {
	i := s.items[item]
	switch {
	case i == nil:
	case i.kind == event.Message && s.stream:
		s.text(item, d.Text)
	case i.kind == event.Reasoning && s.volume == Verbose && s.stream:
		s.text(item, d.Text)
	}
}

// text shows more of an item; the answer is told apart from thinking by where
// it goes.
func (s *screen) text(item, text string) {
	to := s.out
	if s.items[item].kind == event.Reasoning {
		to = s.err
	}
	if s.last != item {
		s.breakLine()
		s.last = item
	}
	s.erase()
	text = printable.Text(text)
	to.Write(func(b []byte) []byte { return append(b, text...) })
	to.Flush()
	if text != "" {
		s.mid = !strings.HasSuffix(text, "\n")
	}
}

// breakLine ends the line that the text of an item has left open.
func (s *screen) breakLine() {
	if !s.mid {
		return
	}
	to := s.out
	if i := s.items[s.last]; i != nil && i.kind == event.Reasoning {
		to = s.err
	}
	to.Write(func(b []byte) []byte { return append(b, '\n') })
	to.Flush()
	s.mid = false
}

func (s *screen) itemEnded(e event.Event, d event.ItemEnded) {
	i := s.items[e.Item]
	delete(s.items, e.Item)
	if i == nil {
		return
	}
	switch d.Type {
	case event.Message, event.Reasoning:
		if s.last == e.Item {
			s.items[e.Item] = i // for the line's end
			s.breakLine()
			delete(s.items, e.Item)
		}
	case event.Note:
		s.detail("message to the model: %s", d.Text)
	case event.ToolCall:
		s.callEnded(e, d, i)
	}
}

func (s *screen) callStarted(e event.Event, d event.CallStarted) {
	i := s.items[e.Item]
	if i == nil {
		return
	}
	if d.Title != "" {
		i.title = d.Title
	}
	i.began, i.running = e.At, true
	s.open++
	s.notice("→ %s", i.title)
}

func (s *screen) callEnded(e event.Event, d event.ItemEnded, i *shown) {
	started := d.Effects != event.EffectsNone
	if started && s.open > 0 {
		s.open--
	}
	s.notice("  %s: %s", i.title, callOutcome(d, e.At.Sub(i.began)))
	s.diff(d.Content)
}

// recovered says what opening the session found.
func recovered(d event.SessionRecovered) string {
	words := "the process that last used this session was killed"
	if d.PID == 0 {
		words = "the session's log was damaged"
	}
	if d.Ended > 0 {
		words += fmt.Sprintf("; %d items were still open and have been ended", d.Ended)
	}
	if len(d.Swept) > 0 {
		words += fmt.Sprintf("; processes %v were still running and have been ended", d.Swept)
	}
	if d.Kept != "" {
		words += fmt.Sprintf("; the damaged end of its log (%d bytes) was saved to %s", d.CutBytes, d.Kept)
	}
	return words
}

// callOutcome says how a call ended.
func callOutcome(d event.ItemEnded, took time.Duration) string {
	after := " after " + printable.Duration(took)
	switch {
	case d.Status == event.ItemCompleted:
		return "done" + after
	case d.Status == event.ItemFailed && d.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *d.ExitCode) + after
	case d.Status == event.ItemFailed:
		return "failed: " + oneLine(d.Output, 120)
	case d.Effects == event.EffectsNone:
		return "not started"
	}
	why := "cut"
	if d.Cause != nil {
		why = d.Cause.Error()
	}
	return fmt.Sprintf("%s%s; effects: %s", why, after, d.Effects)
}

// attemptEnded says that there will be another attempt, and when.
func (s *screen) attemptEnded(d event.AttemptEnded) {
	if d.RetryIn == nil || d.Failure == nil {
		return
	}
	count := fmt.Sprintf("attempt %d", d.Failure.Attempt+1)
	if d.Failure.RetryLimit > 0 {
		count += fmt.Sprintf(" of %d", d.Failure.RetryLimit+1)
	}
	wait := time.Duration(*d.RetryIn) * time.Millisecond
	s.notice("%s in %s: %s", count, printable.Duration(wait), d.Failure.Message)
}

// notice says one line beside the answer.
func (s *screen) notice(format string, args ...any) {
	if s.volume == Quiet {
		return
	}
	line := oneLine(fmt.Sprintf(format, args...), 300)
	if strings.HasPrefix(format, " ") {
		line = "  " + line
	}
	line = s.tty.paint(faint, line)
	s.around(line)
	if s.stream {
		s.err.Flush() // it may share the terminal with the answer
	}
}

// detail is a notice for who wants to know more.
func (s *screen) detail(format string, args ...any) {
	if s.volume == Verbose {
		s.notice(format, args...)
	}
}

// fail does nothing: standard error says it.
func (s *screen) fail(string) {}

func (s *screen) ending() []byte { return nil }

// finish shows the answer if it was not streamed.
func (s *screen) finish(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream {
		s.breakLine()
		return
	}
	if answer == "" {
		return
	}
	s.out.Add(strings.TrimSuffix(answer, "\n") + "\n")
}
