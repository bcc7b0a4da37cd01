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

// Conversation builds each request from the one before and what is new since. It
// begins anew at an epoch: where the model, its instructions or its tools changed,
// or where the log says that what came before is sent in another form (C21). The
// zero Conversation is ready; it belongs to one goroutine at a time.
type Conversation struct {
	key     key
	basis   string
	changes []event.HistoryChanged // to be recorded before the request
	walk    *walk                  // nil: begin anew
	refused *refusals
	input   []model.Item // of the entries; a request that was built keeps its part
	// rewrites is how often entries had changed when input was made.
	rewrites int
	expected *expectedAttempt // what the log is to have next, nil for nothing
}

// key is what all requests of an epoch have in common.
type key struct {
	target Target
	system string
	specs  []model.ToolSpec
}

func (k key) equals(other key) bool {
	return k.target == other.target && k.system == other.system && slices.EqualFunc(k.specs, other.specs, func(a, b model.ToolSpec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema) && a.Grammar == b.Grammar && a.Deferred == b.Deferred
	})
}

// basis is a short name of it.
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

// promise is the attempt for which a request was built.
type expectedAttempt struct {
	turn     string
	attempts int      // that the turn had before
	inputs   []string // that joined
	changes  []event.HistoryChanged
}

// Log is what a request is made of.
type Log struct {
	turns   []*event.Turn
	running *event.Turn // the last turn, as it was; nil if that has ended
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

// Look takes what a request needs, at a cost that does not grow with the log. It is
// called where the state may be seen; the request is built elsewhere,
// while the log goes on, as long as the turn itself does not.
func LogOf(s event.State) Log {
	l := Log{turns: s.Turns, waiting: s.Waiting, session: s.Session}
	if t := s.Running(); t != nil {
		running := *t
		l.running = &running
	}
	for _, j := range s.Jobs { // any of them may end meanwhile
		job := *j
		l.jobs = append(l.jobs, &job)
	}
	return l
}

// Request builds the request that continues the conversation, with the inputs that
// join it now.
func (c *Conversation) Request(log Log, target Target, system string, specs []model.ToolSpec, joining ...event.Input) BuiltRequest {
	k := key{target, system, specs}
	k.target.Effort, k.target.CacheKey = "", "" // they change nothing of what was sent
	if !c.extendsLast(k, log) {
		c.begin(k, log)
	}
	request := model.Request{Model: target.Model, System: system, Tools: specs, Effort: target.Effort, CacheKey: target.CacheKey}
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

// attempt begins the attempt that the request is for, ahead of the log, which is
// held to that next time.
func (c *Conversation) attempt(log Log, joining []event.Input) {
	w, t := c.walk, log.running
	c.expected = nil
	if t != nil {
		w.measure(t)
		w.begin(t, joining)
	} else { // nobody sends it
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

// fitted reports whether the request is that of an attempt that has started, and
// that the conversation was shortened for.
func isShortened(t *event.Turn) bool {
	return t.Attempt() != nil && slices.ContainsFunc(t.Changes, func(e event.Epoch) bool {
		return e.Change == event.ChangeShortened && e.Attempts == len(t.Attempts)-1
	})
}

// whole reports whether what the turn has so far stays as it is.
func isSettled(t *event.Turn) bool { return t.Attempt() == nil && !t.Busy() }

// goesOn reports whether what was built before is the beginning of what is to be
// built now. Then the walk can go on from where it is.
func (c *Conversation) extendsLast(k key, log Log) bool {
	if c.walk == nil || c.expected == nil || !c.key.equals(k) || !c.expected.inLog(c.walk, log) {
		return false
	}
	c.walk.changes += len(c.expected.changes) // they were applied before they were in the log
	c.changes = nil
	marks := c.refused.marks
	c.refused.follow(log)
	return c.refused.marks == marks && c.refused.trial == nil
}

// kept reports whether the log has what was promised of it.
func (p *expectedAttempt) inLog(w *walk, log Log) bool {
	if w.at >= len(log.turns) {
		return false
	}
	t := log.turn(w.at)
	if t.ID != p.turn || len(t.Attempts) <= p.attempts || t.Attempts[p.attempts].Start.Purpose != "" || !slices.EqualFunc(t.Attempts[p.attempts].Inputs, p.inputs, func(in event.Input, id string) bool { return in.ID == id }) {
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

// begin starts an epoch: it reads the log from its beginning.
func (c *Conversation) begin(k key, log Log) {
	k.specs = slices.Clone(k.specs)
	refused := refusalsOf(k.target, log)
	prefix := estimate(model.Request{System: k.system, Tools: k.specs})
	*c = Conversation{key: k, basis: k.basis(), walk: newWalk(k.target, refused, prefix), refused: refused}
	if refused.marks == 0 && refused.firstTurn == 0 { // else more is in the history than the compaction left
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
