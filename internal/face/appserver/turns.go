package appserver

import (
	"context"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/jsonrpc"
)

// turnStart sends an input. While a turn runs it joins that turn, as in Codex;
// one that is being interrupted it does not.
func (s *Server) turnStart(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p startTurn
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	l, err := s.loaded(p.ThreadID)
	if err != nil {
		return nil, err
	}
	dir := l.opened.Spec.Dir
	if p.Cwd != "" && toolview.Absolute(dir, p.Cwd) != dir {
		return nil, invalid("thread %s works in %q and cannot go to %q: start another thread there", p.ThreadID, dir, p.Cwd)
	}
	text, images, err := read(p.Input, dir)
	if err != nil {
		return nil, err
	}
	if err := l.change(ctx, p); err != nil {
		return nil, err
	}
	o := []settle.InputOption{settle.WithImages(images...)}
	if isGiven(p.OutputSchema) {
		o = append(o, settle.WithSchema(p.OutputSchema))
	}
	from := sender{r, started}
	if t := l.running(); t != nil && t.Interrupt == nil {
		return nil, l.steer(ctx, t, from, p.ClientID, text, o...)
	}
	_, err = l.submit(ctx, from, p.ClientID, text, o...)
	return nil, err
}

func (s *Server) turnSteer(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p steerTurn
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	l, err := s.loaded(p.ThreadID)
	if err != nil {
		return nil, err
	}
	t := l.running()
	switch {
	case t == nil || t.Interrupt != nil:
		return nil, invalid("no active turn to steer")
	case t.ID != p.ExpectedTurnID:
		return nil, invalid("expected active turn id %s but found %s", p.ExpectedTurnID, t.ID)
	}
	text, images, err := read(p.Input, l.opened.Spec.Dir)
	if err != nil {
		return nil, err
	}
	return nil, l.steer(ctx, t, sender{r, steered}, p.ClientID, text, settle.WithImages(images...))
}

// turnInterrupt ends the turn that runs; without an id, whichever it is.
func (s *Server) turnInterrupt(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p interruptTurn
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	l, err := s.loaded(p.ThreadID)
	if err != nil {
		return nil, err
	}
	t := l.running()
	switch {
	case t == nil && p.TurnID == "" && l.starts.Len() > 0:
		l.interrupt(r, "")
		return nil, nil //nolint:nilnil // as below
	case t == nil:
		return nil, invalid("no active turn to interrupt")
	case p.TurnID != "" && t.ID != p.TurnID:
		return nil, invalid("expected active turn id %s but found %s", p.TurnID, t.ID)
	}
	l.interrupt(r, t.ID)
	return nil, nil //nolint:nilnil // it is answered when that is recorded
}
