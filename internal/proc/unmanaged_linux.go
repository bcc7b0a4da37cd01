package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// unmanaged are the children of this process that are not in its custody
// (C23): those that a script had started before it became this program, and
// what released commands leave to us when their warden is killed.
type unmanagedChildren struct {
	// possible says that orphans may be somebody else's: this process had children
	// when it became a reaper, or is the first process of a container.
	possible bool
	// known are those that were seen, and released the commands that were.
	known    map[node]bool
	released []releasedCommand
}

// released is a command that is not ours any more.
type releasedCommand struct {
	marker string
	warden int
}

// meetStrangers notes the children that there are and were not started here.
// Whoever calls it holds births.
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

// add notes a process, and forgets those that are gone.
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

// release gives the processes of a command away for good.
func (s *unmanagedChildren) release(r releasedCommand) {
	s.released = append(s.released, r)
	for _, n := range descendants(r.warden) {
		s.add(n)
	}
}

// adopt takes what a released command's warden has left to us when it died
// for a stranger: what carries its mark, or none.
func (s *unmanagedChildren) adopt(r releasedCommand, orphans []node) {
	for _, n := range orphans {
		if marker, carries := markerOf(n.pid); !carries || marker == r.marker {
			s.add(n)
		}
	}
	kept := s.released[:0]
	for _, other := range s.released {
		if other != r {
			kept = append(kept, other)
		}
	}
	s.released = kept
}

// owns reports whether an orphan is what the warden of the command with the
// marker has left. Where strangers come, it has to be proved: by the marker, or
// by the session, which is the warden's and cannot be joined from outside.
func (s *unmanagedChildren) owns(n node, marker string, warden int) bool {
	value, carries := markerOf(n.pid)
	switch {
	case s.known[n.identity()]:
		return false
	case s.possible:
		return carries && value == marker || n.session == warden
	}
	for _, r := range s.released {
		if carries && value == r.marker || n.session == r.warden {
			return false
		}
	}
	return true
}

// releaseCommand notes that a command was released; the returned function is
// called when its warden is gone.
func releaseCommand(marker string, warden int) (gone func()) {
	r := releasedCommand{marker, warden}
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

// strays returns the orphans that a dead warden has left, with what descends
// from them.
func orphansOf(marker string, warden int) []node {
	all := orphans()
	host.mu.Lock()
	defer host.mu.Unlock()
	var found []node
	for _, n := range all {
		if host.unmanaged.owns(n, marker, warden) {
			found = append(append(found, n), descendants(n.pid)...)
		}
	}
	return found
}

// becomeSubreaper sets the kernel's flag. Children that there are before that
// are strangers, and so are those whose parents die meanwhile.
func becomeSubreaper() error {
	host.births.Lock()
	defer host.births.Unlock()
	recordUnmanaged()
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}
