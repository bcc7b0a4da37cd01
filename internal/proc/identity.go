package proc

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"strconv"

	"github.com/settle-agent/settle/event"
)

// Presence is the known state of a process with a recorded identity.
type Presence string

// The states.
const (
	Present Presence = "present" // it is the process with that id
	Absent  Presence = "gone"
	// Unknown: the process belongs to another machine, an earlier boot or another container, or
	// the system cannot tell.
	Unknown Presence = "unknown"
)

// Self returns this process's identity, or nil if the system cannot tell.
func Self() *event.Identity { return Identify(os.Getpid()) }

// Identify returns the identity of a living process, or nil. The caller must know by other means
// that the number belongs to that process.
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

// Place identifies the boot and the container of a process in file names.
func Place(id *event.Identity) string {
	if id == nil {
		return "0"
	}
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, id.Boot+id.Namespace) // a hash accepts all writes
	return strconv.FormatUint(uint64(sum.Sum32()), 36)
}

// Find reports the presence of a process.
func Find(id *event.Identity) Presence {
	if id == nil || id.PID <= 0 || id.Boot == "" || id.Boot != bootOf() || id.Namespace != namespace() {
		return Unknown
	}
	if started, ok := startOf(id.PID); !ok || started != id.Started {
		return Absent
	}
	return Present
}

// Signal signals exactly the process with the identity, and no process that reused its number
// (C23).
func Signal(id *event.Identity, sig os.Signal) error {
	if found := Find(id); found != Present {
		return fmt.Errorf("cannot signal a process that is %s", found)
	}
	p, err := os.FindProcess(id.PID) // holds a handle of the process where the system can
	if err != nil {
		return err
	}
	defer func() { _ = p.Release() }()
	if found := Find(id); found != Present {
		return os.ErrProcessDone
	}
	return p.Signal(sig)
}
