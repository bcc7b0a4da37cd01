package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool"
)

// maxProgress bounds the output of one call that the log gets while the call runs, in bytes.
// The tool keeps the complete output.
const maxProgress = 256 << 10

// call is one tool call that is ready. The goroutine that start starts owns it and resolves
// settled on every path; the turn waits for settled.
type call struct {
	callSpec
	callProgress
	turn    *turn
	turnCtx context.Context // context of the turn
	cancel  context.CancelCauseFunc
	// decided is resolved when the log shows whether the call runs.
	decided *scope.Deferred[struct{}]
	// requestDone is resolved when approval of the call is requested, or is not needed.
	requestDone *scope.Deferred[struct{}]
	before      *call // the previous call of the response; nil for the first one
	settled     *scope.Deferred[struct{}]
	elapsed     time.Duration // run time; valid once settled is resolved
	grant       Grant         // from the approver
	time        *scope.Allowance
	hookResult  hookResult
	starts      []tool.Program // programs named by clients that the call may start once it is approved
}

// callSpec is a call as the model or a person requested it.
type callSpec struct {
	attempt, item      string
	name, callID, args string
	duplicate          bool
	byPerson           bool  // entered by a person, without approval
	argsErr            error // why the model's arguments are not a valid call
}

// callProgress is the output of a running call that goes into the log.
type callProgress struct {
	mu           sync.Mutex // guards the fields below
	outputBudget bound.Budget
	notices      int
	runes        runeBuffer
	mask         *redact.Stream
}

// toolReturn is a tool's result and error.
type toolReturn struct {
	result tool.Result
	err    error
}

// start starts the call's goroutine. It ends when the tool returns, or soon after ctx.
func (t *turn) start(ctx context.Context, c *call) {
	c.turnCtx = ctx
	ctx, c.cancel = context.WithCancelCause(ctx)
	c.decided, c.settled = scope.NewDeferred[struct{}](), scope.NewDeferred[struct{}]()
	c.requestDone = scope.NewDeferred[struct{}]()
	if n := len(t.calls); n > 0 && t.calls[n-1].attempt == c.attempt {
		c.before = t.calls[n-1]
	}
	c.mask, c.outputBudget = t.Redact.Stream(), bound.NewBudget(maxProgress)
	t.calls = append(t.calls, c)
	t.Calls.add(c)
	// settleCalls or await waits for it.
	go func() {
		defer c.settled.Settle(struct{}{})
		defer t.Calls.remove(c)
		defer c.cancel(nil)
		if err := scope.Guard(func() error { c.run(ctx); return nil }); err != nil {
			c.fail(err) // a panic of settle's own code: the call still ends
		}
	}()
}

// run runs a ready call to its ending.
func (c *call) run(ctx context.Context) {
	defer c.decided.Settle(struct{}{})
	defer c.requestDone.Settle(struct{}{})
	err := c.check(ctx)
	c.requestDone.Settle(struct{}{})
	if err != nil {
		if ctx.Err() != nil {
			c.aborted(ctx)
			return
		}
		c.refuse(err)
		return
	}
	started, ok := c.begin(ctx)
	observed := c.turn.observeCall(ctx, c.name, started)
	if !ok {
		c.aborted(ctx)
		return
	}
	c.decided.Settle(struct{}{})
	if c.grant.Notice != "" {
		c.notice(c.grant.Notice)
	}
	ctx, cancel := c.timeout(observed)
	defer cancel()
	g, ok := c.await(ctx)
	if !ok {
		c.aborted(ctx)
		return
	}
	c.end(ctx, g)
	c.runAfterHooks(ctx, g)
}

// check returns why the call must not run. The error becomes the call's output, and the turn
// continues.
func (c *call) check(ctx context.Context) error {
	t := c.turn
	switch {
	case c.callID == "":
		return errors.New("the call has no id, so that its output would be ambiguous; make the call again")
	case c.duplicate:
		return fmt.Errorf("the call id %q was used before: this call did not run; make it again", c.callID)
	}
	if c.argsErr != nil {
		return c.argsErr
	}
	if err := t.Tools.Check(c.name, json.RawMessage(c.args)); err != nil {
		return err
	}
	if c.byPerson {
		return nil
	}
	if err := c.runBeforeHooks(ctx); err != nil {
		return err
	}
	c.starts = t.Tools.Starts(c.name, json.RawMessage(c.args))
	if t.Approver == nil {
		return nil
	}
	ctx = context.WithValue(ctx, orderKey{}, c)
	if err := c.approve(c.hookResult.context(ctx)); err != nil || c.grant.Arguments == "" {
		return err
	}
	return c.applyEdit(ctx)
}

// applyEdit replaces the arguments by the ones that the approver changed. Blocking hooks also
// judge the changed call.
func (c *call) applyEdit(ctx context.Context) error {
	edited := c.grant.Arguments
	if err := c.turn.Tools.Check(c.name, json.RawMessage(edited)); err != nil {
		return fmt.Errorf("the user changed this call into one that is not valid: %w", err)
	}
	if len(c.starts) > 0 || len(c.turn.Tools.Starts(c.name, json.RawMessage(edited))) > 0 {
		return errors.New("a call that starts a program which a client named cannot be changed")
	}
	c.args = edited
	if err := c.runBeforeHooks(ctx); err != nil {
		return err
	}
	if c.args != edited {
		return refusedByHook(c.name, "it changed the call again that the user had changed")
	}
	c.hookResult.arguments = c.turn.Redact.String(edited)
	return nil
}

// orderKey is the context key of the call that an approver is asked about.
type orderKey struct{}

// InOrder calls record, which requests approval of the call whose approver has the context ctx, once
// all earlier calls of the response have requested theirs or need none: the questions have the order
// of the calls.
func InOrder(ctx context.Context, record func() error) error {
	c, ok := ctx.Value(orderKey{}).(*call)
	if !ok {
		return record()
	}
	for earlier := c.before; earlier != nil; earlier = earlier.before {
		if _, err := earlier.requestDone.Wait(ctx); err != nil {
			return err
		}
	}
	defer c.requestDone.Settle(struct{}{})
	return record()
}

// approve asks the approver for as long as a person may take, until ctx ends.
func (c *call) approve(ctx context.Context) error {
	t := c.turn
	x, _ := t.Tools.Lookup(c.name)
	a := approval.Call{
		Turn: t.id, Attempt: c.attempt, Item: c.item, Tool: x.Spec(), Title: t.Redact.String(c.title()),
		Arguments: c.args, Starts: c.starts,
	}
	type answer struct {
		grant Grant
		err   error
	}
	answers := make(chan answer, 1)
	// Ends when the approver returns. An approver that ignores its context is abandoned, and
	// its late answer has no effect (C16).
	t.detached.Go(func() {
		var reply answer
		reply.err = scope.Guard(func() (err error) {
			reply.grant, err = t.Approver.Approve(ctx, a)
			return err
		})
		answers <- reply // never blocks: capacity 1
	})
	select {
	case reply := <-answers:
		c.grant = reply.grant
		return reply.err
	case <-ctx.Done():
	}
	if c.inReview() {
		margin := time.NewTimer(reviewMargin)
		defer margin.Stop()
		select {
		case <-answers:
		case <-margin.C:
		}
	}
	return context.Cause(ctx)
}

// reviewMargin bounds the wait until an interrupted review has recorded its usage.
const reviewMargin = 150 * time.Millisecond

// inReview reports whether a review of the call has not ended.
func (c *call) inReview() (open bool) {
	c.turn.Log.View(func(s event.State) {
		if t := s.Running(); t != nil && t.ID == c.turn.id {
			open = slices.ContainsFunc(t.Hooks, func(h *event.Hook) bool {
				return h.Event == event.HookReview && h.Item == c.item && h.Ended == nil
			})
		}
	})
	return open
}

func (c *call) title() string { return c.turn.Tools.Title(c.name, json.RawMessage(c.args)) }

// begin makes the call's start durable (C5) and reports whether the call may run. It must not
// run if it was cancelled or the log has its ending.
func (c *call) begin(ctx context.Context) (started event.Event, ok bool) {
	var events []event.Event
	title := c.turn.Redact.String(c.title())
	err := c.turn.update(func(s event.State) []event.Event {
		if ctx.Err() == nil && c.open(s) {
			events = c.event(event.CallStarted{
				Title: title, Sandbox: c.grant.Sandbox, Secrets: c.grant.Secrets, Arguments: c.hookResult.arguments,
				Places: MaskPlaces(c.turn.Redact, disk.ThroughLinks(c.turn.Dir, c.grant.Places)),
			})
		}
		return events
	})
	if len(events) > 0 {
		started = events[0]
	}
	return started, len(events) > 0 && err == nil
}

// open reports whether the log has no ending of the call yet.
func (c *call) open(s event.State) bool {
	t := s.Running()
	if t == nil || t.ID != c.turn.id {
		return false
	}
	i := t.Item(c.item)
	return i != nil && i.Status == event.ItemOpen
}

func (c *call) event(data event.Data) []event.Event {
	return []event.Event{{Turn: c.turn.id, Attempt: c.attempt, Item: c.item, Data: data}}
}

// timeout bounds the call with the tool's timeout, or with the default.
func (c *call) timeout(ctx context.Context) (context.Context, context.CancelFunc) {
	d := c.turn.CallTimeout
	if x, ok := c.turn.Tools.Lookup(c.name); ok && x.Spec().Timeout > 0 {
		d = x.Spec().Timeout
	}
	cause := event.Abort(event.TimedOut, "")
	cause.Message = "it ran for " + formatDuration(d)
	ctx, allowance, cancel := scope.WithAllowance(ctx, d, cause)
	c.time = allowance
	return ctx, cancel
}

// await runs the tool. After ctx ends, the tool has the grace, plus a margin to report its
// output, in which to return; otherwise ok is false. If a result and an abort arrive together,
// the result wins.
func (c *call) await(ctx context.Context) (g toolReturn, ok bool) {
	t := c.turn
	began := time.Now()
	defer func() { c.elapsed = time.Since(began) }()
	var names []string
	for _, p := range c.starts {
		names = append(names, p.Name)
	}
	results := make(chan toolReturn, 1)
	// Ends when the tool returns. A tool that ignores its context is abandoned, and its late
	// result has no effect.
	t.detached.Go(scope.Shield(func(err error) { results <- toolReturn{err: err} }, func() {
		result, err := t.Tools.Run(tool.WithSearcher(tool.WithHurry(ctx, t.Hurry), t.searchWeb), tool.Call{
			ID: c.item, Session: t.session, Name: c.name, Args: json.RawMessage(c.args), Dir: t.Dir,
			Progress: c.progressText, Notice: c.notice, Ask: c.fillForm,
			Sandbox: c.grant.Sandbox, Secrets: c.grant.Secrets, Starts: names, Places: c.grant.Places,
			Alone:      c.grant.Alone,
			Permission: c.grant.Permission,
		})
		results <- toolReturn{result, err} // never blocks: one result, capacity 1
	}))
	select {
	case g = <-results:
		return g, true
	case <-ctx.Done():
	}
	grace := time.NewTimer(t.InterruptGrace + settleMargin)
	defer grace.Stop()
	hurry := t.Hurry
	for {
		select {
		case g = <-results:
			return g, true
		case <-hurry:
			grace.Reset(settleMargin)
			hurry = nil
		case <-grace.C:
			return toolReturn{}, false
		}
	}
}

// progressText writes output into the log as it arrives, masked and bounded.
func (c *call) progressText(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text = c.outputBudget.Text(c.mask.Write(c.runes.Write(text))); text != "" {
		c.logDelta(event.ItemDelta{Stream: event.Output, Text: text})
	}
}

// logDelta writes a delta into the log while the call is open.
func (c *call) logDelta(d event.ItemDelta) {
	_ = c.turn.update(func(s event.State) []event.Event {
		if !c.open(s) {
			return nil
		}
		return c.event(d)
	}) // a failed journal ends the turn by itself
}

// Bounds of the notices of one call.
const (
	maxNotices = 100
	maxNotice  = 500 // characters
)

// notice writes a message for people into the log, as a line of the output.
func (c *call) notice(text string) {
	text = terminal.Short(c.turn.Redact.Diagnostic(text), maxNotice)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notices++; c.notices <= maxNotices {
		c.logDelta(event.ItemDelta{Stream: event.Output, Text: "\n[" + text + "]\n", Notice: true})
	}
}

// aborted ends a call that is cancelled while the turn continues. If the turn ends, the turn's
// finalizer ends the call.
func (c *call) aborted(ctx context.Context) {
	if ctx.Err() == nil { // the log has the ending, or it has failed
		return
	}
	cause := interruption(context.Cause(ctx))
	_ = c.turn.update(func(s event.State) []event.Event {
		if c.turnCtx.Err() != nil || !c.open(s) {
			return nil
		}
		return event.CallEndings(s, c.item, cause)
	})
}

// refuse ends a call that must not run. The log gets a denial by a declared policy as an
// approval that the policy answered (C16).
func (c *call) refuse(err error) {
	var denied *approval.DeniedError
	if errors.As(err, &denied) && denied.Policy != "" {
		_ = c.turn.update(func(s event.State) []event.Event {
			if !c.open(s) {
				return nil
			}
			id := s.NextApproval()
			return append(
				c.event(event.ApprovalRequested{Approval: id, Tool: c.name, Title: c.turn.Redact.String(c.title())}),
				c.event(event.ApprovalEnded{
					Approval: id, Verdict: event.Denied, Policy: denied.Policy,
					Message: c.turn.Redact.String(denied.Message),
				})...,
			)
		}) // a failed journal ends the turn by itself
	}
	c.fail(err)
}

// fail ends a call that did not run, with an error for the model.
func (c *call) fail(err error) {
	c.finish(event.ItemEnded{Status: event.ItemFailed, Content: event.Content{Output: err.Error()}})
}

// end ends the call with its tool's result.
func (c *call) end(ctx context.Context, g toolReturn) {
	r := g.result
	d := event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{
		Output: r.Output, OutputFile: r.OutputFile, OutputBytes: r.OutputBytes, ExitCode: r.ExitCode,
		Detail: r.Detail, Jobs: r.Jobs, Survivors: MaskProcesses(c.turn.Redact, r.Survivors),
	}}
	var panicked *tool.PanicError
	switch {
	case errors.As(g.err, &panicked):
		c.turn.Logger.Error(
			"a tool panicked", "tool", c.name, "panic", c.turn.Redact.Diagnostic(panicked.Error()), "stack",
			c.turn.Redact.Diagnostic(panicked.Stack),
		)
		fallthrough
	case g.err != nil:
		d.Status, d.Output = event.ItemFailed, g.err.Error()
	case r.Unknown:
		d.Status, d.Effects = event.ItemAborted, event.EffectsUnknown
		d.Cause = event.Abort(event.MachineLost, "executor")
		if ctx.Err() != nil {
			d.Cause = interruption(context.Cause(ctx))
		}
	case r.Aborted && ctx.Err() != nil:
		d.Status, d.Effects = event.ItemAborted, event.EffectsPartial
		d.Cause = interruption(context.Cause(ctx))
	case r.Failed || r.Aborted:
		d.Status = event.ItemFailed
	}
	c.finish(d)
}

// maxOutput bounds the output of one call that the model receives, in bytes. Most tools have
// far lower bounds. Without this bound, a tool could make a request that is too long for the
// model for the rest of the session.
const maxOutput = 512 << 10

// bounded returns the beginning and the end of an output that is too long.
func bounded(output string) string {
	return bound.Ends(output, maxOutput/2, maxOutput/2, "[%d bytes left out]")
}

// openEndings ends the entities of the call that are still open, such as an approval whose
// approver panicked (C2).
func (c *call) openEndings(s event.State) []event.Event {
	endings := event.CallEndings(s, c.item, event.Abort(event.Shutdown, "host"))
	return endings[:len(endings)-1] // without the call's own ending
}

// finish writes the call's ending, unless the log has one.
func (c *call) finish(d event.ItemEnded) {
	d.Output = bounded(c.turn.Redact.String(d.Output))
	if d.Detail = c.turn.Redact.Bytes(d.Detail); !json.Valid(d.Detail) {
		d.Detail = nil // invalid JSON from a tool must not keep the ending out of the log
	}
	err := c.turn.update(func(s event.State) []event.Event {
		if !c.open(s) {
			return nil
		}
		so := s.Running().Item(c.item)
		content := so.Content()
		if d.Status == event.ItemAborted && d.Output == "" {
			d.Output = content.Output
		}
		d.Type, d.Name, d.CallID, d.Arguments = content.Type, content.Name, content.CallID, content.Arguments
		d.Sent, d.ProviderID = content.Sent, content.ProviderID
		d.Signature, d.Effective = content.Signature, content.Effective
		d.Provider, d.Model = c.turn.target.Provider, c.turn.target.Model
		return append(c.openEndings(s), c.event(d)...)
	})
	if err != nil { // a failed journal ends the turn by itself
		c.turn.Logger.Error("cannot write a call's ending", "item", c.item, "error", err)
	}
}
