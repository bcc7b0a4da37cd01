package proc

import (
	"errors"

	"github.com/settle-agent/settle/event"
)

// ErrUnseen says that nothing is proved to be the command: it is gone, runs in
// another container, or this system does not tell processes apart.
var ErrNotFound = errors.New("no process is proved to be the command")

// Recorded is a command that another program has or had custody of, as that one
// recorded it.
type RecordedCommand struct {
	Process, Keeper *event.Identity
	// Mark is in the environment of its processes: to show them by, since an
	// environment can be copied.
	Mark string
}
