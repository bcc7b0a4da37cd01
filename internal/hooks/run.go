package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// maxParallel bounds how many hooks of one occasion run in parallel.
	maxParallel = 8
	// lateMargin bounds the time until a Runner returns after a hook's timeout: the command has its
	// grace, and then its descendants are ended. When the turn ends, the Runner has cutMargin (C9).
	lateMargin = 3 * time.Second
	cutMargin  = 200 * time.Millisecond
)

// errOver means that the occasion of the hooks has ended.
var errOver = errors.New("it is over")

// execution is one run of a hook.
type execution struct {
	set       *Set
	hook      *hook
	aspect    aspect
	name      string
	occasion  *occasion
	id        string
	startedAt time.Time
}

// matching returns the executions of an occasion's hooks.
func (s *Set) matching(o *occasion, wanted func(*hook, aspect) bool) []*execution {
	var runs []*execution
	list := s.byEvent[o.event]
	for n := range list {
		h := &list[n]
		for _, a := range o.aspects {
			if wanted != nil && !wanted(h, a) {
				continue
			}
			name, ok := h.matched(a.names)
			if !ok && a.outer != nil {
				a = *a.outer
				name, ok = h.matched(a.names)
			}
			if ok {
				runs = append(runs, &execution{set: s, hook: h, aspect: a, name: name, occasion: o})
			}
		}
	}
	return runs
}

// begin records the starts of the hooks, unless the occasion has ended.
func (s *Set) begin(ctx context.Context, o *occasion, runs []*execution) error {
	began := false
	err := s.Log.Update(func(st event.State) (out []event.Event) {
		if ctx.Err() != nil || !st.Open {
			return nil
		}
		if t := st.Running(); o.turn != "" && (t == nil || t.ID != o.turn || t.Interrupt != nil) {
			return nil // nothing starts after the interrupt
		}
		if o.open != nil && !o.open(st) {
			return nil
		}
		for n, r := range runs {
			r.id = st.NextHook(n)
			out = append(out, event.Event{Turn: o.turn, Item: o.item, Data: event.HookStarted{
				Hook: r.id, Event: o.event, Command: clip(
					s.Redact.String(r.hook.line()), maxShown,
				), Source: s.Redact.String(r.hook.Source), Input: o.input,
				TimeoutMS: r.hook.timeout().Milliseconds(),
			}})
		}
		began = true
		return out
	})
	switch {
	case err != nil:
		return fmt.Errorf("cannot record a hook: %w", err)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !began:
		return errOver
	}
	return nil
}

func (h *hook) line() string {
	return strings.Join(append([]string{h.Command}, h.Args...), " ")
}

// runAll runs the hooks in parallel and returns their responses in the hooks' order. It
// returns soon after ctx ends, with ctx's cause.
func (s *Set) runAll(ctx context.Context, o *occasion, runs []*execution) ([]response, error) {
	if err := s.begin(ctx, o, runs); err != nil {
		return nil, err
	}
	type result struct {
		n        int
		response response
	}
	results := make(chan result, len(runs))
	slots := make(chan struct{}, maxParallel)
	for n, r := range runs {
		// Ends soon after the hook's timeout or ctx; the loop below waits for it.
		go func() {
			var out response
			if err := scope.Guard(func() error { out = r.run(ctx, slots); return nil }); err != nil {
				scope.LogPanic(s.Logger, s.Redact.Diagnostic, "a hook panicked", err, "hook", r.id)
				out = r.end(response{}, err, Result{Code: -1})
			}
			results <- result{n, out} // never blocks: capacity for all
		}()
	}
	out := make([]response, len(runs))
	for range runs {
		got := <-results
		out[got.n] = got.response
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

// run runs the hook and records its end.
func (r *execution) run(ctx context.Context, slots chan struct{}) response {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return r.abort(ctx)
	}
	r.startedAt = time.Now()
	if r.hook.Broken != "" {
		return r.end(response{}, errors.New(r.hook.Broken), Result{Code: -1})
	}
	limit := r.hook.timeout()
	late := fmt.Errorf("it did not end within %v", limit)
	bounded, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	if r.hook.Check != nil {
		if err := r.hook.Check(bounded); ctx.Err() != nil {
			return r.abort(ctx)
		} else if err = cmp.Or(context.Cause(bounded), err); err != nil {
			return r.end(response{}, err, Result{Code: -1})
		}
	}
	stdin, err := r.set.stdin(*r.occasion, r.aspect, r.name)
	if err != nil {
		return r.end(response{}, err, Result{Code: -1})
	}
	got, err := r.command(ctx, bounded, stdin)
	switch {
	case ctx.Err() != nil:
		return r.abort(ctx)
	case bounded.Err() != nil && err != nil:
		return r.end(response{}, late, got)
	case err != nil:
		got.Code = -1
		return r.end(response{}, err, got)
	}
	out, err := parseAnswer(r.occasion.event, got)
	return r.end(out, err, got)
}

// command lets the Runner run the command. It abandons a Runner that does not return.
func (r *execution) command(runCtx, ctx context.Context, stdin []byte) (Result, error) {
	type outcome struct {
		result Result
		err    error
	}
	done := make(chan outcome, 1)
	c := Command{Line: r.hook.Command, Args: r.hook.Args, Dir: r.set.Dir, Stdin: stdin, Project: r.hook.Dir != ""}
	project := r.set.Project
	if r.hook.Dir != "" {
		c.Dir, project = r.hook.Dir, r.hook.Dir
	}
	c.Env = append([]string{"CLAUDE_PROJECT_DIR=" + project, "SETTLE_PROJECT_DIR=" + project}, r.hook.Env...)
	go func() { // ends when the Runner returns
		var o outcome
		if err := scope.Guard(func() (err error) { o.result, err = r.set.Runner.Run(ctx, c); return err }); err != nil {
			if errors.As(err, new(*scope.PanicError)) {
				scope.LogPanic(r.set.Logger, r.set.Redact.Diagnostic, "a runner of hooks panicked", err, "hook", r.id)
			}
			o.err = err
		}
		done <- o // never blocks: capacity 1
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
	}
	margin, cut := time.NewTimer(lateMargin), runCtx.Done()
	defer margin.Stop()
	for {
		select {
		case o := <-done:
			return o.result, o.err
		case <-cut:
			cut = nil
			margin.Reset(cutMargin)
		case <-margin.C:
			return Result{Code: -1}, context.Cause(ctx)
		}
	}
}

// abort records that the hook ended with its occasion.
func (r *execution) abort(ctx context.Context) response {
	var cause *event.Cause
	if !errors.As(context.Cause(ctx), &cause) || cause.Outcome == event.Completed {
		cause = event.Abort(event.Parent, "host")
		cause.Message = "what it ran for has ended"
	}
	r.write(event.HookEnded{Outcome: event.Aborted, Cause: cause}, cause.By)
	return response{HookEnded: event.HookEnded{Outcome: event.Aborted, Cause: cause}}
}

// end records how the hook ended. why, if not nil, is the reason of its failure.
func (r *execution) end(out response, why error, got Result) response {
	redact, d := r.set.Redact.String, &out.HookEnded
	d.Outcome = event.Completed
	if why == nil && r.aspect.sent != nil && out.changed != nil {
		d.Arguments = redact(r.aspect.changed(*out.changed))
		if d.Arguments != "" && r.occasion.event != event.HookBefore {
			why = errors.New("it changes the call, which only a PreToolUse hook may")
		}
	}
	if why != nil {
		reason := why.Error()
		if line := r.hook.line(); line != "" { // a broken hook can have none
			reason = fmt.Sprintf("the hook %q failed: %s", clip(line, 200), reason)
		}
		out = response{HookEnded: event.HookEnded{Outcome: event.Failed, Reason: reason}}
		d = &out.HookEnded
		r.set.Logger.Warn(
			"a hook failed", "event", r.occasion.event, "hook", r.id, "error", r.set.Redact.Diagnostic(why.Error()),
		)
	}
	if d.Outcome == event.Failed && r.occasion.event.IsBlocking() {
		d.Decision = event.Deny
	}
	if got.Code >= 0 && !got.Lost {
		d.ExitCode = &got.Code
	}
	if !r.startedAt.IsZero() {
		d.Elapsed = time.Since(r.startedAt).Milliseconds()
	}
	d.Reason, d.Message = clip(redact(d.Reason), maxReason), clip(redact(d.Message), maxReason)
	d.Context = clip(redact(strings.ToValidUTF8(d.Context, "\uFFFD")), maxContext)
	if !out.silent {
		d.Output = clip(
			redact(strings.ToValidUTF8(strings.TrimSpace(string(got.Stdout)+string(got.Stderr)), "\uFFFD")), maxShown,
		)
	}
	for _, p := range got.Survivors {
		p.Command = redact(p.Command)
		d.Survivors = append(d.Survivors, p)
	}
	r.write(*d, "")
	return out
}

// write records the hook's ending, unless the log has one.
func (r *execution) write(d event.HookEnded, by string) {
	d.Hook = r.id
	err := r.set.Log.Update(func(st event.State) []event.Event {
		if h := st.Hook(r.occasion.turn, r.id); h == nil || h.Ended != nil {
			return nil
		}
		return []event.Event{{Turn: r.occasion.turn, Item: r.occasion.item, By: by, Data: d}}
	})
	if err != nil { // a failed journal ends the turn by itself
		r.set.Logger.Error("cannot write a hook's ending", "hook", r.id, "error", err)
	}
}
