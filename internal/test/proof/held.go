package proof

import (
	"context"
	"errors"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
)

// heldCalls answers the calls that a crash or shutdown left held (C19), crashes at each event
// of that, and answers again. It returns how many calls were held.
func (w *world) heldCalls(d *disk) int {
	from := d.len()
	held := w.answerHeld(d)
	if held == 0 {
		return 0
	}
	for at := from + 1; at < d.len(); at++ {
		c := d.first(at)
		w.answerHeld(c)
		w.holds(c)
	}
	for _, wire := range Wires() { // C6
		w.probe(d, wire)
	}
	return held
}

// answerHeld opens the session and approves each held call, except every third one, for which
// two clients answer at once. C16: one answer counts, and a later one is refused.
func (w *world) answerHeld(d *disk) int {
	p, err := w.start(d, setting{wire: w.script.Wire, ask: true})
	if err != nil {
		w.broke("C20", "the session cannot be opened again after event %d: %v", d.len(), err)
		return 0
	}
	var held []event.HeldCall
	p.log.View(func(s event.State) { held = s.HeldCalls() })
	for n, h := range held {
		verdict := event.Approved
		if n%3 == 2 {
			verdict = event.Denied
		}
		answers := make(chan error, 3)
		give := func(by string) {
			answers <- p.session.Answer(context.Background(), approval.Answer{Approval: h.ID, Verdict: verdict, By: by})
		}
		go give("user") // both end with the loop below
		go give("page")
		first, second := <-answers, <-answers
		w.idles(p)
		give("late")
		w.refusedButOne(first, second, <-answers)
	}
	w.idles(p)
	p.log.View(func(s event.State) {
		for n, h := range held {
			if now, _ := s.HeldCall(h.ID); now.Verdict == nil {
				w.broke("C19", "the verdict about held call %d is lost", n)
			}
		}
		if len(s.HeldCalls()) > 0 {
			w.broke("C19", "%d calls are still held", len(s.HeldCalls()))
		}
	})
	if err := p.close(); err != nil {
		w.broke("C2", "the session was not closed: %v", err)
	}
	return len(held)
}

// answerOldest answers the oldest held call, if there is one.
func (w *world) answerOldest(p *process, verdict event.Verdict) {
	var held []event.HeldCall
	p.log.View(func(s event.State) { held = s.HeldCalls() })
	if len(held) == 0 {
		return
	}
	err := p.session.Answer(
		context.Background(), approval.Answer{Approval: held[0].ID, Verdict: verdict, By: "user"},
	)
	if late := (*approval.AnsweredError)(nil); err != nil && !errors.As(err, &late) && !p.dead() &&
		!w.failing.Load() && !closed(err) {
		w.broke("C19", "the answer to a held call was met with: %v", err)
	}
}

// refusedButOne checks C16 for the answers to one question.
func (w *world) refusedButOne(errs ...error) {
	taken := 0
	for _, err := range errs {
		switch late := (*approval.AnsweredError)(nil); {
		case err == nil:
			taken++
		case !errors.As(err, &late):
			w.broke("C16", "an answer to a held call was met with: %v", err)
		}
	}
	if taken != 1 {
		w.broke("C16", "%d answers to one held call were taken", taken)
	}
}

// idles waits until no turn runs.
func (w *world) idles(p *process) {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		synctest.Wait()
		idle, inquiry := false, ""
		p.log.View(func(s event.State) {
			idle = s.Running() == nil
			for _, a := range s.OpenApprovals() {
				if a.Form != nil { // of the call, which runs
					inquiry = a.Approval
					continue
				}
				w.broke("C19", "a held call is asked about again, though nothing changed: %s", a.Why)
				idle = true
			}
		})
		if idle {
			return
		}
		if inquiry != "" {
			declined := approval.Answer{Approval: inquiry, Verdict: event.Denied, By: "user"}
			_ = p.session.Answer(context.Background(), declined) // another client may have answered
		}
		<-time.After(time.Second)
	}
	w.broke("C12", "the turn of a held call still runs after %v", patience)
}
