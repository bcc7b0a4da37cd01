package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

// BecomeReaper makes orphans of this process's descendants its children, so that the tree of a
// killed supervisor can be ended (C7). Only a program that starts children solely through this
// package may call it. Existing children and their orphans are left alone (C23). The returned
// function undoes it.
func BecomeReaper() (stop func(), err error) {
	if err := becomeSubreaper(); err != nil {
		return nil, fmt.Errorf("cannot become the reaper of orphans: %w", err)
	}
	host.reaper.Store(true)
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { // ends with stop, which waits for it
		defer close(ended)
		reapOrphans(ctx, died)
	}()
	return func() {
		cancel()
		<-ended
		signal.Stop(died)
		host.reaper.Store(false)
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}, nil
}

func reapOrphans(ctx context.Context, died <-chan os.Signal) {
	for {
		select {
		case <-died:
			orphans()
		case <-ctx.Done():
			return
		}
	}
}

// orphans reaps the dead children that this package did not start, and returns the living ones.
func orphans() []node {
	host.births.Lock()
	defer host.births.Unlock()
	var living []node
	for _, pid := range children(os.Getpid()) {
		n, ok := readProcess(pid)
		switch {
		case !ok:
		case isStandalone(pid):
		case isOwnChild(pid):
			resume(n)
		case n.zombie():
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		default:
			living = append(living, n)
		}
	}
	return living
}

// resume continues a supervisor that was stopped, perhaps by its command: otherwise the end of
// the command would stay unreported (C8). Other children can stay stopped.
func resume(n node) {
	if n.state == 'T' && host.supervised.Load() {
		_ = unix.Kill(n.pid, unix.SIGCONT)
	}
}

func isStandalone(pid int) bool {
	host.mu.Lock()
	defer host.mu.Unlock()
	return host.standalone[pid]
}

func isOwnChild(pid int) bool {
	host.mu.Lock()
	defer host.mu.Unlock()
	return host.children[pid]
}

// endOrphans ends the processes of a dead supervisor: orphans, if this process is their reaper,
// and processes with the command's marker. The command died with its supervisor, so that the
// others get no grace.
func endOrphans(marker string, supervisor int) []event.Process {
	_, left := endAll(func() []node {
		found := marked(func(value string) bool { return value == marker })
		if host.reaper.Load() {
			found = append(found, orphansOf(marker, supervisor)...)
		}
		return found
	}, 0)
	return left
}

// minEmptyReads is the number of consecutive empty reads of /proc that prove that no process is
// left: one read misses a process that forks and exits meanwhile.
const minEmptyReads = 8

// endAll runs a termination to its end. It returns all processes that it saw, and the ones that
// it could not end.
func endAll(tree func() []node, grace time.Duration) (seen []node, left []event.Process) {
	known := make(map[node]bool)
	l := &termination{at: idle}
	l.tree = func() []node {
		nodes := withoutZombies(tree())
		for _, n := range nodes {
			if !known[n.identity()] {
				known[n.identity()] = true
				seen = append(seen, n)
			}
		}
		return nodes
	}
	for empty := 0; empty < minEmptyReads && l.at != gaveUp; {
		if len(l.tree()) == 0 {
			empty++
			time.Sleep(killDelay / 2)
			continue
		}
		empty = 0
		l.begin(time.Now(), grace)
		wait := l.step(time.Now())
		time.Sleep(min(wait, pollDelay)) // no event reports the death of a process that is not a child
	}
	return seen, l.left
}

// Sweep ends every process of this machine and boot whose environment has the marker, and
// returns their pids. It covers a host that was killed together with its supervisors. Released
// commands, whose marks are in spare, continue. Processes with a cleared environment are not
// found.
func Sweep(marker string, spare ...string) ([]int, error) {
	if marker == "" {
		return nil, errors.New("cannot sweep processes: the marker is empty")
	}
	own, here := ancestors(), Place(Self())
	meant := func(value string) bool {
		return strings.HasPrefix(value, marker+"/") && strings.HasSuffix(value, "."+here) &&
			!slices.Contains(spare, value)
	}
	tree := func() []node {
		var found []node
		for _, n := range marked(meant) {
			if !own[n.pid] {
				found = append(found, n)
			}
		}
		return found
	}
	seen, left := endAll(tree, DefaultGrace)
	var swept []int
	for _, n := range seen {
		swept = append(swept, n.pid)
	}
	if len(left) > 0 {
		return swept, fmt.Errorf("cannot end process %d (%s): %s", left[0].PID, left[0].Command, left[0].Why)
	}
	return swept, nil
}

// Marked reports whether a process of this machine and boot lives whose environment has the
// marker.
func Marked(marker string) bool {
	here := Place(Self())
	return marker != "" && len(marked(func(value string) bool {
		return strings.HasPrefix(value, marker+"/") && strings.HasSuffix(value, "."+here)
	})) > 0
}

// ancestors are this process and its ancestors: a settle that runs in another settle's command
// carries the marker of that command.
func ancestors() map[int]bool {
	list := make(map[int]bool)
	for pid := os.Getpid(); pid > 1 && !list[pid]; {
		list[pid] = true
		n, ok := readProcess(pid)
		if !ok {
			break
		}
		pid = n.parent
	}
	return list
}

// marked reads all processes, and again the ones that appeared meanwhile: a process that forks
// and exits continuously is always newer than the list.
func marked(match func(value string) bool) []node {
	const rounds = 20
	var found []node
	looked := make(map[int]bool)
	for range rounds {
		fresh := false
		for _, pid := range allPIDs() {
			if looked[pid] {
				continue
			}
			looked[pid], fresh = true, true
			value, ok := markerOf(pid)
			if !ok || !match(value) {
				continue
			}
			if n, ok := readProcess(pid); ok {
				found = append(found, n)
			}
		}
		if !fresh {
			break
		}
	}
	return found
}

// markerOf reads a process's environment, if the user may.
func markerOf(pid int) (string, bool) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return "", false
	}
	for entry := range bytes.SplitSeq(raw, []byte{0}) {
		if isMarker(string(entry)) {
			return string(entry[len(MarkerName)+1:]), true
		}
	}
	return "", false
}
