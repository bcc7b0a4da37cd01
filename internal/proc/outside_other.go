//go:build !linux

package proc

import (
	"context"
	"time"

	"github.com/settle-agent/settle/event"
)

// Processes finds nothing here: the processes of others cannot be told apart.
func (Recorded) Processes() []event.Process { return nil }

// End finds nothing here.
func (Recorded) End(context.Context, time.Duration) (ended, left []event.Process, err error) {
	return nil, nil, ErrUnseen
}
