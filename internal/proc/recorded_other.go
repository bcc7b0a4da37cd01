//go:build !linux

package proc

import (
	"context"
	"time"

	"github.com/settle-agent/settle/event"
)

// Processes returns nothing: this system cannot identify processes of other programs.
func (RecordedCommand) Processes() []event.Process { return nil }

// End always returns [ErrNotFound].
func (RecordedCommand) End(context.Context, time.Duration) (ended, left []event.Process, err error) {
	return nil, nil, ErrNotFound
}
