package proof

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
	"github.com/settle-agent/settle/run"
)

// verdict checks the run against the contract.
func (w *world) verdict() {
	w.log(w.checker())
	w.ends()
	for _, id := range w.accepted {
		if !w.knows(id) {
			w.broke("C19", "input %s was accepted and is lost", id)
		}
	}
}

// ends: C14, turns have the expected ends of the script, if it has any.
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
		c.InterruptBound = 0 // a killed process answers no interrupt
	}
	if w.jumps() {
		c.InterruptBound = 0 // measured by the clock of the events; interrupts use another clock
	}
	return c
}

// log checks the log; if the disk failed, the events that subscribers received.
func (w *world) log(c contract.Checker) {
	events, err := w.disk.events()
	if err != nil {
		w.broke("C20", "the disk cannot be read: %v", err)
		return
	}
	if w.failing.Load() {
		events, c.Unfinished = w.seen, w.current.Load().dead()
	}
	w.prefixes(events)
	for _, v := range contract.Violations(c.Check(events)) {
		w.broke(v.Clause, "event %d (%s): %s", v.Seq, v.Kind, v.What)
	}
}

// knows reports whether the input is in the log.
func (w *world) knows(input string) bool {
	for n := 1; n <= w.disk.len(); n++ {
		if raw := w.disk.record(uint64(n)); bytes.Contains(raw, []byte(`"input.accepted"`)) &&
			bytes.Contains(raw, []byte(`"input":"`+input+`"`)) {
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
	format, provider := own.split()
	for _, wire := range Wires() {
		if wire == format {
			continue
		}
		if provider != "" { // who speaks another format to the same server
			wire += Wire("/" + provider)
		}
		w.probe(w.disk, wire)
	}
	w.settled(own)
	w.log(contract.Checker{Secrets: []string{Secret}})
	w.requests()
}

// probe checks C20, that the session opens, and C6, that for every log the provider
// accepts the next request and the turn completes. If the provider refuses some inputs,
// a held input can fail the prompt that it is sent with, and no other prompt.
func (w *world) probe(d *disk, wire Wire) {
	cause, alone := w.prompt(d, wire)
	if !alone && w.picky() && failed(cause) {
		cause, _ = w.prompt(d, wire)
	}
	if cause == nil || cause.Outcome != event.Completed {
		w.broke("C6", "a prompt after event %d, on %s, ends as: %v", d.len(), wire, cause)
	}
}

func failed(c *event.Cause) bool { return c != nil && c.Outcome == event.Failed }

// prompt opens the session, prompts it, and returns how that ended, and whether
// the turn was for the prompt alone.
func (w *world) prompt(d *disk, wire Wire) (cause *event.Cause, alone bool) {
	p, err := w.start(d, setting{wire: wire})
	if err != nil {
		w.broke("C20", "the session cannot be opened again after event %d: %v", d.len(), err)
		return event.Complete(), true // which is not the prompt's fault
	}
	if _, err := p.session.Submit(context.Background(), run.Input{Text: probeText, By: "user"}); err != nil {
		w.broke("C19", "a prompt after event %d was not accepted: %v", d.len(), err)
	}
	for deadline := time.Now().Add(patience); cause == nil && time.Now().Before(deadline); {
		synctest.Wait()
		p.log.View(func(s event.State) {
			if n := len(s.Turns); n > 0 {
				cause, alone = s.Turns[n-1].Cause, len(s.Turns[n-1].Inputs) == 1
			}
		})
		if cause == nil {
			<-time.After(time.Second)
		}
	}
	if err := p.close(); err != nil {
		w.broke("C2", "the session was not closed: %v", err)
	}
	return cause, alone
}

// picky reports whether the provider refuses requests that the rules allow.
func (w *world) picky() bool {
	return w.script.Holds.Tokens > 0 || slices.ContainsFunc(w.script.Moves, func(m Move) bool { return m.Do == Reject })
}

// requests checks C6, that the provider refused no request, and C15, that no request has
// the secret. Two refusals are allowed. Another account can refuse the provider
// signatures of the earlier account, once for each opening of a log without such a
// refusal. A picky provider can refuse the contents that it is picky about. Probes check
// that the session continues after a refusal.
func (w *world) requests() {
	another := w.accounts.Load() > 0
	for _, x := range w.server.Exchanges() {
		if x.Refusal != "" && !(another && aboutSignatures(x.Refusal)) && !(w.picky() && unruly(x.Refusal)) {
			w.broke("C6", "request %d (%s) was refused: %s", x.N, x.Dialect, x.Refusal)
		}
		if bytes.Contains(x.Body, []byte(Secret)) {
			w.broke("C15", "request %d has the secret in it", x.N)
		}
	}
}

// settled: C6, a refusal costs one request: after a prompt was answered, the next request is not
// refused for the same reason.
func (w *world) settled(wire Wire) {
	counts := slices.ContainsFunc(w.script.Moves, func(m Move) bool { return m.Rejects.Items > 0 })
	if !w.picky() || counts || w.script.Holds.Tokens > 0 { // there, new content counts as well
		return
	}
	before := len(w.server.Exchanges())
	w.probe(w.disk, wire)
	for _, x := range w.server.Exchanges()[before:] {
		if x.Refusal != "" {
			w.broke("C6", "request %d (%s) was refused for what had been refused before: %s", x.N, x.Dialect, x.Refusal)
		}
	}
}

// unruly reports whether a refusal is one of a picky provider, by modeltest's text.
func unruly(refusal string) bool {
	for _, words := range []string{"Invalid request.", "too long", "context length", "context window", "context limit", "input token count"} {
		if strings.Contains(refusal, words) {
			return true
		}
	}
	return false
}

// aboutSignatures reports whether a refusal is modeltest's refusal of unknown reasoning.
func aboutSignatures(refusal string) bool {
	return strings.Contains(refusal, "thinking` block") || strings.Contains(refusal, "encrypted content") ||
		strings.Contains(refusal, "Thought signature")
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
	d.compare(w.broke)
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
