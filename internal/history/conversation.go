package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Conversation builds each request from the previous one and the new events. It starts again
// after a prefix change: another model, instructions or tools, or a recorded change of the
// earlier history (C21). The zero Conversation is ready for use by one goroutine at a time.
type Conversation struct {
	key     key
	basis   string
	changes []event.HistoryChanged // to record before the request
	walk    *walk                  // nil: start again
	refused *refusals
	input   []model.Item // of the entries; built requests share it
	// rewrites is the walk's count of rewrites when input was made.
	rewrites int
	expected *expectedAttempt // the next attempt in the log; nil if unknown
}

// key is the part that all requests between two prefix changes share.
type key struct {
	target Target
	system string
	specs  []model.ToolSpec
}

func (k key) equals(l key) bool {
	return k.target == l.target && k.system == l.system &&
		slices.EqualFunc(k.specs, l.specs, func(a, b model.ToolSpec) bool {
			return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema) &&
				a.Grammar == b.Grammar &&
				a.Deferred == b.Deferred
		})
}

// basis is a short hash of the key.
func (k key) basis() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%#v %q", k.target, k.system)
	for _, s := range k.specs {
		fmt.Fprintf(sum, " %q %q %q %q", s.Name, s.Description, s.Schema, s.Grammar)
		if s.Deferred != "" {
			fmt.Fprintf(sum, " %q", s.Deferred)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:4])
}

// expectedAttempt is the attempt for which a request was built.
type expectedAttempt struct {
	turn     string
	attempts int      // of the turn before it
	inputs   []string // ids of the joining inputs
	changes  []event.HistoryChanged
}

// Log is the part of the session that a request needs.
type Log struct {
	turns   []*event.Turn
	running *event.Turn // copy of the last turn; nil if the turn has ended
	jobs    []*event.Job
	waiting []event.Input
	session string
}

func (l Log) turn(n int) *event.Turn {
	if n == len(l.turns)-1 && l.running != nil {
		return l.running
	}
	return l.turns[n]
}

// LogOf takes the part of the state that a request needs, at a cost independent of the log's
// length. Call it under the state's lock. The request can be built later, while the log grows,
// as long as the turn does not.
func LogOf(s event.State) Log {
	l := Log{turns: s.Turns, waiting: s.Waiting, session: s.Session}
	if t := s.Running(); t != nil {
		running := *t
		l.running = &running
	}
	for _, j := range s.Jobs { // jobs can end meanwhile
		job := *j
		l.jobs = append(l.jobs, &job)
	}
	return l
}

// Request builds the request that continues the conversation with the joining inputs.
func (c *Conversation) Request(
	log Log, target Target, system string, specs []model.ToolSpec, joining ...event.Input,
) BuiltRequest {
	k := key{target, system, specs}
	k.target.Effort, k.target.CacheKey = "", "" // they do not change the sent history
	if !c.extendsLast(k, log) {
		c.begin(k, log)
	}
	request := model.Request{
		Model:    target.Model,
		System:   system,
		Tools:    specs,
		Effort:   target.Effort,
		CacheKey: target.CacheKey,
	}
	w := c.walk
	w.follow(log)
	c.attempt(log, joining)
	if c.rewrites != w.rewrites {
		c.input, c.rewrites = nil, w.rewrites
	}
	for _, e := range w.entries[len(c.input):] {
		c.input = append(c.input, e.Item)
	}
	request.Input = c.input[:len(c.input):len(c.input)]
	request.Schema = w.schema
	b := BuiltRequest{Request: request, RequestStats: w.stats(), Trimmed: w.trimmed, Changes: c.changes, Basis: c.basis}
	b.Answer = answer(w.window, w.maxOutput(), b.Tokens)
	b.MaxTokens = b.Answer
	return b
}

// attempt starts the attempt of the request ahead of the log. The next request compares the log
// with it.
func (c *Conversation) attempt(log Log, joining []event.Input) {
	w, t := c.walk, log.running
	c.expected = nil
	if t != nil {
		w.measure(t)
		w.begin(t, joining)
	} else { // the request is not sent
		w.addJoining(joining)
	}
	w.nearlyFull = w.threshold() > 0 && w.counted() > w.threshold()
	if t == nil || !isShortened(t) {
		if change := w.fit(); change != nil {
			c.changes = append(c.changes, *change)
		}
	}
	w.endWithUser()
	w.usage.sent = w.tokens()
	if t == nil || !isSettled(t) || c.refused.trial != nil {
		return
	}
	c.expected = &expectedAttempt{turn: t.ID, attempts: w.attempts, changes: c.changes}
	for _, in := range joining {
		c.expected.inputs = append(c.expected.inputs, in.ID)
	}
	w.attempts++
}

// isShortened reports whether the request belongs to a started attempt, for which the
// conversation was shortened.
func isShortened(t *event.Turn) bool {
	return t.Attempt() != nil && slices.ContainsFunc(t.Changes, func(e event.Epoch) bool {
		return e.Change == event.ChangeShortened && e.Attempts == len(t.Attempts)-1
	})
}

// isSettled reports whether the turn's items no longer change.
func isSettled(t *event.Turn) bool { return t.Attempt() == nil && !t.Busy() }

// extendsLast reports whether the last request is the start of the next one, so that the walk
// can continue.
func (c *Conversation) extendsLast(k key, log Log) bool {
	if c.walk == nil || c.expected == nil || !c.key.equals(k) || !c.expected.inLog(c.walk, log) {
		return false
	}
	c.walk.changes += len(c.expected.changes) // they were applied before they were logged
	c.changes = nil
	marks := c.refused.marks
	c.refused.follow(log)
	return c.refused.marks == marks && c.refused.trial == nil
}

// inLog reports whether the log has the expected attempt.
func (p *expectedAttempt) inLog(w *walk, log Log) bool {
	if w.at >= len(log.turns) {
		return false
	}
	t := log.turn(w.at)
	if t.ID != p.turn || len(t.Attempts) <= p.attempts || t.Attempts[p.attempts].Start.Purpose != "" ||
		!slices.EqualFunc(
			t.Attempts[p.attempts].Inputs, p.inputs, func(in event.Input, id string) bool { return in.ID == id },
		) {
		return false
	}
	n := w.changes
	for ; n < len(t.Changes) && t.Changes[n].Attempts <= p.attempts; n++ {
		if n-w.changes >= len(p.changes) {
			return false
		}
		if a, b := t.Changes[n], p.changes[n-w.changes]; a.Change != b.Change || a.Tokens != b.Tokens {
			return false
		}
	}
	return n-w.changes == len(p.changes)
}

// begin reads the log from its start, after a prefix change.
func (c *Conversation) begin(k key, log Log) {
	k.specs = slices.Clone(k.specs)
	refused := refusalsOf(k.target, log)
	prefix := estimate(model.Request{System: k.system, Tools: k.specs}, 0)
	*c = Conversation{key: k, basis: k.basis(), walk: newWalk(k.target, refused, prefix), refused: refused}
	if refused.marks == 0 && refused.firstTurn == 0 { // otherwise refusals bring earlier history back
		c.walk.responsesFrom = log.compacted()
	}
	if last := log.lastAttempt(k.target); last != nil && last.Start.Basis != "" && last.Start.Basis != c.basis {
		c.changes = []event.HistoryChanged{{
			Change: event.ChangeBasis, Provider: k.target.Provider, Model: k.target.Model,
			Why: "the instructions, the tools or the settings of the model changed",
		}}
	}
}

// lastAttempt returns the last attempt of the target, or nil.
func (l Log) lastAttempt(target Target) *event.Attempt {
	for n := len(l.turns) - 1; n >= 0; n-- {
		for _, a := range slices.Backward(l.turn(n).Attempts) {
			if target.made(a) {
				return a
			}
		}
	}
	return nil
}
