package proc

import (
	"errors"

	"github.com/settle-agent/settle/event"
)

// ErrUnseen says that a mark leads to no process: there is none any more, it
// cleared its environment, or this system does not show other processes'.
var ErrUnseen = errors.New("no process is found by its mark")

// Outsider is a process of a command that another program has custody of.
type Outsider struct {
	event.Process
	// Warden is the process that keeps it, or 0.
	Warden int
}
