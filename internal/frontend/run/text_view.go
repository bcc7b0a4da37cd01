package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"

	"github.com/settle-agent/settle/internal/terminal"
)

// textView shows a turn to a person: the answer on standard output, the progress on standard
// error.
type textView struct {
	out, err *stdio.Output
	// tty is the terminal for the status; nil if only lines can be written, which then have no
	// styles.
	tty     *StatusTerminal
	palette terminal.Palette
	// person answers questions about calls; nil if no person can be asked.
	person *person
	// columns returns the width of the terminal; nil without one.
	columns func() int

	mu sync.Mutex // guards the fields below: the status is drawn concurrently
	// stream shows the answer as it comes; else it is shown at the end.
	stream bool
	volume Volume
	// seen reports that a person sees standard error; late keeps notices for a program.
	seen bool
	late lateNotices
	// waitBytes is the length of the reported part of waits.
	waitBytes int

	calls    []*runningCall
	reviews  reviews
	mid      bool
	last     string // item whose text was shown last
	lastType event.ItemType
	flow     terminal.Flow // breaks that text between words

	dir          string  // of the session
	permission   string  // in words
	ended        *ending // nil while the turn runs
	status       status
	questionOpen bool                  // a question is open
	edits        map[string]*askedEdit // by the item of the call
	// prompted is the prompt behind which the cursor is, if it is.
	prompted string
	finished bool // nothing is drawn any more
}

// runningCall is a call that has started.
type runningCall struct {
	item  string
	title string
	began time.Time
	tail  string // the end of its output
}

func newTextView(stage oneturn.Stage, o Options) *textView {
	s := &textView{
		out: stage.Out, err: stage.Err, stream: o.Format == Terminal, volume: o.Volume,
		seen: o.StatusTerminal != nil, late: lateNotices{silent: o.Volume == Quiet},
	}
	switch {
	case s.stream && o.StatusTerminal != nil:
		s.tty, s.palette = o.StatusTerminal, o.StatusTerminal.Palette
	case !s.stream && s.volume == Normal:
		s.volume = Quiet // silent until something is wrong
	}
	if s.stream {
		s.columns = o.Columns
	}
	if o.Answers != nil {
		s.person = &person{view: s, in: o.Answers, forget: o.Forget}
	}
	return s
}

// print writes to one of the outputs, and where a person looks on waits until it
// is out: both may be at one terminal.
func (s *textView) print(to *stdio.Output, text string) {
	to.Write(func(b []byte) []byte { return append(b, text...) })
	if s.stream {
		to.Flush()
	}
}

// styled is a text as the terminal shows it.
func (s *textView) styled(style terminal.Style, text string) string {
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		lines[n] = string(s.palette.Append(nil, terminal.Plain(line, style)))
	}
	return strings.Join(lines, "\n")
}

// Follow implements [oneturn.View].
func (s *textView) Follow(ctx context.Context, session *settle.Session, cursor uint64) func() error {
	if s.person == nil {
		return oneturn.Changes(ctx, session, cursor, transcript.Live, s.show)
	}
	asks := asker.New(
		ctx,
		asker.Options{
			Session: session,
			Ask:     s.person.ask,
			Fill:    s.person.ask,
			By:      func() string { return terminalUser },
		},
	)
	follow := oneturn.Changes(ctx, session, cursor, transcript.Live, func(c transcript.Change) {
		if s.show(c); c.Thing == transcript.Approval {
			asks.Take(c.Event)
		}
	})
	return func() error {
		defer asks.Close()
		return follow()
	}
}

func (s *textView) show(c transcript.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteOutput(c)
	switch c.Thing {
	case transcript.Turn:
		s.turnChanged(c)
	case transcript.Attempt:
		s.attemptChanged(c)
	case transcript.Item:
		s.itemChanged(c)
	}
	switch d := c.Event.Data.(type) {
	case event.SessionRecovered:
		if words := transcript.RecoveryText(d, c.State); d.Kept != "" { // the model does not receive what was cut
			s.reportNow(words)
		} else {
			s.notice("%s", words)
		}
	case event.SessionOpened:
		s.dir, s.permission = d.Dir, permissionText(d)
		permission := string(d.Permission)
		if sandbox := d.Confinement.Words(); sandbox != "" {
			permission += ", " + sandbox
		}
		s.detail("session %s in %s; permission: %s", c.Event.Session, d.Dir, permission)
	case event.HistoryChanged:
		switch d.Change {
		case event.ChangeCompacted:
			s.notice("%s", d.Why)
		case event.ChangeModel:
			s.notice("%s", d.Why)
			why, _, _ := strings.Cut(d.Why, "; the rest of the turn")
			s.reportWait("settle: " + d.Provider + "/" + d.Model + " continues: " + why)
		}
	case event.InterruptRequested:
		s.setActivity("ending the turn", c.Event.At)
		s.leavePrompt()
		s.notice("ending the turn …")
	case event.ApprovalRequested:
		s.noteQuestion(c.Event.Item, d)
	case event.ApprovalEnded:
		if s.person != nil {
			s.person.lastEnd = d
		}
		switch {
		case c.Item != nil && c.Item.Denial != nil: // the end of the call has the reason
		case d.Explain:
			s.notice("%s", d.Past())
		case c.Approval != nil && c.Approval.Form != nil && d.Verdict == event.Denied && c.Turn != nil:
			s.notice("%s", strings.TrimSuffix(string(c.Turn.FormEnding(c.Approval))+": "+d.Message, ": "))
		case d.Verdict == event.Denied:
			s.notice("%s", strings.TrimSuffix("denied: "+d.Message, ": "))
		}
	case event.HookStarted:
		s.reviewStarted(d, c.Event.At)
	case event.HookEnded:
		s.reviewEnded(d.Hook)
	case event.JobStarted:
		s.notice("%s keeps running as job %s (pid %d)", d.Command, d.Job, d.PID)
	case event.JobEnded:
		s.detail("job %s: %s", d.Job, d.How)
		for _, moved := range d.Quarantined {
			s.notice("after job %s, settle looked for what git would run: %s", d.Job, moved)
		}
	}
}

func (s *textView) turnChanged(c transcript.Change) {
	switch c.What {
	case transcript.Started:
		model := c.Turn.Start.Provider + "/" + c.Turn.Start.Model
		s.detail("model %s", model)
		if s.stream && s.volume == Normal {
			s.notice("%s in %s; %s", model, s.dir, s.permission)
		}
	case transcript.Ended:
		s.turnEnded(c.Turn)
	}
}

// attemptChanged reports a further attempt and its delay.
func (s *textView) attemptChanged(c transcript.Change) {
	if c.What == transcript.Started {
		s.setActivity("waiting for the model", c.Event.At)
		return
	}
	s.status.doing = ""
	end := c.Attempt.End
	if end.RetryIn == nil {
		return
	}
	s.setActivity("waiting to retry", c.Event.At)
	if end.Failure == nil {
		return
	}
	count := fmt.Sprintf("attempt %d", end.Failure.Attempt+1)
	if end.Failure.RetryLimit > 0 {
		count += fmt.Sprintf(" of %d", end.Failure.RetryLimit+1)
	}
	wait := time.Duration(*end.RetryIn) * time.Millisecond
	s.notice("%s in %s: %s", count, terminal.Duration(wait), end.Failure.Message)
	if wait >= minReportedWait {
		s.reportWait(fmt.Sprintf("settle: %s in %s: %s", count, terminal.Duration(wait), end.Failure.Message))
	}
}

const (
	// minReportedWait is the shortest wait for a retry that is reported where standard error
	// reports nothing else.
	minReportedWait = 2 * time.Second
	// maxWaitBytes bounds these reports, so that the cause of a later failure is among the
	// first 1000 characters of standard error (C14).
	maxWaitBytes, maxWaitLine = 700, 160
)

// reportWait reports a wait for a retry, or another model, to a script whose output would show
// nothing of it.
func (s *textView) reportWait(line string) {
	if s.stream || s.volume != Quiet || s.late.silent || s.waitBytes > maxWaitBytes {
		return
	}
	line = terminal.Short(line, maxWaitLine)
	if s.waitBytes += len(line) + 1; s.waitBytes > maxWaitBytes {
		line = "settle: further waits are not reported; -v reports all"
	}
	s.put(line)
	s.err.Flush()
}

func (s *textView) itemChanged(c transcript.Change) {
	isCall := c.Item.Type() == event.ToolCall
	switch c.What {
	case transcript.Started:
		s.itemStarted(c)
	case transcript.Grew:
		switch {
		case c.Notice() != "":
			s.reportNow(c.Notice())
		case c.Stream == event.Output:
			if i := s.call(c.Item.ID); i != nil {
				i.tail = terminal.Tail(i.tail + c.Text)
			}
		case !isCall && s.stream && (c.Item.Type() == event.Message || s.volume == Verbose &&
			c.Item.Type() == event.Reasoning):
			s.text(c.Item, c.Text)
		}
	case transcript.Running:
		s.callStarted(c)
	case transcript.Ended:
		switch {
		case isCall:
			s.callEnded(c.Item)
		case c.Item.Type() == event.Note:
			s.detail("message to the model: %s", c.Item.Content().Text)
		case s.last == c.Item.ID:
			s.breakLine()
		}
	}
}

func (s *textView) itemStarted(c transcript.Change) {
	switch c.Item.Type() {
	case event.Reasoning:
		s.setActivity("thinking", c.Event.At)
	case event.Message:
		s.setActivity("answering", c.Event.At)
	case event.ToolCall:
		s.setActivity("preparing "+c.Item.Content().Name, c.Event.At)
	}
}

// text shows more text of an item; the output stream distinguishes the answer from
// reasoning.
func (s *textView) text(item *event.Item, text string) {
	if s.last != item.ID {
		s.breakLine()
		s.last, s.lastType = item.ID, item.Type()
		s.flow.Reset()
	}
	s.erase()
	text = terminal.Text(text)
	s.flow.Width = s.width()
	s.print(s.textOutput(), s.flow.Add(text))
	if text != "" {
		s.mid = !strings.HasSuffix(text, "\n")
	}
}

// textOutput returns the output of the text that was shown last.
func (s *textView) textOutput() *stdio.Output {
	if s.lastType == event.Reasoning {
		return s.err
	}
	return s.out
}

// breakLine ends the line that the text of an item has left open.
func (s *textView) breakLine() {
	if s.mid {
		s.print(s.textOutput(), s.flow.End()+"\n")
		s.mid = false
		s.flow.Reset()
	}
}

// call returns the call if it runs, else nil.
func (s *textView) call(item string) *runningCall {
	for _, i := range s.calls {
		if i.item == item {
			return i
		}
	}
	return nil
}

func (s *textView) callStarted(c transcript.Change) {
	d, _ := c.Event.Data.(event.CallStarted)
	i := &runningCall{item: c.Item.ID, title: cmp.Or(d.Title, c.Item.Content().Name), began: c.Event.At}
	s.calls = append(s.calls, i)
	s.notice("→ %s", i.title)
}

func (s *textView) callEnded(item *event.Item) {
	i, content := s.call(item.ID), item.Content()
	if i == nil {
		i = &runningCall{title: content.Name, began: item.BegunAt}
	}
	s.calls = slices.DeleteFunc(s.calls, func(call *runningCall) bool { return call == i })
	s.notice("  %s: %s", i.title, callOutcome(item, content, item.EndedAt.Sub(i.began)))
	s.diff(item.ID, content)
	if item.Status == event.ItemCompleted {
		s.plan(content)
	}
}

// callOutcome describes how a call ended.
func callOutcome(item *event.Item, content event.Content, elapsed time.Duration) string {
	after := " after " + terminal.Duration(elapsed)
	switch {
	case item.Status == event.ItemCompleted:
		return "done" + after
	case item.Status == event.ItemFailed && content.ExitCode != nil:
		return fmt.Sprintf("exit code %d", *content.ExitCode) + after
	case item.Status == event.ItemFailed:
		if how, why := transcript.Denial(item); how != "" {
			return strings.TrimSuffix(how+": "+why, ": ")
		}
		return strings.TrimSuffix(event.EndingWords(event.Failed, "")+": "+terminal.Short(content.Output, 120), ": ")
	case item.Effects == event.EffectsNone:
		return "not started"
	}
	why := "cut"
	if item.Cause != nil {
		why = item.Cause.Error()
	}
	return fmt.Sprintf("%s%s; effects: %s", why, after, item.Effects)
}

// notice writes one line on standard error.
func (s *textView) notice(format string, args ...any) {
	if s.volume == Quiet {
		return
	}
	line := terminal.Short(fmt.Sprintf(format, args...), 300)
	if strings.HasPrefix(format, " ") {
		line = "  " + line
	}
	s.put(s.styled(faint(), s.folded(line)))
}

// folded is a line at the width of the terminal, if there is one.
func (s *textView) folded(line string) string { return terminal.Fold(line, s.width()) }

// width returns the number of columns of a row of text; 0 without a terminal.
func (s *textView) width() int {
	switch {
	case s.tty != nil:
		return s.tty.width()
	case s.columns != nil:
		return s.columns()
	}
	return 0
}

// reportNow reports something that a watching person should read at once.
func (s *textView) reportNow(text string) {
	switch {
	case s.stream || s.volume == Verbose:
		s.notice("%s", text)
	case s.seen && !s.late.silent:
		s.put(s.folded("settle: " + terminal.Short(text, 300)))
	default:
		s.late.keep(text)
	}
}

// detail prints a notice if the volume is Verbose.
func (s *textView) detail(format string, args ...any) {
	if s.volume == Verbose {
		s.notice(format, args...)
	}
}

// Fail implements [oneturn.View]. Standard error already has the message.
func (s *textView) Fail(string) {}

// Last implements [oneturn.View].
func (s *textView) Last() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late.flush(s.err)
	return nil
}

// Finish implements [oneturn.View]: it shows the answer if it was not streamed.
func (s *textView) Finish(answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endSilence()
	s.endReviews()
	switch {
	case s.stream:
		s.breakLine()
	case answer != "":
		s.out.Add(strings.TrimSuffix(answer, "\n") + "\n")
	}
}
