package turn

import (
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
)

// warnAt is the share of a limit at which the user and the model are warned.
const warnAt = 0.8

// guardLimits ends the turn if it has reached a limit of its own, its session or a parent
// agent. It warns the model once about each limit that is near.
func (t *turn) guardLimits(step int) error {
	t.count()
	for m := t.meter; m != nil; m = m.parent {
		if err := t.guardPrice(m); err != nil {
			return err
		}
	}
	if err := t.guardOutside(); err != nil {
		return err
	}
	for _, g := range t.gauges(step) {
		switch {
		case g.limitValue <= 0:
		case g.reached() && g.kind == event.LimitSteps:
			return event.AbortLimit(g.kind, fmt.Sprintf("the turn took %d steps", t.Limits.Steps))
		case g.reached() && g.kind != event.LimitTime: // the context's timer ends the turn at this limit
			return event.AbortLimit(g.kind, fmt.Sprintf("the %s used %s", g.subject, g.usage()))
		case g.used >= warnAt*g.limitValue && !t.warnings[g.key]:
			t.warnings[g.key] = true
			if err := t.note(fmt.Sprintf(
				"The %s has used %s; it is ended at the limit. Finish what is most important, and say what is "+
					"left to do.",
				g.subject, g.usage(),
			)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *turn) guardOutside() error {
	if t.Limits.Outside == nil {
		return nil
	}
	top := t.meter
	for m := t.meter; m != nil; m = m.parent {
		if m.scope == "turn" {
			top = m
		}
	}
	spent, _ := top.total()
	if cause := t.Limits.Outside(spent); cause != nil {
		return cause
	}
	return nil
}

// guardPrice ends the turn if its cost is limited and a price is unknown.
func (t *turn) guardPrice(m *Meter) error {
	if m.limits.Cost <= 0 {
		return nil
	}
	limit := event.LimitCost
	if m.scope == "session" {
		limit = sessionLimit(limit)
	}
	if t.Model.Price == nil {
		return event.AbortLimit(limit, fmt.Sprintf(
			"the price of %s is not known, so its cost cannot be limited", t.Model.Name,
		))
	}
	if spent, _ := m.total(); spent.Unpriced > 0 {
		return event.AbortLimit(limit, fmt.Sprintf(
			"what %d earlier requests of the %s cost is not known, so its cost cannot be limited", spent.Unpriced,
			m.scope,
		))
	}
	return nil
}

// gauges returns the state of all limits that bound the turn.
func (t *turn) gauges(step int) []gauge {
	list := []gauge{stepGauge(step-1, t.Limits.Steps), timeGauge(time.Since(t.startedAt), t.Limits.Time)}
	for n := range list {
		list[n].subject, list[n].key = "turn", string(list[n].kind)
	}
	session := timeGauge(t.timeBefore+time.Since(t.startedAt), t.Limits.Session.Time)
	session.kind, session.subject, session.key = sessionLimit(session.kind), "session", "session time"
	list = append(list, session)
	above := -1
	for m := t.meter; m != nil; m = m.parent {
		if m.scope == "turn" { // the meter below it belongs to a child agent
			above++
		}
		list = append(list, m.gauges(above)...)
	}
	return list
}

// count adds the attempts that have ended since the last call to the meters.
func (t *turn) count() {
	var spent event.Summary
	t.Log.View(func(s event.State) {
		running := s.Turn(t.id)
		for running != nil && t.countedAttempts < len(running.Attempts) &&
			running.Attempts[t.countedAttempts].End != nil {
			a := running.Attempts[t.countedAttempts]
			spent.Add(*a.End)
			if a.End.Outcome == event.Completed && a.Start.Purpose == "" {
				spent.Steps++
			}
			t.countedAttempts++
		}
		if running == nil {
			return
		}
		for _, h := range running.Hooks {
			if h.Ended == nil || t.countedReviews[h.Hook] {
				continue
			}
			if end, ok := h.Ended.Spent(); ok {
				spent.Add(end)
				t.countedReviews[h.Hook] = true
			}
		}
	})
	t.meter.add(spent)
}

// timeWorked returns the sum of the run times of the session's ended turns.
func timeWorked(s event.State) (sum time.Duration) {
	for _, t := range s.Turns {
		if t.Cause != nil {
			sum += max(t.EndedAt.Sub(t.StartedAt), 0)
		}
	}
	return sum
}
