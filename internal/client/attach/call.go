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
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/tool/mcp"
)

const (
	// answerTimeout bounds a call to the host. An interrupt takes as long as the turn's end
	// (C9), and the end of a job as long as its processes'.
	answerTimeout = 4 * time.Second
	endTimeout    = 8 * time.Second
)

// SilentError reports that the host has not answered. The host can still execute the call.
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

// GoneError reports that the host has closed the session, or has ended.
type GoneError struct{ Host }

func (e *GoneError) Error() string {
	return fmt.Sprintf("%s does not host the session any more", e.Host)
}

// String names the process.
func (h Host) String() string { return fmt.Sprintf("pid %d (%s)", h.PID, h.Frontend) }

// call sends a call to the host. Without a timeout, it waits until the answer, the end of ctx or
// the end of the connection.
func (s *Session) call(ctx context.Context, timeout time.Duration, method string, params, result any) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
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

// Submit sends an input. An input that is sent again after a missing answer runs once. An input
// with an Expand is expanded by the host, with the host's commands and MCP servers. PDFs are read
// here, before the call: the host then answers soon.
func (s *Session) Submit(ctx context.Context, in settle.Input) error {
	p := submission{in.Text, in.Images, in.Documents, in.Mode, in.Schema, in.Command, in.ID, in.By}
	if in.Expand != nil && !in.Command { // it takes as long as the server needs, or until an interrupt
		p.Input = cmp.Or(p.Input, uuid.NewString())
		return s.call(ctx, 0, methodExpand, p, nil)
	}
	var err error
	if p.Documents, err = session.ReadDocuments(ctx, p.Documents); err != nil {
		return err
	}
	s.mu.Lock()
	if s.unsure.Input != "" && s.unsure.Text == p.Text && s.unsure.Command == p.Command &&
		len(p.Images) == len(s.unsure.Images) && len(p.Documents) == len(s.unsure.Documents) {
		p.Input = cmp.Or(p.Input, s.unsure.Input)
	}
	p.Input = cmp.Or(p.Input, uuid.NewString())
	s.accepted[p.Input] = false
	s.mu.Unlock()
	var r receipt
	err = s.call(ctx, answerTimeout, methodSubmit, p, &r)
	s.mu.Lock()
	defer s.mu.Unlock()
	isAccepted := s.accepted[p.Input]
	delete(s.accepted, p.Input)
	if silent := (*SilentError)(nil); errors.As(err, &silent) {
		if isAccepted { // the event came before the answer
			return nil
		}
		s.unsure = p
	}
	return err
}

// confirm records that the host has received an unanswered input.
func (s *Session) confirm(e event.Event) {
	accepted, ok := e.Data.(event.InputAccepted)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, isCalling := s.accepted[accepted.Input]; isCalling {
		s.accepted[accepted.Input] = true
	}
	if s.unsure.Input == accepted.Input {
		s.unsure = submission{}
	}
}

// Interrupt ends a turn and returns after the turn's end (C10).
func (s *Session) Interrupt(ctx context.Context, i settle.Interruption) (settle.Outcome, error) {
	var o outcome
	err := s.call(ctx, endTimeout, methodInterrupt, interruption{i.Input, i.Hurry, i.By}, &o)
	return settle.Outcome{Turn: o.Turn, Cause: o.Cause}, err
}

// Answer answers a pending approval. The first answer counts: a later one returns a
// [*settle.AnsweredError].
func (s *Session) Answer(ctx context.Context, a settle.Answer) error {
	return s.call(ctx, answerTimeout, methodAnswer, verdict{
		a.Approval, a.Verdict, a.Message, a.Explain, a.By, a.Content, a.Arguments, a.Permission,
	}, nil)
}

// Drop removes a waiting input, and reports whether it did.
func (s *Session) Drop(input, by string) (bool, error) {
	var d done
	err := s.call(s.life, answerTimeout, methodDrop, dropping{input, by}, &d)
	return d.Done, err
}

// KillJob ends a job.
func (s *Session) KillJob(ctx context.Context, job string) error {
	return s.call(ctx, endTimeout, methodKill, killing{job}, nil)
}

// Choose changes settings of the host's next turns, such as model or effort, by name.
func (s *Session) Choose(ctx context.Context, settings map[string]string) error {
	return s.adjust(ctx, methodChoose, choosing{settings})
}

// Tighten changes the permission mode of the host's next calls to a stricter one. An attached
// client cannot relax it: only the host's own user may.
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

// Compact compacts the history, as [settle.Session.Compact] does. It takes as long as the turn.
func (s *Session) Compact(ctx context.Context, by string) (c settle.Compacted, err error) {
	err = s.call(ctx, 0, methodCompact, compacting{by}, &c)
	return c, err
}

// Prompts returns the prompts of the host's MCP servers that are known now, and notes on names
// that cannot be used.
func (s *Session) Prompts(ctx context.Context) (list []mcp.Command, notes []string, err error) {
	var p prompts
	err = s.call(ctx, answerTimeout, methodPrompts, nil, &p)
	return p.List, p.Notes, err
}

// Rules returns the rules in force in the session, and its remembered approvals.
func (s *Session) Rules(ctx context.Context) ([]assemble.Rule, error) {
	var r rules
	err := s.call(ctx, answerTimeout, methodRules, nil, &r)
	return r.List, err
}

// Forget takes a remembered approval back, by its Key: calls like it need an approval again.
func (s *Session) Forget(ctx context.Context, key string) error {
	return s.call(ctx, answerTimeout, methodForget, forgetting{key}, nil)
}

// Offered returns the models that the host's providers list.
func (s *Session) Offered(ctx context.Context) (offered []assemble.Offered, err error) {
	err = s.call(ctx, endTimeout, methodOffered, nil, &offered)
	return offered, err
}
