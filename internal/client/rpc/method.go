package rpc

import (
	"cmp"
	"context"
	"errors"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/internal/scope"
)

// Method serves a request: it answers it, now or later, or returns an error.
type Method func(ctx context.Context, r *jsonrpc.Request) error

// Of is a method that returns its answer.
func Of[P any](answer func(context.Context, P) (any, error)) Method {
	return Later(func(ctx context.Context, r *jsonrpc.Request, params P) error {
		result, err := answer(ctx, params)
		if err == nil {
			r.Reply(result)
		}
		return err
	})
}

// Later is a method that answers by itself, unless it returns an error.
func Later[P any](serve func(context.Context, *jsonrpc.Request, P) error) Method {
	return func(ctx context.Context, r *jsonrpc.Request) error {
		var params P
		if err := r.Decode(&params); err != nil {
			return err
		}
		return serve(ctx, r, params)
	}
}

// Always is a method that has one answer.
func Always(result any) Method {
	return Of(func(context.Context, struct{}) (any, error) { return result, nil })
}

// Dispatch has a request served by its method: in the lane of the session that it is
// about, or else beside all others.
func (s *Server) Dispatch(ctx context.Context, r *jsonrpc.Request, methods map[string]Method) {
	method := methods[r.Method]
	if method == nil {
		r.Fail(jsonrpc.MethodNotFound(r.Method))
		return
	}
	var about struct {
		Session string `json:"sessionId"`
		Thread  string `json:"threadId"`
	}
	if err := r.Decode(&about); err != nil {
		r.Fail(err)
		return
	}
	begun := s.Lane(cmp.Or(about.Thread, about.Session, "request "+string(r.ID)), func() {
		if err := scope.Guard(func() error { return method(ctx, r) }); err != nil {
			if errors.As(err, new(*scope.PanicError)) {
				scope.LogPanic(s.Logger, nil, "a request panicked", err, "method", r.Method)
			}
			r.Fail(s.Refusal(ctx, err))
		}
	})
	if !begun {
		r.Fail(settle.ErrClosed)
	}
}

// Lane runs work after all that was put into the lane before. It reports false
// where nothing more begins.
func (s *Server) Lane(name string, work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	waiting, busy := s.lanes[name]
	s.lanes[name] = append(waiting, work)
	if !busy {
		s.work.Go(scope.Shield(s.Panicked, func() { s.run(name) })) // ends when the lane is empty; drain waits for it
	}
	return true
}

func (s *Server) run(name string) {
	for {
		s.mu.Lock()
		waiting := s.lanes[name]
		if len(waiting) == 0 {
			delete(s.lanes, name)
			s.mu.Unlock()
			return
		}
		s.lanes[name] = waiting[1:]
		s.mu.Unlock()
		scope.Shield(s.Panicked, waiting[0])()
	}
}
