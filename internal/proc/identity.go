package proc

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strconv"

	"github.com/settle-agent/settle/event"
)

// Presence says what has become of a process that is known by its identity.
type Presence string

// What may have become of it.
const (
	Present Presence = "present" // it is the process with that id
	Gone    Presence = "gone"
	// Unknown: it runs, or ran, on another machine, before the last boot, or in
	// another container; or the system cannot say.
	Unknown Presence = "unknown"
)

// Self returns this process's identity, or nil where the system cannot say.
func Self() *event.Identity { return Identify(os.Getpid()) }

// Identify returns the identity of a process that is there, or nil. Only who
// knows by other means that the number is that process's may use it.
func Identify(pid int) *event.Identity {
	id := &event.Identity{PID: pid}
	started, ok := startOf(pid)
	if id.Started = started; !ok {
		return nil
	}
	if id.Boot, id.Namespace = bootOf(), namespace(); id.Boot == "" {
		return nil
	}
	return id
}

// Place stands in names for the boot and the container of a process.
func Place(id *event.Identity) string {
	if id == nil {
		return "0"
	}
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, id.Boot+id.Namespace) // a hash takes everything
	return strconv.FormatUint(uint64(sum.Sum32()), 36)
}

// Find says what has become of a process.
func Find(id *event.Identity) Presence {
	if id == nil || id.PID <= 0 || id.Boot == "" || id.Boot != bootOf() || id.Namespace != namespace() {
		return Unknown
	}
	if started, ok := startOf(id.PID); !ok || started != id.Started {
		return Gone
	}
	return Present
}

// Signal sends a signal to the process, and to no other that was given its
// number (C23).
func Signal(id *event.Identity, sig os.Signal) error {
	if found := Find(id); found != Present {
		return fmt.Errorf("cannot signal a process that is %s", found)
	}
	p, err := os.FindProcess(id.PID) // holds on to the process where the system can
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	if found := Find(id); found != Present {
		return os.ErrProcessDone
	}
	return p.Signal(sig)
}
