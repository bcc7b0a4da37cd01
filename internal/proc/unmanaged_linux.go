package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// unmanagedChildren are the children of this process that settle does not manage (C23): children
// of a script that became this program, and processes of released commands whose supervisor was
// killed.
type unmanagedChildren struct {
	// possible reports whether orphans can be unmanaged: this process had children when it
	// became a reaper, or it is the first process of a container.
	possible bool
	// known are the recorded unmanaged processes, and released the released commands.
	known    map[node]bool
	released []releasedCommand
}

// releasedCommand is a command that settle no longer manages.
type releasedCommand struct {
	marker     string
	supervisor int
}

// recordUnmanaged records the children that this package did not start. The caller holds births.
func recordUnmanaged() {
	host.mu.Lock()
	defer host.mu.Unlock()
	host.unmanaged = unmanagedChildren{possible: os.Getpid() == 1}
	for _, pid := range children(os.Getpid()) {
		if n, ok := readProcess(pid); ok && !host.children[pid] {
			host.unmanaged.possible = true
			host.unmanaged.add(n)
		}
	}
}

// add records a process and forgets the ones that have ended.
func (s *unmanagedChildren) add(n node) {
	for old := range s.known {
		if now, ok := readProcess(old.pid); !ok || now.started != old.started {
			delete(s.known, old)
		}
	}
	if s.known == nil {
		s.known = make(map[node]bool)
	}
	s.known[n.identity()] = true
}

// release makes the processes of a command unmanaged for good.
func (s *unmanagedChildren) release(r releasedCommand) {
	s.released = append(s.released, r)
	for _, n := range descendants(r.supervisor) {
		s.add(n)
	}
}

// adopt records the orphans of a released command whose supervisor was killed: the processes
// with its marker, or without any.
func (s *unmanagedChildren) adopt(r releasedCommand, orphans []node) {
	for _, n := range orphans {
		if marker, carries := markerOf(n.pid); !carries || marker == r.marker {
			s.add(n)
		}
	}
	kept := s.released[:0]
	for _, command := range s.released {
		if command != r {
			kept = append(kept, command)
		}
	}
	s.released = kept
}

// owns reports whether an orphan belongs to the command with the marker. If orphans can be
// unmanaged, proof is necessary: the marker, or the supervisor's session, which no outside
// process can join.
func (s *unmanagedChildren) owns(n node, marker string, supervisor int) bool {
	value, carries := markerOf(n.pid)
	switch {
	case s.known[n.identity()]:
		return false
	case s.possible:
		return carries && value == marker || n.session == supervisor
	}
	for _, r := range s.released {
		if carries && value == r.marker || n.session == r.supervisor {
			return false
		}
	}
	return true
}

// releaseCommand records a released command. The caller calls the result when the supervisor has
// ended.
func releaseCommand(marker string, supervisor int) (untrack func()) {
	r := releasedCommand{marker, supervisor}
	host.mu.Lock()
	defer host.mu.Unlock()
	host.unmanaged.release(r)
	return func() {
		left := orphans()
		host.mu.Lock()
		defer host.mu.Unlock()
		host.unmanaged.adopt(r, left)
	}
}

// orphansOf returns the orphans of a dead supervisor and their descendants.
func orphansOf(marker string, supervisor int) []node {
	all := orphans()
	host.mu.Lock()
	defer host.mu.Unlock()
	var found []node
	for _, n := range all {
		if host.unmanaged.owns(n, marker, supervisor) {
			found = append(append(found, n), descendants(n.pid)...)
		}
	}
	return found
}

// becomeSubreaper sets the kernel's flag. Existing children are unmanaged, and so are the
// children of parents that die meanwhile.
func becomeSubreaper() error {
	host.births.Lock()
	defer host.births.Unlock()
	recordUnmanaged()
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}
