package proc

import (
	"time"

	"github.com/settle-agent/settle/event"
)

const (
	// killDelay is the pause between two looks at what is left after KILL.
	killDelay = 2 * time.Millisecond
	// killTimeout is how long a killed process may take to be gone; longer
	// means that it hangs in the kernel.
	killTimeout = time.Second
	// ladderTimeout bounds the killing of a tree that forks all the time.
	terminationTimeout = 10 * time.Second
)

type terminationState string

const (
	idle        terminationState = "idle"
	terminating terminationState = "terminating"
	killing     terminationState = "killing"
	gaveUp      terminationState = "gave up"
)

// ladder ends a tree: TERM, grace, KILL until nothing is left. It waits for
// nothing itself; its owner calls step when the time has come, and whenever a
// process died.
//
//	idle ─ climb → terminating ─ grace is over → killing ─ only what cannot be ended → gave up
type termination struct {
	tree func() []node // what is to be ended, looked up anew each time

	at       terminationState
	deadline time.Time // of the grace
	began    time.Time // of the killing
	hit      map[node]time.Time
	left     []event.Process // set when it gave up
}

// begin starts the ladder. Asked again, the earlier deadline counts.
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

// step does what is due and returns when to come back; 0 for never.
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

// cannotEnd reports whether no process is left that killing could still end.
func (l *termination) cannotEnd(left, denied []node, now time.Time) bool {
	if now.Sub(l.began) > terminationTimeout {
		return true
	}
	if len(left) == 0 {
		return false // they are dead and only wait to be reaped
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

// identity is the part of a node that does not change in its life.
func (n node) identity() node { return node{pid: n.pid, started: n.started} }

func identitySet(nodes []node) map[node]bool {
	ids := make(map[node]bool, len(nodes))
	for _, n := range nodes {
		ids[n.identity()] = true
	}
	return ids
}
