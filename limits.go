package settle

import (
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
)

// Limits end a turn that goes on for too long: it is aborted with the reason
// "limit", and a new input continues it.
type Limits struct {
	Steps   int           // responses of the model; 0 for no limit
	Time    time.Duration // 0 for no limit
	Repeats int           // same call, same result; 0 means 10, negative none
	Tokens  int64         // input and output of all its requests; 0 for no limit
	Cost    float64       // of all its requests, in US dollars; 0 for no limit; needs the model's Price
	// Session bounds the session as a whole, also what it took before it was opened
	// again. A turn that begins when one of these limits is reached ends at once.
	Session SessionLimits
	// Outside, if set, is asked before each request, also of child agents, with what
	// the turn and its child agents have taken. What it returns ends the turn; make it
	// with [event.AbortLimit]. It must not wait, and is called by several goroutines.
	Outside func(spent event.Summary) *event.Cause
}

// SessionLimits bound what a session takes in all. Steps, tokens and cost are those
// of the session and of its child agents together.
type SessionLimits struct {
	Steps  int           // responses of models; 0 for no limit
	Time   time.Duration // in which the session's own turns run; 0 for no limit
	Tokens int64         // input and output of all requests; 0 for no limit
	Cost   float64       // of all requests, in US dollars; 0 for no limit; needs the model's Price
}

func (l Limits) ofTurn() turn.Limits {
	return turn.Limits{Steps: l.Steps, Time: l.Time, Repeats: l.Repeats, Tokens: l.Tokens, Cost: l.Cost, Session: turn.SessionLimits(l.Session), Outside: l.Outside}
}

// Retry says how often a failed request is made again. The zero value retries
// server faults five times, stalls twice, and a provider that is overloaded or
// cannot be reached for ten minutes.
type Retry struct {
	// Retries, if set, is how many retries any kind of fault gets.
	Retries *int
	// RetryFor is for how long a provider is tried again that is overloaded or
	// cannot be reached; 0 means 10 minutes, negative not at all.
	RetryFor time.Duration
}
