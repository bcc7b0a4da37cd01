package session

import (
	"context"
	"slices"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

// SetModel has the next turns ask another model; one that runs is left alone.
func (s *Session) SetModel(ctx context.Context, m model.Config) error {
	return s.do(ctx, func() { s.config.Turn.Model = m })
}

// SetTools has the next turns offer tools instead of those that are named; one that
// runs is left alone.
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
