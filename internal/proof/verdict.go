package proof

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/settletest/contract"
)

// verdict holds what happened against the contract.
func (w *world) verdict() {
	w.log(w.checker())
	w.ends()
	for _, id := range w.accepted {
		if !w.knows(id) {
			w.broke("C19", "input %s was accepted and is lost", id)
		}
	}
}

// ends: C14, turns end as the script says, if it does.
func (w *world) ends() {
	if len(w.script.Ends) == 0 {
		return
	}
	var ends []string
	for _, e := range w.seen {
		switch d := e.Data.(type) {
		case event.TurnCompleted:
			ends = append(ends, string(event.Completed))
		case event.TurnFailed:
			ends = append(ends, string(event.Failed))
		case event.TurnAborted:
			ends = append(ends, string(d.Reason))
		}
	}
	if !slices.Equal(ends, w.script.Ends) {
		w.broke("C14", "the turns end as %q, and should as %q", ends, w.script.Ends)
	}
}

func (w *world) checker() contract.Checker {
	c := contract.Checker{Secrets: []string{Secret}, InterruptBound: w.interruptBound()}
	if slices.ContainsFunc(w.script.Moves, func(m Move) bool { return m.Do == Crash }) {
		c.InterruptBound = 0 // who dies answers nobody
	}
	if w.jumps() {
		c.InterruptBound = 0 // by the events' clock; those who interrupt have another
	}
	return c
}

// log checks the log; where the disk failed, what was shown of it.
func (w *world) log(c contract.Checker) {
	events, err := w.disk.events()
	if err != nil {
		w.broke("C20", "the disk cannot be read: %v", err)
		return
	}
	if w.failing.Load() {
		events, c.Unfinished = w.seen, w.current.Load().dead()
	}
	for _, v := range contract.Violations(c.Check(events)) {
		w.broke(v.Clause, "event %d (%s): %s", v.Seq, v.Kind, v.What)
	}
}

// knows reports whether the input is in the log.
func (w *world) knows(input string) bool {
	for n := 1; n <= w.disk.len(); n++ {
		if raw := w.disk.record(uint64(n)); bytes.Contains(raw, []byte(`"input.accepted"`)) && bytes.Contains(raw, []byte(`"input":"`+input+`"`)) {
			return true
		}
	}
	return false
}

// probes opens the session again and again, on each wire, and prompts it.
func (w *world) probes() {
	w.failing.Store(false)
	own := w.script.Wire
	if own == "" {
		own = Messages
	}
	w.probe(w.disk, own)
	for _, wire := range Wires() {
		if wire != own {
			w.probe(w.disk, wire)
		}
	}
	w.log(contract.Checker{Secrets: []string{Secret}})
	w.requests()
}

// probe: C20, the session opens; C6, whatever is in the log, the next request
// is one that the provider accepts, and the turn completes.
func (w *world) probe(d *disk, wire Wire) {
	p, err := w.start(d, setting{wire: wire})
	if err != nil {
		w.broke("C20", "the session cannot be opened again after event %d: %v", d.len(), err)
		return
	}
	if _, err := p.session.Submit(context.Background(), session.Input{Text: probeText, By: "user"}); err != nil {
		w.broke("C19", "a prompt after event %d was not accepted: %v", d.len(), err)
	}
	var cause *event.Cause
	for deadline := time.Now().Add(patience); cause == nil && time.Now().Before(deadline); {
		synctest.Wait()
		p.log.View(func(s event.State) {
			if n := len(s.Turns); n > 0 {
				cause = s.Turns[n-1].Cause
			}
		})
		if cause == nil {
			<-time.After(time.Second)
		}
	}
	if cause == nil || cause.Outcome != event.Completed {
		w.broke("C6", "a prompt after event %d, on %s, ends as: %v", d.len(), wire, cause)
	}
	if err := p.close(); err != nil {
		w.broke("C2", "the session was not closed: %v", err)
	}
}

// requests: C6, the provider refused none; C15, none has the secret. Another
// account may refuse the seals of the one before, as often as a log is opened in
// which it has not done so yet: that the turn goes on is for probes to see.
func (w *world) requests() {
	another := w.accounts.Load() > 0
	for _, x := range w.server.Exchanges() {
		if x.Refusal != "" && !(another && aboutSeals(x.Refusal)) {
			w.broke("C6", "request %d (%s) was refused: %s", x.N, x.Dialect, x.Refusal)
		}
		if bytes.Contains(x.Body, []byte(Secret)) {
			w.broke("C15", "request %d has the secret in it", x.N)
		}
	}
}

// aboutSeals: it is what settletest says of reasoning that it does not know.
func aboutSeals(refusal string) bool {
	return strings.Contains(refusal, "thinking` block") || strings.Contains(refusal, "encrypted content")
}

// opens opens the session and closes it again, and reports whether that worked.
func (w *world) opens(d *disk) bool {
	p, err := w.start(d, setting{wire: w.script.Wire})
	if err != nil {
		w.broke("C20", "the session cannot be opened again after event %d: %v", d.len(), err)
		return false
	}
	if err := p.close(); err != nil {
		w.broke("C2", "the session was not closed: %v", err)
	}
	return true
}

// holds holds a log that was left behind against the contract.
func (w *world) holds(d *disk) {
	events, err := d.events()
	if err == nil {
		err = contract.Checker{Secrets: []string{Secret}}.Check(events)
	}
	for _, v := range contract.Violations(err) {
		w.broke(v.Clause, "event %d of %d (%s): %s", v.Seq, d.len(), v.Kind, v.What)
	}
	if err != nil && len(contract.Violations(err)) == 0 {
		w.broke("C20", "%v", err)
	}
}
