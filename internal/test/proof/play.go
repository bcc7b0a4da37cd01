package proof

import (
	"sync"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
)

// Report is the result of a script.
type Report struct {
	// Events are the events of the session, including the events of probes.
	Events []event.Event
	// Problems are the violations, each with its clause. If there are none, the script holds.
	Problems []string
}

// Play plays a script within a bubble of testing/synctest, whose end shows
// that nothing was left running.
func Play(s Script) Report { return PlayIn(s, nil) }

// PlayIn is Play for a session whose log is kept in logs.
func PlayIn(s Script, logs *Logs) Report {
	w := newWorld(s, logs)
	w.play()
	w.verdict()
	return w.report()
}

// report is the end of the world.
func (w *world) report() Report {
	w.probes()
	w.disk.compare(w.broke)
	w.end()
	for _, m := range w.machines { // no process makes another one
		m.close()
	}
	if err := w.server.Close(); err != nil {
		w.broke("C12", "the model's server finds something running: %v", err)
	}
	events, err := w.disk.events()
	if err != nil {
		w.broke("C20", "%v", err)
	}
	return Report{Events: events, Problems: w.problems}
}

// play plays the script until the last process has closed the session and all
// subscribers have read all events.
func (w *world) play() {
	p := w.open()
	if p == nil {
		return
	}
	var readers sync.WaitGroup
	subscribers := []*subscriber{{world: w, each: w.saw}}
	for _, r := range w.script.Readers {
		subscribers = append(subscribers, &subscriber{world: w, reader: r})
	}
	for _, s := range subscribers {
		first := p
		readers.Go(func() { s.run(first) })
	}
	w.schedule()
	for p != nil {
		w.live(p)
		p = w.successor(p)
	}
	readers.Wait()
	w.acts.Wait()
	if w.failing.Load() {
		return
	}
	for _, s := range subscribers {
		if n := w.disk.len(); s.cursor != uint64(n) {
			w.broke("C17", "a subscriber has seen %d events of %d", s.cursor, n)
		}
	}
}

// schedule sends the first inputs and winds the clock of the other timed moves.
func (w *world) schedule() {
	for i, m := range w.script.Moves {
		switch {
		case m.On > 0:
		case m.After == 0 && m.Do == Send:
			w.do(w.current.Load(), m, w.inputs[i])
		default:
			w.pending.Add(1)
			w.acts.Go(func() {
				<-time.After(m.After)
				w.pending.Add(-1)
				w.do(w.current.Load(), m, w.inputs[i])
			})
		}
	}
}

// saw makes the moves whose event has come, and has approvals answered.
func (w *world) saw(p *process, e event.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, e)
	for i, m := range w.script.Moves {
		if m.On == 0 || m.Do == Crash || w.fired[i] || uint64(m.On) > e.Seq {
			continue
		}
		w.fired[i] = true
		w.acts.Go(func() { w.do(p, m, w.inputs[i]) })
	}
	if d, ok := e.Data.(event.ApprovalRequested); ok {
		n := w.approvalCount
		w.approvalCount++
		w.acts.Go(func() { w.answer(p, n, d) })
	}
}

// open opens the session as the next process does; where that is killed while
// it opens, as the one after it. C20: it always works.
func (w *world) open() *process {
	for {
		p, err := w.start(w.disk, setting{
			wire:    w.wire.Load().(Wire),
			limits:  w.script.Limits,
			window:  w.script.Window,
			compact: w.script.Compact,
			ask:     w.script.Ask,
			hooks:   w.script.Hooks,
			crashAt: w.nextCrash(),
		})
		switch {
		case err == nil:
			w.current.Store(p)
			return p
		case p == nil || !p.dead():
			w.broke("C20", "the session cannot be opened: %v", err)
			return nil
		}
	}
}

// nextCrash returns at how many records the next process dies, or 0.
func (w *world) nextCrash() (at int) {
	for _, m := range w.script.Moves {
		if m.Do == Crash && m.On > w.disk.len() && (at == 0 || m.On < at) {
			at = m.On
		}
	}
	return at
}

func (w *world) wantClose() {
	select {
	case w.closing <- struct{}{}:
	default: // it will be
	}
}

// live runs the process until it dies, must be closed, or has no work left.
func (w *world) live(p *process) {
	step, gaveUp := time.Second, false
	for begin := time.Now(); ; step = min(2*step, time.Minute) {
		synctest.Wait()
		if p.dead() || w.idle(p) {
			return
		}
		if time.Since(begin) > patience {
			if w.stuck = gaveUp; w.stuck {
				return
			}
			w.giveUp(p)
			begin, gaveUp = time.Now(), true
		}
		select {
		case <-p.mount.died:
		case <-w.closing:
			return
		case <-time.After(step):
		}
	}
}

// idle reports whether no work runs and none is planned.
func (w *world) idle(p *process) bool {
	idle := w.pending.Load() == 0
	p.log.View(func(s event.State) {
		idle = idle && s.Running() == nil
		for _, i := range s.Waiting {
			idle = idle && (i.Held || w.failing.Load()) // with its disk failing, nothing is started
		}
	})
	return idle
}

// giveUp: only work that waits for a person can take so long (C9, C12).
func (w *world) giveUp(p *process) {
	asks := false
	p.log.View(func(s event.State) {
		asks = len(s.OpenApprovals()) > 0
	})
	if !asks {
		w.broke("C12", "work still runs after %v", patience)
	}
	w.interrupt(p, session.Request{By: "user"})
}

// successor ends the process, if it is not dead, and starts the next one, if the script
// has one.
func (w *world) successor(p *process) *process {
	unfinished := p.dead() || !w.idle(p)
	if p.dead() {
		p.bury()
	} else if err := p.close(); err != nil && !w.failing.Load() && !p.dead() {
		w.broke("C2", "the session was not closed: %v", err)
	}
	var next *process
	if (unfinished || p.dead()) && !w.failing.Load() && !w.stuck {
		next = w.open()
	}
	p.succeed(next)
	return next
}
