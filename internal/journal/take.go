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

// taking is the way to a lock that somebody holds:
//
//	held by a living host ─► refused, or (Take) asked to release the session
//	   ├─ it does not, and is proved to be the host, and has no other session:
//	   │     TERM ─► TakeGrace ─► KILL ─► TakeTimeout: refused
//	   └─ else: refused, with what to do
//	held by its heirs     ─► wait ─► ReleaseTimeout: refused
type taking struct {
	options Options
	path    string
	began   time.Time
	asked   *event.Identity // the host that was asked to release the session
	ending  *event.Identity // the host that has had its TERM
	since   time.Time       // when it had it
	killed  bool
}

// push does what can be done now. It returns an error when nothing can.
func (t *taking) push(ctx context.Context, f *os.File) error {
	if onlyAsks, err := disk.TryShare(f); onlyAsks && err == nil {
		return nil // somebody looks whether the lock is free, as we do now
	}
	h := findHolder(f, t.path)
	held := &HeldError{Session: t.options.Session, PID: h.pid, Stopped: h.pid != 0 && IsStopped(h.pid)}
	if h.away {
		held.Away = h.process.PID
	}
	waited := time.Since(t.began)
	switch {
	case h.pid == 0 && !h.away:
		return t.awaitHeirs(h, held, waited)
	case !t.options.Take:
		held.Attachable = !held.Stopped && !h.embeds && hostsocket.Exists(t.options.Dir, h.recorded)
		return held
	case h.pid == os.Getpid():
		held.Why = "this process holds it itself"
	case waited > t.options.TakeTimeout:
		held.Why = fmt.Sprintf("it has not let go for %v", t.options.TakeTimeout)
	case h.recorded != nil && !isSame(t.asked, h.recorded) && !held.Stopped:
		t.asked = h.recorded
		return t.ask(ctx, held)
	default:
		return t.end(h, held)
	}
	return held
}

// ask has the host release the session alone, and waits for that. One that
// cannot is to be ended.
func (t *taking) ask(ctx context.Context, held *HeldError) error {
	ctx, cancel := context.WithTimeout(ctx, t.options.TakeGrace)
	defer cancel()
	err := hostsocket.RequestRelease(ctx, t.options.Dir, t.asked, t.options.Session)
	if refused := (*hostsocket.RefusedError)(nil); errors.As(err, &refused) {
		held.Why = refused.Error()
		return held
	}
	return nil // it was released, or the next look will tell
}

// end ends the host. C23: only the one that is proved to be it, and only if no
// other session ends with it.
func (t *taking) end(h holder, held *HeldError) error {
	switch {
	case h.away:
		held.Why = "it does not answer, and runs in another container or on another machine: end it there"
		return held
	case h.process == nil:
		held.Why = fmt.Sprintf("it cannot be proved that pid %d is the settle that holds it, and nothing was signalled; if you know that it is, end it with \"kill %[1]d\"", h.pid)
		return held
	}
	if h.embeds {
		held.Why = fmt.Sprintf("it is a program that embeds settle, and nothing was signalled; close the session there, or end it with \"kill %d\"", h.pid)
		return held
	}
	if !isSame(t.ending, h.process) {
		if others := sessionsOf(h.process, t.options); len(others) > 0 {
			held.Why = fmt.Sprintf("it does not answer, and would end with %s; nothing was signalled; let it go on, or end it with \"kill %d\"", strings.Join(others, ", "), h.pid)
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

// signal sends the host what ends it. A host that is gone already is fine.
func (t *taking) signal(held *HeldError, send func(*event.Identity) error) error {
	if err := send(t.ending); err != nil && isAlive(held.PID) {
		held.Why = fmt.Sprintf("cannot signal it: %v", err)
		return held
	}
	return nil
}

func isSame(a, b *event.Identity) bool { return a != nil && b != nil && *a == *b }

// sessionsOf names other sessions that the process holds.
func sessionsOf(p *event.Identity, o Options) (names []string) {
	const most = 3
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
		if len(names) == most {
			return append(names, "others")
		}
		names = append(names, fmt.Sprintf("session %q", e.Session))
	}
	return names
}

// awaitHeirs waits for processes that end by themselves.
func (t *taking) awaitHeirs(h holder, held *HeldError, waited time.Duration) error {
	if waited <= t.options.ReleaseTimeout {
		return nil
	}
	if len(h.heirs) > 0 {
		held.PID, held.Host = h.heirs[0], h.dead
		held.Stopped = IsStopped(held.PID)
	}
	held.Why = fmt.Sprintf("it has not let go for %v; wait, or end it", t.options.ReleaseTimeout)
	return held
}
