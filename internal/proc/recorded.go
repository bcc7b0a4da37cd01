package proc

import (
	"errors"

	"github.com/settle-agent/settle/event"
)

// ErrNotFound reports that no process provably is the command: the command has ended, runs in
// another container, or the system cannot identify processes.
var ErrNotFound = errors.New("no process is proved to be the command")

// RecordedCommand is a command of another program, as that program recorded it.
type RecordedCommand struct {
	Process, Keeper *event.Identity
	// Mark is in the environment of its processes. It serves to list them, not as a proof,
	// because environments can be copied.
	Mark string
}
