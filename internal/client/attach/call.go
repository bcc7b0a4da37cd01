package attach

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

const (
	// answerTimeout is how long a host may take for a call. An interrupt takes as long
	// as the turn's end does (C9), a job as long as its processes' end.
	answerTimeout = 4 * time.Second
	endTimeout    = 8 * time.Second
)

// SilentError says that the host has not answered. It may still do what it was
// asked for.
type SilentError struct {
	Host
	Timeout time.Duration
	Stopped bool
}

func (e *SilentError) Error() string {
	if e.Stopped {
		return fmt.Sprintf("%s is stopped; it does what it was asked for when it continues", e.Host)
	}
	return fmt.Sprintf("%s has not answered for %v; it may still do what it was asked for", e.Host, e.Timeout)
}

// GoneError says that the host has closed the session, or has ended.
type GoneError struct{ Host }

func (e *GoneError) Error() string {
	return fmt.Sprintf("%s does not host the session any more", e.Host)
}

// String names the process.
func (h Host) String() string { return fmt.Sprintf("pid %d (%s)", h.PID, h.Face) }

// call has the host do something.
func (s *Session) call(ctx context.Context, timeout time.Duration, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := s.calls.Call(ctx, method, params, result)
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &refused):
		return refusal(refused)
	case errors.Is(err, context.DeadlineExceeded):
		return &SilentError{s.host, timeout, journal.IsStopped(s.host.PID)}
	case err != nil && ctx.Err() == nil:
		return &GoneError{s.host}
	}
	return err
}

// Submit sends an input. One that is sent again after a host that has not answered
// runs once.
func (s *Session) Submit(ctx context.Context, in settle.Input) error {
	if in.Expand != nil && !in.Command { // by what the guest has: the host has other commands
		text, images, err := in.Expand(ctx, in.Text)
		if err != nil {
			return err
		}
		in.Text, in.Images = text, append(in.Images, images...)
	}
	p := submission{in.Text, in.Images, in.Mode, in.Schema, in.Command, in.ID, in.By}
	s.mu.Lock()
	if s.unsure.Input != "" && s.unsure.Text == p.Text && s.unsure.Command == p.Command && len(p.Images) == len(s.unsure.Images) {
		p.Input = cmp.Or(p.Input, s.unsure.Input)
	}
	s.mu.Unlock()
	p.Input = cmp.Or(p.Input, uuid.NewString())
	var r receipt
	err := s.call(ctx, answerTimeout, methodSubmit, p, &r)
	if silent := (*SilentError)(nil); errors.As(err, &silent) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unsure = p
	}
	return err
}

// confirm notes that the host has an input that it did not answer for.
func (s *Session) confirm(e event.Event) {
	accepted, ok := e.Data.(event.InputAccepted)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsure.Input == accepted.Input {
		s.unsure = submission{}
	}
}

// Interrupt ends a turn and returns after its end (C10).
func (s *Session) Interrupt(ctx context.Context, i settle.Interruption) (settle.Outcome, error) {
	var o outcome
	err := s.call(ctx, endTimeout, methodInterrupt, interruption{i.Input, i.Hurry, i.By}, &o)
	return settle.Outcome{Turn: o.Turn, Cause: o.Cause}, err
}

// Answer gives somebody's word about a call that waits. The first answer counts: for a
// later one the error is a [*settle.AnsweredError].
func (s *Session) Answer(ctx context.Context, a settle.Answer) error {
	return s.call(ctx, answerTimeout, methodAnswer, verdict{a.Approval, a.Verdict, a.Message, a.By, a.Content}, nil)
}

// Drop takes back an input that waits, and reports whether it did.
func (s *Session) Drop(input, by string) (bool, error) {
	var d done
	err := s.call(s.life, answerTimeout, methodDrop, dropping{input, by}, &d)
	return d.Done, err
}

// CancelCall ends a single call, and reports whether it was running.
func (s *Session) CancelCall(ctx context.Context, item, by string) (bool, error) {
	var d done
	err := s.call(ctx, answerTimeout, methodCancel, cancelling{item, by}, &d)
	return d.Done, err
}

// KillJob ends a job.
func (s *Session) KillJob(ctx context.Context, job string) error {
	return s.call(ctx, endTimeout, methodKill, killing{job}, nil)
}

// Choose has the host's next turns use another model or effort. Every setting has a name.
func (s *Session) Choose(ctx context.Context, settings map[string]string) error {
	return s.adjust(ctx, methodChoose, choosing{settings})
}

// Tighten has the host's calls judged by another mode from the next one on. A guest
// cannot loosen it: who let the host do more was asked there.
func (s *Session) Tighten(ctx context.Context, mode string) error {
	return s.adjust(ctx, methodTighten, tightening{mode})
}

func (s *Session) adjust(ctx context.Context, method string, params any) error {
	var now Settings
	if err := s.call(ctx, endTimeout, method, params, &now); err != nil {
		return err
	}
	s.learn(&now)
	return nil
}

// Offered returns the models that the host's providers list.
func (s *Session) Offered(ctx context.Context) (offered []assemble.Offered, err error) {
	err = s.call(ctx, endTimeout, methodOffered, nil, &offered)
	return offered, err
}
