package execserver

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

const (
	// logBytes bounds the kept output of a process, in bytes. crowdedBytes bounds it if all
	// processes together have more than maxTotalBytes.
	logBytes      = 1 << 20
	crowdedBytes  = 64 << 10
	maxTotalBytes = 256 << 20
	// lastBytes bounds the further output of a process that is being ended, in bytes; pipes hold
	// less.
	lastBytes = 4 << 20
	// lookDelay is the interval of the check whether processes of an exited command still
	// wait to write output.
	lookDelay = time.Second
	// readerHold is the time after a read during which no entry is dropped that the next
	// read can ask for.
	readerHold = 5 * time.Second
)

// process is one that a client has started. The lock of its session guards all
// that changes.
type process struct {
	id        string
	session   *session
	sandboxed bool
	guard     commandGuard
	tracked   *proc.Process // nil while it is started
	input     *inputs       // nil for none

	log         outlog
	queued      bool // it is in the session's queue of processes with output to send
	exited      bool
	closed      bool
	code        int
	denied      bool // the sandbox seems to have refused something
	ending      bool // it has received the request to end: no output waits any more
	dropped     int64
	left        []event.Process // processes that could not be ended
	quarantined string          // its changes of repositories that settle moved aside
	heldTo      time.Time       // until when entries after read are kept
	read        uint64          // cursor of the newest read

	changed chan struct{} // closed and replaced whenever something above changes
}

// notifyChange wakes the goroutines that wait for a change; the caller has the lock.
func (p *process) notifyChange() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// sink receives the output of a process on one stream. It implements [io.Writer]: the
// process waits while the log is full of entries that the client has not received.
type sink struct {
	p    *process
	from stream
}

// Write implements [io.Writer].
func (s sink) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		n := min(len(rest), pieceBytes)
		s.p.put(s.from, rest[:n])
		rest = rest[n:]
	}
	return len(data), nil
}

// put appends output, or waits until it can.
func (p *process) put(from stream, data []byte) {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	for !p.fits(len(data)) {
		if p.ending {
			p.dropped += int64(len(data))
			return
		}
		p.awaitChange()
	}
	p.denied = p.denied || p.sandboxed && denial(data)
	p.record(func() { p.log.append(from, data) })
}

// record changes the log and wakes all waiters. The caller has the lock.
func (p *process) record(change func()) {
	before := p.log.bytes
	change()
	p.session.server.held.Add(int64(p.log.bytes - before))
	if !p.queued {
		p.queued = true
		p.session.queue = append(p.session.queue, p)
	}
	if p.session.conn != nil {
		p.session.conn.wake()
	}
	p.notifyChange()
}

// awaitChange waits for a change with the lock released. After the command has exited, it also
// checks whether a process is left that could write: the rest of the pipe is then not
// lost, even if the log is full.
func (p *process) awaitChange() {
	changed, done := p.changed, p.exited
	p.session.mu.Unlock()
	timer := time.NewTimer(lookDelay)
	defer timer.Stop()
	select {
	case <-changed:
		p.session.mu.Lock()
		return
	case <-timer.C:
	}
	alone := done && len(p.tracked.Remains()) == 0
	p.session.mu.Lock()
	p.ending = p.ending || alone
}

// fits reports whether the log has room for output. It makes room by dropping entries
// that the client has received.
func (p *process) fits(n int) bool {
	limit := logBytes
	switch {
	case p.ending:
		limit += lastBytes
	case p.session.server.held.Load() > maxTotalBytes:
		limit = crowdedBytes
	}
	kept := p.log.kept
	if time.Now().Before(p.heldTo) {
		p.log.kept = min(kept, p.read)
	}
	before := p.log.bytes
	ok := p.log.room(n, limit)
	p.log.kept = kept
	p.session.server.held.Add(int64(p.log.bytes - before))
	return ok
}

// watch follows a process to its end. The session waits for it.
func (p *process) watch() {
	exit, _ := p.tracked.Wait(context.Background()) // its only error is the error of its context
	quarantined := p.guard.exited(p.tracked)        // before the client receives the exit: the user's git may run then
	p.session.mu.Lock()
	p.quarantined = quarantined
	p.exited, p.code = true, exit.Code
	p.record(func() { p.log.add(entry{what: exited}) })
	p.session.mu.Unlock()
	<-p.tracked.Silent() // at the latest when it is done
	p.session.mu.Lock()
	p.closed = true
	if p.input != nil {
		p.input.close()
	}
	p.record(func() { p.log.add(entry{what: closed}) })
	p.session.mu.Unlock()
	<-p.tracked.Done() // silent descendants are ended by terminate, or with the session
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	p.left = p.tracked.Survivors()
	p.session.retire(p)
}

// end ends a process with all its descendants (C7), and returns the processes that could not be
// ended within ctx.
func (p *process) end(ctx context.Context, grace time.Duration) []event.Process {
	p.session.mu.Lock()
	p.ending = true
	p.notifyChange()
	p.session.mu.Unlock()
	return p.tracked.End(ctx, grace)
}

// trouble returns a message for the client besides the exit code; nil for none.
func (p *process) trouble() *string {
	var text string
	switch {
	case len(p.left) > 0:
		text = fmt.Sprintf(
			"%d processes could not be ended, the first is %d: %s", len(p.left), p.left[0].PID, p.left[0].Command,
		)
	case p.dropped > 0:
		text = fmt.Sprintf("%d bytes of output were dropped after the request to end the process", p.dropped)
	default:
		if text = p.quarantined; text == "" {
			return nil
		}
	}
	return &text
}

// refused reports whether the sandbox seems to be why the command failed.
func (p *process) refused() bool { return p.exited && p.denied && p.code != 0 }

// denial reports whether an output indicates that the kernel refused something. It is a guess,
// which clients request: they offer to run the command without a sandbox.
func denial(data []byte) bool {
	for _, text := range []string{"ermission denied", "peration not permitted", "ead-only file system"} {
		if bytes.Contains(data, []byte(text)) {
			return true
		}
	}
	return false
}

// processState is the state of a process, with its output after an entry.
type processState struct {
	output  []entry
	next    uint64 // the number of the next entry that a client can ask for
	exited  bool
	code    int
	closed  bool
	denied  bool
	trouble *string
}

// since returns the state of a process and its output after an entry: at most the given
// bytes, and at least one entry. The channel, which is closed at the next change, is nil if
// there is something to report.
func (p *process) since(after uint64, maximum int) (processState, <-chan struct{}) {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	after = min(after, p.log.last)
	p.read, p.heldTo = after, time.Now().Add(readerHold)
	if after > p.log.kept {
		p.log.kept = after
		p.notifyChange()
	}
	r := processState{
		next: p.log.last + 1, exited: p.exited, code: p.code, closed: p.closed,
		denied: p.refused(), trouble: p.trouble(),
	}
	bytes := 0
	for _, e := range p.log.after(after) {
		if e.what != output {
			continue
		}
		if len(r.output) > 0 && bytes+len(e.data) > maximum {
			r.next = e.seq
			break
		}
		bytes += len(e.data)
		r.output = append(r.output, e)
		p.log.shown = max(p.log.shown, e.seq)
	}
	if len(r.output) > 0 || p.closed || p.exited && after < p.log.last {
		return r, nil
	}
	return r, p.changed
}

// await is since, after a change or after the timeout.
func (p *process) await(
	ctx context.Context, after uint64, maximum int, timeout time.Duration, changed <-chan struct{},
) (processState, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		select {
		case <-changed:
		case <-timer.C:
			state, _ := p.since(after, maximum)
			return state, nil
		case <-ctx.Done():
			return processState{}, errOver()
		}
		var state processState
		if state, changed = p.since(after, maximum); changed == nil {
			return state, nil
		}
	}
}

// running reports whether the command has not exited.
func (p *process) running() bool {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	return !p.exited
}
