package proc

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
)

// host is what is true of this process as a whole: the kernel has one table
// of children and one subreaper flag for it, whoever looks.
var host struct {
	// supervised says that main began with RunAsSupervisor, so that this binary,
	// executed anew, becomes a warden and not a second settle.
	supervised atomic.Bool
	// reaper says that orphans come to this process.
	reaper atomic.Bool
	// awake says that wardens wake this process, paused that they do not now.
	awake, paused atomic.Bool
	// starts is held for reading while a warden starts its command, so that
	// whoever holds it for writing tells every warden there is.
	starts sync.RWMutex
	// children are the children that were started here. Starting one holds
	// births for reading, so that whoever holds it for writing sees no child
	// that is not yet listed.
	births   sync.RWMutex
	mu       sync.Mutex
	children map[int]bool
	keepers  map[pausable]bool // those that hear of pauses
	// unmanaged are the children that were not.
	unmanaged unmanagedChildren
	// writable are the folders that commands can change.
	writable writableFolders
}

// pausable hears that this process is stopped on purpose, or goes on.
type pausable interface{ reportPaused() }

// spawn runs fork, which starts a child and returns its pid, and lists it.
func spawn(fork func() (int, error)) error {
	host.births.RLock()
	defer host.births.RUnlock()
	pid, err := fork()
	if err != nil {
		return err
	}
	host.mu.Lock()
	defer host.mu.Unlock()
	if host.children == nil {
		host.children = make(map[int]bool)
	}
	host.children[pid] = true
	return nil
}

// forget is called when a child has been reaped.
func forget(pid int) {
	host.mu.Lock()
	defer host.mu.Unlock()
	delete(host.children, pid)
}

// mark returns the environment with the marker of one command. It holds for
// this boot and this container alone: environments are copied into files, and
// read from there by processes that are nobody's.
func withMarker(env []string, marker string) (marked []string, full string) {
	full = marker + "/" + rand.Text() + "." + Place(Self())
	marked = make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !isMarker(entry) {
			marked = append(marked, entry)
		}
	}
	return append(marked, MarkerName+"="+full), full
}

func isMarker(entry string) bool {
	return len(entry) > len(MarkerName) && entry[:len(MarkerName)+1] == MarkerName+"="
}
