package proc

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
)

// host is the state of the whole process: the kernel has one table of children and one subreaper
// flag for it.
var host struct {
	// supervised reports whether main called RunAsSupervisor: only then does this binary act as
	// a supervisor when it is executed again.
	supervised atomic.Bool
	// reaper reports whether orphans become children of this process.
	reaper atomic.Bool
	// awake reports whether supervisors wake this process; paused suspends that.
	awake, paused atomic.Bool
	// starts is read-locked while a supervisor starts its command. A writer therefore reaches
	// every existing supervisor.
	starts sync.RWMutex
	// children are the children that this package started. A start holds births for reading, so
	// that a writer sees no unlisted child.
	births   sync.RWMutex
	mu       sync.Mutex
	children map[int]bool
	// standalone are the children that are further processes of this program, which can stay
	// stopped.
	standalone map[int]bool
	keepers    map[pausable]bool // receive pauses
	// unmanaged are the other children.
	unmanaged unmanagedChildren
	// writable are the folders that commands can change.
	writable writableFolders
	// shadows are folders of PATH without the programs that commands can change.
	shadows shadowFolders
}

// pausable is notified when this process stops on purpose, and when it continues.
type pausable interface{ reportPaused() }

// spawn runs fork, which starts a child and returns its pid, and records the child.
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

// spawnStandalone is spawn for a further process of this program.
func spawnStandalone(fork func() (int, error)) error {
	return spawn(func() (int, error) {
		pid, err := fork()
		if err != nil {
			return 0, err
		}
		host.mu.Lock()
		defer host.mu.Unlock()
		if host.standalone == nil {
			host.standalone = make(map[int]bool)
		}
		host.standalone[pid] = true
		return pid, nil
	})
}

// forget removes a child that was reaped.
func forget(pid int) {
	host.mu.Lock()
	defer host.mu.Unlock()
	delete(host.children, pid)
	delete(host.standalone, pid)
}

// withMarker returns the environment with the marker of one command. The marker is valid for
// this boot and this container only, because environments are copied into files that unrelated
// processes read.
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
