//go:build !linux

package proc

import (
	"context"
	"time"

	"github.com/settle-agent/settle/event"
)

// Processes finds nothing here: the processes of others cannot be told apart.
func (RecordedCommand) Processes() []event.Process { return nil }

// End finds nothing here.
func (RecordedCommand) End(context.Context, time.Duration) (ended, left []event.Process, err error) {
	return nil, nil, ErrNotFound
}
