package run

import (
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/scope"
)

// silenceDelay is the time after which the model's silence is reported, if no status shows it.
const silenceDelay = 30 * time.Second

// silence is the view's state about the model's silence.
type silence struct {
	attempt  event.Attempt // running attempt; it has no ID if there is none
	turn     event.Turn    // its start and its last output
	timer    *time.Timer   // reports the silence; nil until the first attempt
	reported bool          // for this attempt
}

// noteOutput notes how the attempt of the change stands.
func (s *textView) noteOutput(c transcript.Change) {
	q := &s.status.silence
	var a *event.Attempt
	if c.Turn != nil {
		a = c.Turn.Attempt()
	}
	if a == nil {
		q.attempt = event.Attempt{}
		return
	}
	q.turn.OutputAt = c.Turn.OutputAt
	if a.ID == q.attempt.ID {
		return
	}
	q.attempt, q.turn.Start, q.reported = *a, c.Turn.Start, false
	q.turn.Attempts = []*event.Attempt{&q.attempt}
	if q.timer == nil {
		q.timer = time.AfterFunc(silenceDelay, scope.Shield(func(error) {}, s.reportSilence)) // endSilence stops it
	} else {
		q.timer.Reset(silenceDelay)
	}
}

// silent returns the model's silence in words; empty if it is short, or a call runs meanwhile.
func (s *textView) silent(now time.Time) string {
	q := &s.status.silence
	if q.attempt.ID == "" || len(s.calls) > 0 {
		return ""
	}
	silence, long := q.turn.Silence(now)
	if !long {
		return ""
	}
	words, ends := transcript.SilenceWords(silence)
	return strings.TrimSuffix(words+", "+ends, ", ")
}

// reportSilence reports a long silence, once for each attempt, unless the status shows it.
func (s *textView) reportSilence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.status.silence
	if s.finished || q.attempt.ID == "" || q.reported {
		return
	}
	now := time.Now()
	silence, _ := q.turn.Silence(now)
	words := s.silent(now)
	if silence.For < silenceDelay || words == "" {
		q.timer.Reset(max(silenceDelay-silence.For, time.Second))
		return
	}
	q.reported = true
	if !s.stream {
		s.reportWait("settle: " + words)
	} else if s.mid || s.tty == nil { // the status is not drawn
		s.notice("%s", words)
	}
}

// endSilence ends the reports.
func (s *textView) endSilence() {
	if t := s.status.silence.timer; t != nil {
		t.Stop()
	}
}
