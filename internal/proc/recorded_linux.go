package proc

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

// Processes names what runs of the command: what is proved to be its, and what
// carries its mark.
func (r RecordedCommand) Processes() []event.Process {
	return describe(append(r.tree(), r.strays()...), noReason)
}

// End ends the command although another program keeps it, which then records the
// end. C23: it signals the command's keeper, the command, and what descends from
// them; what only carries the mark is named among what is left. With nothing to
// signal it returns [ErrUnseen].
func (r RecordedCommand) End(ctx context.Context, grace time.Duration) (ended, left []event.Process, err error) {
	found := r.tree()
	if len(found) == 0 {
		return nil, nil, ErrNotFound
	}
	ended = describe(found, noReason)
	session := r.session()
	if Signal(r.Keeper, unix.SIGTERM) == nil { // it ends the command, and reports that it was asked to
		_ = Signal(r.Keeper, unix.SIGCONT)
		r.awaitKeeper(ctx, grace+stuckTimeout)
	}
	_, left = endAll(func() []node { return withoutAncestors(append(r.tree(), r.members(session)...)) }, grace)
	left = append(left, describe(r.strays(), func(n node) string {
		return fmt.Sprintf("it has the command's mark, which does not prove that it is the command's; if you know that it is, end it with \"kill %d\"", n.pid)
	})...)
	if len(left) > 0 {
		return ended, left, fmt.Errorf("cannot end process %d (%s): %s", left[0].PID, left[0].Command, left[0].Why)
	}
	return ended, nil, nil
}

// tree is what is proved to be the command's, now: what descends from its
// warden or, where that is gone, from the command, and the command's session.
func (r RecordedCommand) tree() []node {
	switch {
	case Find(r.Keeper) == Present:
		return withoutAncestors(descendants(r.Keeper.PID))
	case Find(r.Process) != Present:
		return nil
	}
	command, ok := readProcess(r.Process.PID)
	if !ok || command.started != r.Process.Started {
		return nil
	}
	found := append([]node{command}, descendants(command.pid)...)
	return withoutAncestors(append(found, r.members(r.session())...))
}

// session is the session that the command leads, while it is proved to lead one;
// 0 otherwise.
func (r RecordedCommand) session() int {
	if Find(r.Process) != Present {
		return 0
	}
	if command, ok := readProcess(r.Process.PID); ok && command.started == r.Process.Started && command.session == command.pid {
		return command.session
	}
	return 0
}

// members are the processes of a session that was proved to be the command's. It
// stays the command's after its leader is gone: the kernel gives the number to
// nobody else while the session has a member.
func (r RecordedCommand) members(session int) []node {
	if session == 0 {
		return nil
	}
	var found []node
	for _, n := range allProcesses() {
		switch {
		case n.pid == session && n.started != r.Process.Started:
			return nil // the number is another's
		case n.session == session:
			found = append(found, n)
		}
	}
	return found
}

// strays carry the mark and are not in the tree.
func (r RecordedCommand) strays() []node {
	if r.Mark == "" {
		return nil
	}
	proved := identitySet(r.tree())
	var found []node
	for _, n := range withoutAncestors(marked(func(value string) bool { return value == r.Mark })) {
		if !proved[n.identity()] {
			found = append(found, n)
		}
	}
	return found
}

// others are the living processes, each once, without this one and those above.
func withoutAncestors(nodes []node) []node {
	own, known := ancestors(), make(map[node]bool)
	var found []node
	for _, n := range withoutZombies(nodes) {
		if id := n.identity(); !known[id] && !own[n.pid] {
			known[id] = true
			found = append(found, n)
		}
	}
	return found
}

// awaitKeeper waits until the processes are gone, but not for long.
func (r RecordedCommand) awaitKeeper(ctx context.Context, limit time.Duration) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollDelay)
	defer tick.Stop()
	for len(r.tree()) > 0 {
		select {
		case <-tick.C:
		case <-limited.Done():
			return
		}
	}
}

// identityOf returns the identity of a process of the command, or nil if it is
// not proved to be one: its number was another's meanwhile.
func (k *supervisedProcess) identityOf(pid int) *event.Identity {
	id := Identify(pid)
	for _, n := range descendants(k.cmd.Process.Pid) { // it is not reaped while its keeper is not done
		if id != nil && n.pid == pid && n.started == id.Started {
			return id
		}
	}
	return nil
}

func (k *supervisedProcess) keeper() *event.Identity { return Identify(k.cmd.Process.Pid) }
