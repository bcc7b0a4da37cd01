package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/hostsocket"
)

// taking is the procedure to get the lock of a held session:
//
//	held by a living host ─► refused, or (Take) asked to release the session
//	   ├─ no release, and provably the host, and it has no other session:
//	   │     TERM ─► TakeGrace ─► KILL ─► TakeTimeout: refused
//	   └─ otherwise: refused, with advice
//	held by surviving supervisors ─► wait ─► ReleaseTimeout: refused
type taking struct {
	options   Options
	path      string
	began     time.Time
	requested *event.Identity // the host that was asked to release the session
	ending    *event.Identity // the host that received TERM
	since     time.Time       // time of the TERM
	killed    bool
}

// push does the next step. It returns an error if no step is left.
func (t *taking) push(ctx context.Context, f *os.File) error {
	if onlyAsks, err := disk.TryShare(f); onlyAsks && err == nil {
		return nil // a process tests the lock, as this one does now
	}
	h := findHolder(f, t.path)
	held := &HeldError{Session: t.options.Session, PID: h.pid, Stopped: h.pid != 0 && IsStopped(h.pid)}
	if h.remote {
		held.RemotePID = h.process.PID
	}
	waited := time.Since(t.began)
	switch {
	case h.pid == 0 && !h.remote:
		return t.awaitSurvivors(h, held, waited)
	case !t.options.Take:
		held.Attachable = !held.Stopped && !h.embeds && hostsocket.Exists(t.options.Dir, h.recorded)
		return held
	case h.pid == os.Getpid():
		held.Why = "this process holds it itself"
	case waited > t.options.TakeTimeout:
		held.Why = fmt.Sprintf("it has not let go for %v", t.options.TakeTimeout)
	case h.recorded != nil && !isSame(t.requested, h.recorded) && !held.Stopped:
		t.requested = h.recorded
		return t.ask(ctx, held)
	default:
		return t.end(h, held)
	}
	return held
}

// ask asks the host to release only this session, and waits. A host that does not answer must be
// ended.
func (t *taking) ask(ctx context.Context, held *HeldError) error {
	ctx, cancel := context.WithTimeout(ctx, t.options.TakeGrace)
	defer cancel()
	err := hostsocket.RequestRelease(ctx, t.options.Dir, t.requested, t.options.Session)
	if refused := (*hostsocket.RefusedError)(nil); errors.As(err, &refused) {
		held.Why = refused.Error()
		return held
	}
	return nil // released, or the next attempt finds the result
}

// end ends the host. C23: only a process that provably is the host, and only if it holds no
// other session.
func (t *taking) end(h holder, held *HeldError) error {
	switch {
	case h.remote:
		held.Why = "it does not answer, and runs in another container or on another machine: end it there"
		return held
	case h.process == nil:
		held.Why = fmt.Sprintf(
			"it cannot be proved that pid %d is the settle that holds it, and nothing was signalled; if you know that it is, end it with \"kill %[1]d\"",
			h.pid,
		)
		return held
	}
	if h.embeds {
		held.Why = fmt.Sprintf(
			"it is a program that embeds settle, and nothing was signalled; close the session there, or end it with \"kill %d\"",
			h.pid,
		)
		return held
	}
	if !isSame(t.ending, h.process) {
		if others := sessionsOf(h.process, t.options); len(others) > 0 {
			held.Why = fmt.Sprintf(
				"it does not answer, and would end with %s; nothing was signalled; let it go on, or end it with \"kill %d\"",
				strings.Join(others, ", "),
				h.pid,
			)
			return held
		}
		t.ending, t.since, t.killed = h.process, time.Now(), false
		return t.signal(held, askToEnd)
	}
	if time.Since(t.since) > t.options.TakeGrace && !t.killed {
		t.killed = true
		return t.signal(held, forceToEnd)
	}
	return nil
}

// signal sends the signal. A host that has ended already is no error.
func (t *taking) signal(held *HeldError, send func(*event.Identity) error) error {
	if err := send(t.ending); err != nil && isAlive(held.PID) {
		held.Why = fmt.Sprintf("cannot signal it: %v", err)
		return held
	}
	return nil
}

func isSame(a, b *event.Identity) bool { return a != nil && b != nil && *a == *b }

// sessionsOf names the other sessions that the process holds.
func sessionsOf(p *event.Identity, o Options) (names []string) {
	const limit = 3
	list, err := List(o.Dir)
	if err != nil {
		return nil
	}
	for _, e := range list {
		if e.Session == o.Session {
			continue
		}
		if free, err := Free(o.Dir, e.Session); free || err != nil {
			continue
		}
		if opened := lastOpened(e.Path); opened == nil || !isSame(opened.Process, p) {
			continue
		}
		if len(names) == limit {
			return append(names, "others")
		}
		names = append(names, fmt.Sprintf("session %q", e.Session))
	}
	return names
}

// awaitSurvivors waits for surviving supervisors, which end by themselves.
func (t *taking) awaitSurvivors(h holder, held *HeldError, waited time.Duration) error {
	if waited <= t.options.ReleaseTimeout {
		return nil
	}
	if len(h.survivors) > 0 {
		held.PID, held.Host = h.survivors[0], h.dead
		held.Stopped = IsStopped(held.PID)
	}
	held.Why = fmt.Sprintf("it has not let go for %v; wait, or end it", t.options.ReleaseTimeout)
	return held
}
