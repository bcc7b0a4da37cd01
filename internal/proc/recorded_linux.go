package proc

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

// Processes returns the processes that provably belong to the command, and the processes with
// its marker.
func (r RecordedCommand) Processes() []event.Process {
	return describe(append(r.tree(), r.strays()...), noReason)
}

// End ends a command that another program manages, which then records the end. C23: it signals
// the supervisor, the command and their descendants. Processes that only have the marker are
// returned in left. Without a process to signal it returns [ErrNotFound].
func (r RecordedCommand) End(ctx context.Context, grace time.Duration) (ended, left []event.Process, err error) {
	found := r.tree()
	if len(found) == 0 {
		return nil, nil, ErrNotFound
	}
	ended = describe(found, noReason)
	session := r.session()
	if Signal(r.Keeper, unix.SIGTERM) == nil { // the supervisor ends the command and reports the request
		_ = Signal(r.Keeper, unix.SIGCONT)
		r.awaitKeeper(ctx, grace+stuckTimeout)
	}
	_, left = endAll(func() []node { return withoutAncestors(append(r.tree(), r.members(session)...)) }, grace)
	left = append(left, describe(r.strays(), func(n node) string {
		return fmt.Sprintf(
			"it has the command's mark, which does not prove that it is the command's; if you know that it is, end it with \"kill %d\"",
			n.pid,
		)
	})...)
	if len(left) > 0 {
		return ended, left, fmt.Errorf("cannot end process %d (%s): %s", left[0].PID, left[0].Command, left[0].Why)
	}
	return ended, nil, nil
}

// tree returns the processes that provably belong to the command: the descendants of its
// supervisor, or, without a supervisor, the command, its descendants and its session.
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

// session returns the session that the command provably leads, or 0.
func (r RecordedCommand) session() int {
	if Find(r.Process) != Present {
		return 0
	}
	if command, ok := readProcess(r.Process.PID); ok && command.started == r.Process.Started &&
		command.session == command.pid {
		return command.session
	}
	return 0
}

// members returns the processes of a session that provably was the command's. The session
// remains the command's after its leader has ended: the kernel does not reuse the number while
// the session has a member.
func (r RecordedCommand) members(session int) []node {
	if session == 0 {
		return nil
	}
	var found []node
	for _, n := range allProcesses() {
		switch {
		case n.pid == session && n.started != r.Process.Started:
			return nil // the number was reused
		case n.session == session:
			found = append(found, n)
		}
	}
	return found
}

// strays have the marker and are not in the tree.
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

// withoutAncestors returns the living processes, each once, without this process and its
// ancestors.
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

// awaitKeeper waits until the processes have ended, at most limit.
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

// identityOf returns the identity of a process of the command; nil if that is unproven, because
// the number can have been reused.
func (k *supervisedProcess) identityOf(pid int) *event.Identity {
	id := Identify(pid)
	for _, n := range descendants(k.cmd.Process.Pid) { // not reaped before its supervisor is done
		if id != nil && n.pid == pid && n.started == id.Started {
			return id
		}
	}
	return nil
}

func (k *supervisedProcess) keeper() *event.Identity { return Identify(k.cmd.Process.Pid) }
