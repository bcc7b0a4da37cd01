package run

import (
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/scope"
)

// minReportedReview is the duration after which a running review is reported, if no status shows
// it.
const minReportedReview = 2 * time.Second

// reviews are the reviews that run.
type reviews struct {
	timers map[string]*time.Timer // by the id of their hook; each reports its review
}

// reviewStarted shows that a reviewer sees a call, and reports it if the review takes long.
func (s *textView) reviewStarted(d event.HookStarted, at time.Time) {
	if d.Event != event.HookReview {
		return
	}
	words := "being reviewed by " + d.Command
	s.setActivity(words, at)
	if s.reviews.timers == nil {
		s.reviews.timers = map[string]*time.Timer{}
	}
	// reviewEnded or endReviews stops it
	s.reviews.timers[d.Hook] = time.AfterFunc(minReportedReview, scope.Shield(func(error) {}, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch _, runs := s.reviews.timers[d.Hook]; {
		case !runs || s.finished:
		case !s.stream:
			s.reportWait("settle: " + words)
		case s.tty == nil: // else the status shows it
			s.notice("%s", words)
		}
	}))
}

// reviewEnded ends the report of a review.
func (s *textView) reviewEnded(hook string) {
	timer := s.reviews.timers[hook]
	if timer == nil {
		return
	}
	timer.Stop()
	delete(s.reviews.timers, hook)
	s.status.doing = ""
}

// endReviews ends all reports.
func (s *textView) endReviews() {
	for hook := range s.reviews.timers {
		s.reviewEnded(hook)
	}
}
