package proc

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

// Marked names the processes of the command with the mark, whoever started it:
// those that carry the mark, and what else their warden keeps.
func Marked(mark string) []Outsider {
	var list []Outsider
	nodes := kept(mark)
	for i, p := range describe(nodes, noReason) {
		warden, _ := wardenOf(nodes[i])
		list = append(list, Outsider{p, warden.pid})
	}
	return list
}

// EndMarked ends the command with the mark although another program keeps it,
// which then records the end. A number that was given to another process since
// is not signalled: a process is known by its mark and by when it started. It
// returns what it ended and what could not be ended, or [ErrUnseen].
func EndMarked(ctx context.Context, mark string, grace time.Duration) (ended, left []event.Process, err error) {
	found := kept(mark)
	if len(found) == 0 {
		return nil, nil, ErrUnseen
	}
	ended = describe(found, noReason)
	if askWardens(found) {
		awaitWardens(ctx, mark, grace+stuckTimeout)
	}
	_, left = endAll(func() []node { return kept(mark) }, grace)
	if len(left) > 0 {
		return nil, left, fmt.Errorf("cannot end process %d (%s): %s", left[0].PID, left[0].Command, left[0].Why)
	}
	return ended, nil, nil
}

// kept finds the living processes of a command.
func kept(mark string) []node {
	own := ancestors()
	known := make(map[node]bool)
	var found []node
	add := func(nodes []node) {
		for _, n := range living(nodes) {
			if id := n.identity(); !known[id] && !own[n.pid] {
				known[id] = true
				found = append(found, n)
			}
		}
	}
	wardens := make(map[int]bool)
	for _, n := range marked(func(value string) bool { return value == mark }) {
		add([]node{n})
		if w, ok := wardenOf(n); ok && !wardens[w.pid] {
			wardens[w.pid] = true
			add(descendants(w.pid))
		}
	}
	return found
}

// wardenOf finds the warden above a process, whose environment is scrubbed.
func wardenOf(n node) (node, bool) {
	for seen := 0; n.parent > 1 && seen < 1000; seen++ {
		parent, ok := look(n.parent)
		if !ok {
			return node{}, false
		}
		name, err := os.ReadFile("/proc/" + strconv.Itoa(parent.pid) + "/comm")
		if err == nil && strings.TrimSpace(string(name)) == wardenName {
			if _, carries := markerOf(parent.pid); !carries {
				return parent, true
			}
		}
		n = parent
	}
	return node{}, false
}

// askWardens has those who keep the processes end them, so that the end is
// recorded as one that was asked for.
func askWardens(nodes []node) (asked bool) {
	done := make(map[int]bool)
	for _, n := range nodes {
		if w, ok := wardenOf(n); ok && !done[w.pid] {
			done[w.pid] = true
			asked = kill(w, unix.SIGTERM) == nil || asked
		}
	}
	return asked
}

// awaitWardens waits until the processes are gone, but not for long.
func awaitWardens(ctx context.Context, mark string, limit time.Duration) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollDelay)
	defer tick.Stop()
	for len(kept(mark)) > 0 {
		select {
		case <-tick.C:
		case <-limited.Done():
			return
		}
	}
}
