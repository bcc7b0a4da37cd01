package proc

import (
	"time"

	"github.com/settle-agent/settle/event"
)

const (
	// killDelay is the pause between two reads of /proc after KILL.
	killDelay = 2 * time.Millisecond
	// killTimeout is the time after which a killed process counts as hanging in the kernel.
	killTimeout = time.Second
	// terminationTimeout bounds the termination of a tree that forks continuously.
	terminationTimeout = 10 * time.Second
)

type terminationState string

const (
	idle        terminationState = "idle"
	terminating terminationState = "terminating"
	killing     terminationState = "killing"
	gaveUp      terminationState = "gave up"
)

// termination ends a process tree: TERM, grace, KILL until no process is left. It does not wait
// itself: its owner calls step after each wait and after each death of a process.
//
//	idle ─ begin → terminating ─ grace is over → killing ─ only what cannot be ended → gave up
type termination struct {
	tree func() []node // the processes to end, read again at each step

	at       terminationState
	deadline time.Time // of the grace
	began    time.Time // of the killing
	hit      map[node]time.Time
	left     []event.Process // set when it gave up
}

// begin starts the termination. A second call can only shorten the deadline.
func (l *termination) begin(now time.Time, grace time.Duration) {
	deadline := now.Add(grace)
	switch l.at {
	case idle:
		l.at, l.deadline = terminating, deadline
		if grace > 0 {
			terminate(withoutZombies(l.tree()))
		}
	case terminating:
		if deadline.Before(l.deadline) {
			l.deadline = deadline
		}
	}
}

// step takes the next due step and returns the time until the following one; 0 for never.
func (l *termination) step(now time.Time) time.Duration {
	if l.at == terminating {
		if wait := l.deadline.Sub(now); wait > 0 {
			return wait
		}
		l.at, l.began, l.hit = killing, now, make(map[node]time.Time)
	}
	if l.at != killing {
		return 0
	}
	left := withoutZombies(l.tree())
	denied := destroy(left)
	if l.cannotEnd(left, denied, now) {
		l.giveUp(left, denied)
		return 0
	}
	return killDelay
}

// cannotEnd reports whether a KILL can end none of the remaining processes.
func (l *termination) cannotEnd(left, denied []node, now time.Time) bool {
	if now.Sub(l.began) > terminationTimeout {
		return true
	}
	if len(left) == 0 {
		return false // all are dead and wait to be reaped
	}
	refused := identitySet(denied)
	for _, n := range left {
		id := n.identity()
		first, seen := l.hit[id]
		if !seen {
			first = now
			l.hit[id] = now
		}
		if !refused[id] && now.Sub(first) < killTimeout {
			return false
		}
	}
	return true
}

func (l *termination) giveUp(left, denied []node) {
	l.at = gaveUp
	refused := identitySet(denied)
	l.left = describe(left, func(n node) string {
		if refused[n.identity()] {
			return "settle may not signal it (it runs as another user)"
		}
		return "it was killed and is not gone (state " + string(n.state) + ")"
	})
}

// identity is the constant part of a node.
func (n node) identity() node { return node{pid: n.pid, started: n.started} }

func identitySet(nodes []node) map[node]bool {
	ids := make(map[node]bool, len(nodes))
	for _, n := range nodes {
		ids[n.identity()] = true
	}
	return ids
}
