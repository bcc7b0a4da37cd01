package event

import "time"

// StreamLimits bound the time without output in a response, in milliseconds; 0 means no limit. When
// a limit is reached, settle ends the attempt.
type StreamLimits struct {
	FirstMS    int64 `json:"first_ms,omitempty"`    // before the first output
	StallMS    int64 `json:"stall_ms,omitempty"`    // after output
	ThinkingMS int64 `json:"thinking_ms,omitempty"` // while keep-alives arrive
}

// Silence describes the time for which a running attempt has brought no output.
type Silence struct {
	For time.Duration
	// Limit is the silence after which settle ends the attempt; 0 if no limit is known.
	Limit time.Duration
	// Answered reports whether the attempt has brought output before.
	Answered bool
}

// minSilence is the shortest silence that people should know of: models think for seconds.
const minSilence = 10 * time.Second

// Silence returns the silence of the turn's running attempt, and whether it is long enough for
// people to know of it.
func (t *Turn) Silence(now time.Time) (s Silence, long bool) {
	a := t.Attempt()
	if a == nil {
		return s, false
	}
	since := a.StartedAt
	if s.Answered = !t.OutputAt.IsZero(); s.Answered {
		since = t.OutputAt
	}
	s.For = now.Sub(since)
	if t.Start.Model == a.Start.Model && t.Start.Provider == a.Start.Provider { // else a fallback model
		s.Limit = t.Start.StreamLimits.limit(s)
	}
	return s, s.For >= minSilence
}

// limit returns the limit that the silence comes to. A silence that is longer than the
// usual limit has only lasted because keep-alives arrive.
func (l *StreamLimits) limit(s Silence) time.Duration {
	if l == nil {
		return 0
	}
	usual := time.Duration(l.StallMS) * time.Millisecond
	if !s.Answered {
		usual = time.Duration(l.FirstMS) * time.Millisecond
	}
	if thinking := time.Duration(l.ThinkingMS) * time.Millisecond; usual > 0 && s.For > usual {
		return thinking
	}
	return usual
}

// output notes the time of an event with output of the attempt. The output of tools does not count.
func (t *Turn) output(e *Event) {
	if e.Attempt == "" {
		return
	}
	a := t.Attempt()
	if a == nil || a.ID != e.Attempt {
		return
	}
	switch d := e.Data.(type) {
	case ItemDelta:
		if d.Stream == Output {
			return
		}
	case ItemEnded:
		if d.Type == ToolCall {
			return
		}
	case ItemStarted, CallReady:
	default:
		return
	}
	t.OutputAt = e.At
}
