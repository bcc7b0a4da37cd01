package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/scope"
)

// handler executes the calls of an attached client, each in its own goroutine, because an
// interrupt is answered after its turn's end (C10).
type handler struct {
	session *settle.Session
	owner   *Owner // nil for an attached client
	calls   sync.WaitGroup
}

// Handle implements [jsonrpc.Handler].
func (h *handler) Handle(ctx context.Context, r *jsonrpc.Request) {
	h.calls.Go(
		scope.Shield(
			func(err error) { r.Fail(failure(err)) },
			func() { // ctx ends with the connection; serveCalls waits for it
				result, err := h.do(ctx, r)
				if err != nil {
					r.Fail(failure(err))
					return
				}
				r.Reply(result)
			},
		),
	)
}

func (h *handler) do(ctx context.Context, r *jsonrpc.Request) (any, error) {
	switch r.Method {
	case methodSubmit:
		return call(r, func(p submission) (any, error) { return h.submit(ctx, p) })
	case methodExpand:
		return call(r, func(p submission) (any, error) {
			opened, err := h.opened()
			if err != nil {
				return nil, err
			}
			expand := commands.Required(commands.Expansion{Source: opened.Commands()}.Expand)
			return h.submit(ctx, p, settle.WithExpansion(expand))
		})
	case methodCompact:
		return call(r, func(p compacting) (any, error) { return h.session.Compact(ctx, p.By) })
	case methodMode, methodDetach, methodClose:
		return h.own(r)
	case methodRules, methodForget, methodPrompts:
		return h.list(r)
	case methodInterrupt:
		return call(r, func(p interruption) (any, error) {
			o, err := h.session.Interrupt(ctx, settle.Interruption{By: p.By, Input: p.Input, Hurry: p.Hurry})
			return outcome{o.Turn, o.Cause}, err
		})
	case methodAnswer:
		return call(r, func(p verdict) (any, error) {
			if !h.mayBegin(p.Permission) {
				return nil, fmt.Errorf("cannot accept the plan with the permission %q: only the host can choose it; "+
					"the plan still waits", p.Permission)
			}
			err := h.session.Answer(
				ctx,
				settle.Answer{
					Approval:  p.Approval,
					Verdict:   p.Verdict,
					Message:   p.Message,
					Explain:   p.Explain,
					By:        p.By,
					Content:   p.Content,
					Arguments: p.Arguments, Permission: p.Permission,
				},
			)
			return done{true}, err
		})
	case methodDrop:
		return call(r, func(p dropping) (any, error) {
			dropped, err := h.session.Drop(p.Input, p.By)
			return done{dropped}, err
		})
	case methodKill:
		return call(r, func(p killing) (any, error) { return done{true}, h.session.KillJob(ctx, p.Job) })
	case methodChoose:
		return call(r, func(p choosing) (any, error) { return h.choose(ctx, p) })
	case methodTighten:
		return call(r, func(p tightening) (any, error) { return h.tighten(p) })
	case methodOffered:
		opened, err := h.opened()
		if err != nil {
			return nil, err
		}
		return opened.Offered(ctx)
	}
	return nil, jsonrpc.MethodNotFound(r.Method)
}

// opened returns the assembled parts of the session.
func (h *handler) opened() (*assemble.Opened, error) {
	o, ok := h.session.Value().(*assemble.Opened)
	if !ok {
		return nil, errors.New(
			"the host of this session fixes its model, effort and permission; end it and open the session here to choose others",
		)
	}
	return o, nil
}

// mayBegin reports whether the client, which can only tighten the permission, can begin the work on
// a plan with it. A host whose policy is unknown chooses the permission itself. Its owner can choose
// any permission.
func (h *handler) mayBegin(permission string) bool {
	if h.owner != nil {
		return true
	}
	o, err := h.opened()
	if err != nil || o.Agent.Policy() == nil {
		return permission == ""
	}
	return o.Agent.Policy().MayBegin(permission)
}

func (h *handler) settings() Settings {
	var host event.SessionOpened
	h.session.View(func(st event.State) { host = st.Host })
	return settingsOf(h.session, host)
}

// choose changes the settings that an attached client can change: the settings of the model, but
// not the permissions.
func (h *handler) choose(ctx context.Context, p choosing) (any, error) {
	opened, err := h.opened()
	if err != nil {
		return nil, err
	}
	for name := range p.Settings {
		if name != "model" && name != "effort" {
			return nil, fmt.Errorf("%q is the host's to change", name)
		}
	}
	if err := opened.Choose(ctx, p.Settings); err != nil {
		return nil, err
	}
	return h.settings(), nil
}

func (h *handler) tighten(p tightening) (any, error) {
	opened, err := h.opened()
	if err != nil {
		return nil, err
	}
	mode, err := assemble.ModeNamed(p.Mode)
	switch {
	case err != nil:
		return nil, err
	case opened.Agent.Policy() == nil:
		return nil, errors.New("the host of this session fixes its permission")
	}
	if err := opened.Agent.Policy().Tighten(mode); err != nil {
		return nil, fmt.Errorf("%w; only the host can choose it", err)
	}
	return h.settings(), nil
}

// call decodes the parameters of a request and calls do.
func call[P any](r *jsonrpc.Request, do func(P) (any, error)) (any, error) {
	var params P
	if err := r.Decode(&params); err != nil {
		return nil, err
	}
	return do(params)
}

// list answers the calls that list the session's commands, models and permissions.
func (h *handler) list(r *jsonrpc.Request) (any, error) {
	opened, err := h.opened()
	if err != nil {
		return nil, err
	}
	policy := opened.Agent.Policy()
	switch {
	case r.Method == methodPrompts:
		list, notes := opened.Commands().Prompts()
		return prompts{list, notes}, nil
	case policy == nil:
		return rules{}, nil
	case r.Method == methodRules:
		return rules{policy.Rules()}, nil
	}
	return call(r, func(p forgetting) (any, error) {
		policy.Forget(p.Key)
		return done{true}, nil
	})
}

func (h *handler) submit(ctx context.Context, p submission, more ...settle.InputOption) (any, error) {
	options := append(more,
		settle.WithID(p.Input), settle.WithMode(p.Mode), settle.WithImages(p.Images...),
		settle.WithDocuments(p.Documents...), settle.WithSchema(p.Schema), settle.From(p.By),
	)
	if p.Command {
		options = append(options, settle.AsCommand())
	}
	turn, err := h.session.Submit(ctx, p.Text, options...)
	if err != nil {
		return nil, err
	}
	if o, err := h.opened(); err == nil {
		o.KeepStarted()
	}
	return receipt{turn.Input(), turn.Seq()}, nil
}

// failure converts an error for the client.
func failure(err error) error {
	if cause, ok := errors.AsType[*event.Cause](err); ok {
		if data, err := json.Marshal(cause); err == nil {
			return &jsonrpc.Error{Code: codeEnded, Message: cause.Error(), Data: data}
		}
	}
	late := (*settle.AnsweredError)(nil)
	if !errors.As(err, &late) {
		return err
	}
	data, _ := json.Marshal(verdict{Approval: late.Approval, Verdict: late.Verdict, By: late.By}) // strings
	return &jsonrpc.Error{Code: codeAnswered, Message: err.Error(), Data: data}
}

// refusal converts an error of the host for the caller.
func refusal(e *jsonrpc.Error) error {
	var late struct {
		Approval string
		Verdict  event.Verdict
		By       string
	}
	cause := new(event.Cause)
	switch {
	case e.Code == codeEnded && json.Unmarshal(e.Data, cause) == nil:
		return cause
	case e.Code == codeAnswered && json.Unmarshal(e.Data, &late) == nil:
		return &settle.AnsweredError{Approval: late.Approval, Verdict: late.Verdict, By: late.By}
	}
	return errors.New(e.Message)
}
