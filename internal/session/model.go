package session

import (
	"context"
	"slices"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

// SetModel sets the model of the next turns. A running turn keeps its model.
func (s *Session) SetModel(ctx context.Context, m model.Config) error {
	return s.do(ctx, func() { s.config.Turn.Model = m })
}

// SetTools replaces the named tools in the next turns. A running turn keeps its tools.
func (s *Session) SetTools(ctx context.Context, instead []string, tools []tool.Tool) error {
	done := make(chan error, 1)
	err := s.do(ctx, func() {
		var list []tool.Tool
		for _, name := range s.config.Turn.Tools.Names() {
			if t, ok := s.config.Turn.Tools.Lookup(name); ok && !slices.Contains(instead, name) {
				list = append(list, t)
			}
		}
		next, err := tool.NewSet(append(list, tools...)...)
		if err == nil {
			s.config.Turn.Tools = next
		}
		done <- err
	})
	if err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-s.done:
		return ErrClosed
	}
}

// Tools returns the tools of the next turns.
func (s *Session) Tools(ctx context.Context) (*tool.Set, error) {
	set := make(chan *tool.Set, 1)
	if err := s.do(ctx, func() { set <- s.config.Turn.Tools }); err != nil {
		return nil, err
	}
	select {
	case tools := <-set:
		return tools, nil
	case <-s.done:
		return nil, ErrClosed
	}
}
