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

// BecomeReaper makes orphans of this process's descendants come to it, so
// that the tree of a warden that was killed can be ended (C7). Only a program
// that starts no child but through this package may do that; children that it
// has already, and what they leave, are not touched (C23). The returned function
// undoes it.
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

// orphans reaps the dead children that were not started here, and returns the
// living ones.
func orphans() []node {
	host.births.Lock()
	defer host.births.Unlock()
	var living []node
	for _, pid := range children(os.Getpid()) {
		n, ok := readProcess(pid)
		switch {
		case !ok:
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

// wake lets a warden go on that somebody has stopped, its command perhaps: else
// nobody would hear of the command's end (C8). Whatever else was started here
// may be stopped.
func resume(n node) {
	if n.state == 'T' && host.supervised.Load() {
		_ = unix.Kill(n.pid, unix.SIGCONT)
	}
}

func isOwnChild(pid int) bool {
	host.mu.Lock()
	defer host.mu.Unlock()
	return host.children[pid]
}

// endOrphans ends what a dead warden left: what came to us as orphans, if we
// are their reaper, and what still carries the command's marker. The command
// died with its warden; there is no grace for the rest.
func endOrphans(marker string, warden int) []event.Process {
	_, left := endAll(func() []node {
		found := marked(func(value string) bool { return value == marker })
		if host.reaper.Load() {
			found = append(found, orphansOf(marker, warden)...)
		}
		return found
	}, 0)
	return left
}

// sureLooks is how many times in a row nothing must be found before nothing is
// there: a process that forks and exits while /proc is read is not seen.
const minEmptyReads = 8

// endAll climbs the ladder here and now. It returns every process that it saw,
// and those that could not be ended.
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
		time.Sleep(min(wait, pollDelay)) // nobody tells us when a stranger dies
	}
	return seen, l.left
}

// Sweep ends every process whose environment says that it was started for the
// marker, here and since the last boot, and returns their ids: what is left when
// a host and its wardens were killed together. Commands with the marks in spare,
// which were released, go on. Its processes may have cleared their environment;
// those are not found.
func Sweep(marker string, spare ...string) ([]int, error) {
	if marker == "" {
		return nil, errors.New("cannot sweep processes: the marker is empty")
	}
	own, here := ancestors(), Place(Self())
	meant := func(value string) bool {
		return strings.HasPrefix(value, marker+"/") && strings.HasSuffix(value, "."+here) && !slices.Contains(spare, value)
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

// ancestors are this process and those above it: a settle that runs within
// another's command carries that one's marker.
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

// marked looks through all processes, and again through those that came
// meanwhile: one that forks and exits all the time is always newer than a list
// of processes that is being read.
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

// markerOf reads a process's environment, if we may.
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
