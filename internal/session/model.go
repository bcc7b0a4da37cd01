package session

import (
	"context"

	"github.com/settle-agent/settle/model"
)

// SetModel has the next turns ask another model; one that runs is left alone.
func (s *Session) SetModel(ctx context.Context, m model.Config) error {
	return s.do(ctx, func() { s.config.Turn.Model = m })
}
