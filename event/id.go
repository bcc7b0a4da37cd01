package event

import "fmt"

// IDs within a session are a letter and a number that counts up within the
// session: t000001 (turn), a000001 (attempt), i000001 (item), p000001
// (approval), n000001 (input, unless the client chose one), j000001 (job),
// c000001 (child), h000001 (hook). They are short, since every delta carries three of them;
// they sort; and the same session gives the same ids, so that prompt caches
// stay warm. They are drawn inside a log update, from the state that the
// update sees, and are therefore unique.

// NextTurn returns the id for the next turn.
func (s State) NextTurn() string { return id('t', s.count.turns) }

// NextAttempt returns the id for the next attempt.
func (s State) NextAttempt() string { return id('a', s.count.attempts) }

// NextItem returns the id for the next item; n more than the next for n > 0.
func (s State) NextItem(n int) string { return id('i', s.count.items+n) }

// NextApproval returns the id for the next approval.
func (s State) NextApproval() string { return id('p', s.count.approvals) }

// NextInput returns the id for the next input, passing over ids that clients
// chose.
func (s State) NextInput() string {
	n := s.count.inputs
	for s.Accepted(id('n', n)) {
		n++
	}
	return id('n', n)
}

// NextJob returns the id for the next job.
func (s State) NextJob() string { return id('j', s.count.jobs) }

// NextChild returns the id for the next child agent.
func (s State) NextChild() string { return id('c', s.count.children) }

// NextHook returns the id for the next run of a hook; n more than the next for n > 0.
func (s State) NextHook(n int) string { return id('h', s.count.hooks+n) }

func id(letter byte, n int) string { return fmt.Sprintf("%c%06d", letter, n+1) }

// counters hold how many of each thing the session has started.
type counters struct{ turns, attempts, items, approvals, inputs, jobs, children, hooks int }
