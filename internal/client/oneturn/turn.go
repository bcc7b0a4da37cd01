package oneturn

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/terminal"
)

const (
	// closeTimeout bounds the end of the session after the end of the turn. Process
	// tracking then reports and ends the rest.
	closeTimeout = 1200 * time.Millisecond
	// stopUnreadTimeout replaces [stdio.UnreadTimeout] after a stop.
	stopUnreadTimeout = 400 * time.Millisecond
	// lastUnreadTimeout bounds the last write to standard error.
	lastUnreadTimeout = 200 * time.Millisecond
	// exitTimeout is from the turn's end to the process's where something other
	// than a reader of standard output is in the way, such as a disk that hangs.
	exitTimeout = 1900 * time.Millisecond
	// worktreeTimeout is added to both where the session has a git worktree of its own: settle
	// looks through the worktree, and removes it.
	worktreeTimeout = 17 * time.Second
)

// runner is one turn on its way.
type runner struct {
	Options
	out, err   *stdio.Output
	view       View
	stderrView StderrView // the view, if it is one
	stop       *stopper
	done       chan struct{}      // closed when Run returns
	printed    chan struct{}      // closed when the terminal event was shown, or nothing will be
	enough     context.CancelFunc // ends the printer; nil before it began
	failure    *event.Failure
	spoke      sync.Once
	lost       bool // standard output has no reader any more
}

// Run runs one turn to its end, shows it with the view that open returns, closes the host
// and returns the exit code. It returns within a bound after the turn's end, even if no
// program reads the output.
func Run(ctx context.Context, o Options, open func(Stage) View) (code int) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &runner{Options: o, stop: newStopper(cancel), printed: make(chan struct{}), done: make(chan struct{})}
	defer close(r.done)
	if r.Mask == nil {
		r.Mask = func(text string) string { return text }
	}
	kind := stdio.KindOf(o.Stdout)
	broken := func(err error) { r.stop.stop(stdio.StopFor(err, kind)) }
	r.out = stdio.NewOutput(o.Stdout, broken)
	r.err = stdio.NewOutput(o.Stderr, func(error) {}) // standard error is the last output
	listening, deaf := context.WithCancel(context.WithoutCancel(ctx))
	defer deaf()
	go r.stop.listen(listening, o.Stops) // ends when Run returns
	if f, ok := o.Stdout.(*os.File); ok {
		defer proc.Closed(f, broken)()
	}
	r.view = open(
		Stage{Out: r.out, Err: r.err, Write: func(add func([]byte) []byte) { r.out.Write(r.shown(add)) }, Done: r.done},
	)
	r.stderrView, _ = r.view.(StderrView)
	code = r.run(ctx)
	r.last()
	return r.leave(code)
}

// shown neutralises control characters in the output of add.
func (r *runner) shown(add func([]byte) []byte) func([]byte) []byte {
	if stdio.KindOf(r.Stdout) != stdio.Device {
		return add
	}
	return func(b []byte) []byte {
		had := len(b)
		b = add(b)
		return append(b[:had:had], terminal.JSON(string(b[had:]))...)
	}
}

// run runs the turn.
func (r *runner) run(ctx context.Context) int {
	session, err := r.Host.Session(ctx, r.Session, r.Config)
	if err != nil {
		return r.reportRefused(err)
	}
	defer r.close(session)
	if r.Opened != nil {
		r.Opened(session)
	}
	if stops := r.stop.all(); len(stops) > 0 {
		return r.reportRefused(stopError{stops[0]})
	}
	if r.Continue != nil {
		state := session.State()
		if r.Prompt, err = r.Continue(state); err != nil {
			return r.reportRefused(err)
		}
		for _, h := range state.HeldCalls() {
			r.sayHeld(h)
		}
	}
	showing, enough := context.WithCancel(context.WithoutCancel(ctx))
	defer enough()
	r.enough = enough
	// From its opening, and from its recovery just before.
	show := r.view.Follow(showing, session, max(session.State().HostSeq, 2)-2)
	go r.print(show) // ends with the turn or with enough
	turn, err := r.submit(ctx, session)
	if err != nil {
		return r.reportRefused(err)
	}
	r.stop.attach(session)
	outcome, err := r.wait(showing, turn)
	if outcome.Cause == nil {
		return r.left(err)
	}
	go r.guard(stdio.Code(outcome.Cause, r.stop.all()...)) // ends with Run, or with the process
	return r.ended(session, outcome)
}

// submit sends the prompt. A stop ends the reading of PDFs and the wait for the expansion of the
// prompt. Only a write to the disk delays the rest, and the log bounds that write.
func (r *runner) submit(ctx context.Context, s *settle.Session) (*settle.Turn, error) {
	documents, err := session.ReadDocuments(ctx, r.Documents)
	if err != nil {
		return nil, err
	}
	by := "user"
	if r.Continue != nil {
		by = event.Resumer
	}
	return s.Submit(
		context.WithoutCancel(ctx), r.Prompt, settle.From(by), settle.WithImages(r.Images...), settle.WithDocuments(documents...),
		settle.WithSchema(r.Schema), r.expansion(ctx, s), settle.AsVerdict(r.HeldCall), settle.AsLast(),
	)
}

// expansion replaces the prompt by its expansion. A stop ends the wait.
func (r *runner) expansion(stopped context.Context, session *settle.Session) settle.InputOption {
	if r.Expand == nil {
		return settle.WithExpansion(nil)
	}
	expand := r.Expand(session)
	return settle.WithExpansion(func(ctx context.Context, text string) (string, []event.Image, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(stopped, func() { cancel(context.Cause(stopped)) })()
		return expand(ctx, text)
	})
}

// guard ends the process if closing the run blocks.
func (r *runner) guard(code int) {
	timer := time.NewTimer(exitTimeout + r.worktreeTimeout())
	defer timer.Stop()
	for {
		select {
		case <-r.done:
			return
		case <-timer.C:
		}
		r.last()
		if r.Exit != nil && (r.unreadTimeout() != stdio.UnreadTimeout || !r.out.Busy()) {
			r.Exit(code)
		}
		timer.Reset(stdio.PollDelay)
	}
}

// wait waits for the turn's end. After a third signal it does so for no longer
// than it takes to record the end where nothing is in its way.
func (r *runner) wait(ctx context.Context, turn *settle.Turn) (settle.Outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { // ends with wait
		select {
		case <-r.stop.last:
		case <-ctx.Done():
			return
		}
		timer := time.NewTimer(stopUnreadTimeout)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel(errors.New("exited before the turn ended; its end is recorded when the session is next opened"))
		case <-ctx.Done():
		}
	}()
	return turn.Wait(ctx)
}

// left explains why the run did not wait for the turn's end.
func (r *runner) left(err error) int {
	r.fail(r.printable(err.Error()))
	r.sayCause("%v", err)
	if stops := r.stop.all(); len(stops) > 0 {
		return stops[0].Code
	}
	return stdio.CodeFailed
}

// print shows the turn.
func (r *runner) print(show func() error) {
	defer close(r.printed)
	if err := scope.Guard(show); err != nil {
		r.stop.stop(
			stdio.Stop{
				Reason: event.Shutdown, By: "printer", Code: stdio.CodeFailed,
				Err: fmt.Errorf("cannot show the turn: %w", err),
			},
		)
	}
}

// ended reports how the turn ended, the cause first.
func (r *runner) ended(session *settle.Session, o settle.Outcome) int {
	code := stdio.Code(o.Cause, r.stop.all()...)
	unshown := r.out.Await(r.printed, r.unreadTimeout)
	answer := ""
	if o.Completed() {
		answer = o.Answer
	}
	if r.lost = unshown != nil; !r.lost {
		r.view.Finish(answer) // the printer has ended
	}
	switch {
	case !o.Completed():
		r.explain(session, o)
	case unshown != nil:
		code = r.reportUnshown(unshown)
	}
	if o.Completed() && r.Check != nil {
		if err := r.Check(answer); err != nil {
			r.sayCause("%v", err)
			code = stdio.CodeFailed
		}
	}
	if why := r.unrun(session); o.Completed() && why != "" {
		r.sayCause("%s", why)
		code = stdio.CodeFailed
	}
	if o.Completed() && r.Answer != nil {
		if err := r.Answer(answer); err != nil {
			r.sayCause("%v", err)
			code = stdio.CodeFailed
		}
	}
	r.nameSurvivors(session, o.Turn)
	r.nameUnattended(session, o.Turn)
	r.nameHeld(session, o.Turn)
	if o.Completed() && r.Planned != nil {
		r.say("this is a plan, and nothing was changed; carry it out with: %s", r.Planned(session.ID()))
	}
	switch {
	case r.stderrView != nil && r.stderrView.Close(r.resume(session.ID())):
	case r.Resume != nil && (code != stdio.CodeCompleted || r.Verbose):
		r.say("the session is kept; continue with: %s", r.Resume(session.ID()))
	}
	if r.Ended != nil {
		r.out.Drain(r.unreadTimeout)
		r.err.Drain(r.unreadTimeout)
		r.Ended(session)
	}
	return code
}

// resume is the command that continues the session, "" if it is not kept.
func (r *runner) resume(session string) string {
	if r.Resume == nil {
		return ""
	}
	return r.Resume(session)
}

// nameSurvivors names the processes that could not be ended (C7).
func (r *runner) nameSurvivors(session *settle.Session, turn string) {
	t := session.State().Turn(turn)
	if t == nil {
		return
	}
	for _, i := range t.Items {
		for _, p := range i.Content().Survivors {
			r.say("could not end pid %d (%s): %s", p.PID, p.Command, p.Why)
		}
	}
}

// nameUnattended names the model's questions that a policy answered, since no person could
// be asked (C16).
func (r *runner) nameUnattended(session *settle.Session, turn string) {
	t := session.State().Turn(turn)
	if t == nil {
		return
	}
	for _, a := range t.Approvals {
		if a.Form != nil && len(a.Form.Questions) > 0 && t.FormEnding(a) == event.Unattended {
			r.say("the agent had a question, and nobody could be asked (policy %q): %s", a.Ended.Policy, a.Title)
		}
	}
}

// explain reports why a turn did not complete.
func (r *runner) explain(session *settle.Session, o settle.Outcome) {
	if f := o.Cause.Failure; f != nil {
		r.failure = f
		if f.Name == event.NameRetryExhausted {
			r.line(stdio.ExhaustLine(session.ID(), o.Turn, f, r.printable))
		}
		r.sayCause("%s", o.Cause.Error())
		return
	}
	for _, stop := range r.stop.all() {
		if stop.By != o.Cause.By {
			continue
		}
		switch signal, isSignal := strings.CutPrefix(stop.By, "signal:"); {
		case isSignal && o.Cause.Reason == event.Interrupted:
			r.sayCause("interrupted by %s%s", signal, failedBefore(session, o.Turn))
			return
		case isSignal:
			r.sayCause("ended by %s%s", signal, failedBefore(session, o.Turn))
			return
		case stop.Err != nil:
			r.sayCause("the turn was ended: %v", stop.Err)
			return
		}
	}
	r.sayCause("%s", o.Cause.Error())
}

// failedBefore states why the turn had not got further when a signal ended it: the failure
// of its last request, if the model has not answered since. It is empty if there was none.
func failedBefore(session *settle.Session, turn string) string {
	t := session.State().Turn(turn)
	if t == nil {
		return ""
	}
	for _, a := range slices.Backward(t.Attempts) {
		switch {
		case a.End == nil || a.End.Outcome == event.Aborted:
		case a.End.Failure != nil:
			return "; the last request had failed: " + a.End.Failure.Message
		default:
			return ""
		}
	}
	return ""
}

// reportRefused reports an input that did not become a turn.
func (r *runner) reportRefused(err error) int {
	defer func() {
		if r.Imported && r.Resume != nil {
			r.say("what was imported is kept; continue with: %s", r.Resume(r.Session))
		}
	}()
	var answered *settle.AnsweredError
	if errors.As(err, &answered) {
		r.fail(r.printable(err.Error()))
		r.sayCause("%v", err)
		return stdio.CodeFailed
	}
	if stops := r.stop.all(); len(stops) > 0 {
		why := fmt.Sprintf(
			"stopped by %s before the turn began; nothing was sent", strings.TrimPrefix(stops[0].By, "signal:"),
		)
		r.fail(why)
		r.sayCause("%s", why)
		return stops[0].Code
	}
	r.fail(r.printable(err.Error()))
	r.sayCause("%v", err)
	return stdio.CodeUsage
}

// fail makes the view report why the end of the turn is unknown, once the printer has
// ended.
func (r *runner) fail(why string) {
	if r.enough != nil {
		r.enough()
		if r.out.Await(r.printed, r.unreadTimeout) != nil {
			return // no reader is left
		}
	}
	r.view.Fail(why)
}

// last prints the view's final output, unless the printer is stuck at its reader. It does
// not wait.
func (r *runner) last() {
	r.spoke.Do(func() {
		select {
		case <-r.printed:
		default:
			if r.enough != nil {
				return
			}
		}
		r.out.Add(string(r.view.Last()))
	})
}

// worktreeTimeout is the time to leave the session's own git worktree; 0 without one.
func (r *runner) worktreeTimeout() time.Duration {
	if r.Config.Worktree == nil {
		return 0
	}
	return worktreeTimeout
}

// close ends the session and its remaining processes, and reports the processes that did not stop.
// After a second stop it does not wait for the session's git worktree.
func (r *runner) close(session *settle.Session) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout+r.worktreeTimeout())
	defer cancel()
	go func() { // ends with close
		select {
		case <-r.stop.second:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(closeTimeout):
			cancel()
		case <-ctx.Done():
		}
	}()
	defer func() {
		state := session.State()
		for n, line := range transcript.WorktreeLines(state.Host, state.WorktreeLeft) {
			if n == 0 {
				line = "settle: " + line
			}
			r.line(r.printable(line))
		}
	}()
	if err := r.Host.Close(ctx); err != nil && !r.isReported(err) {
		r.say("%v", err)
	}
}

// isReported reports whether an error was the turn's already.
func (r *runner) isReported(err error) bool {
	return r.failure != nil && r.failure.Name == event.NameJournal && strings.Contains(r.failure.Message, err.Error())
}

// leave lets the output go out and returns the code.
func (r *runner) leave(code int) int {
	wait := r.unreadTimeout
	if r.lost {
		wait = func() time.Duration { return 0 }
	}
	if err := r.out.Close(wait); err != nil {
		switch {
		case stdio.IsClosed(err) && stdio.KindOf(r.Stdout) == stdio.File:
			code = stdio.CodeStdoutClosed
		case code == stdio.CodeCompleted:
			code = r.reportUnshown(err)
		}
	}
	_ = r.err.Close(func() time.Duration { return lastUnreadTimeout })
	return code
}

// reportUnshown is the end of a turn of which not everything could be shown.
func (r *runner) reportUnshown(err error) int {
	r.sayCause("cannot write all output to standard output: %v", err)
	if stops := r.stop.all(); len(stops) > 0 {
		return stops[0].Code
	}
	return stdio.CodeFailed
}

func (r *runner) unreadTimeout() time.Duration {
	select {
	case <-r.stop.first:
		return stopUnreadTimeout
	default:
		return stdio.UnreadTimeout
	}
}

func (r *runner) printable(text string) string { return terminal.Text(r.Mask(text)) }

// say writes one line to standard error, which a terminal shows in rows.
func (r *runner) say(format string, args ...any) {
	text := "settle: " + strings.TrimSpace(r.printable(fmt.Sprintf(format, args...)))
	r.line(terminal.Fold(text, r.err.Columns()))
}

// sayCause prints the reason why the turn has no valid answer, and passes it, masked, to Failed.
func (r *runner) sayCause(format string, args ...any) {
	r.say(format, args...)
	if r.Failed != nil {
		r.Failed(terminal.OneLine(r.Mask(fmt.Sprintf(format, args...))))
	}
}

func (r *runner) line(text string) {
	if r.stderrView != nil {
		r.stderrView.Clear()
	}
	r.err.Add(text + "\n")
}
