package turn

import (
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
)

// Limits end a turn that goes on for too long. They are looked at before each
// request, the time at any moment.
type Limits struct {
	Steps   int           // responses of the model; 0 for no limit
	Time    time.Duration // 0 for no limit
	Repeats int           // same call, same result; 0 means 10, negative none
	Tokens  int64         // input and output of all requests; 0 for no limit
	Cost    float64       // of all requests, in US dollars; 0 for no limit
}

// warnAt is the share of a limit at which the model is told of it.
const warnAt = 0.8

// gauge is how much of a limit is used.
type gauge struct {
	limit    event.Limit
	used, of float64
	show     func(amount float64) string
	unit     string
}

// words says how much is used of how much.
func (g gauge) words() string { return g.show(g.used) + " of " + g.show(g.of) + g.unit }

// guardLimits ends the turn where a limit is reached, and tells the model once
// of each that soon will be.
func (t *turn) guardLimits(step int) error {
	if t.Limits.Cost > 0 && t.Model.Price == nil {
		return event.AbortLimit(event.LimitCost, fmt.Sprintf("the price of %s is not known, so its cost cannot be limited", t.Model.Name))
	}
	for _, g := range t.gauges(step) {
		switch {
		case g.of <= 0:
		case g.used >= g.of && g.limit == event.LimitSteps:
			return event.AbortLimit(g.limit, fmt.Sprintf("the turn took %d steps", t.Limits.Steps))
		case g.used >= g.of && g.limit != event.LimitTime: // which is the context's
			return event.AbortLimit(g.limit, "the turn used "+g.words())
		case g.used >= warnAt*g.of && !t.warned[g.limit]:
			t.warned[g.limit] = true
			if err := t.note(fmt.Sprintf("This turn has used %s; it is ended at the limit. Finish what is most important, and say what is left to do.", g.words())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *turn) gauges(step int) []gauge {
	spent := t.count()
	took := time.Since(t.began).Round(time.Second)
	tokens := spent.Usage.Input + spent.Usage.Output
	count := func(n float64) string { return fmt.Sprintf("%.0f", n) }
	span := func(seconds float64) string { return words(time.Duration(seconds * float64(time.Second))) }
	dollars := func(usd float64) string { return fmt.Sprintf("$%.4g", usd) }
	return []gauge{
		{event.LimitSteps, float64(step - 1), float64(t.Limits.Steps), count, " steps"},
		{event.LimitTime, took.Seconds(), t.Limits.Time.Seconds(), span, ""},
		{event.LimitTokens, float64(tokens), float64(t.Limits.Tokens), count, " tokens"},
		{event.LimitCost, spent.Cost, t.Limits.Cost, dollars, ""},
	}
}

// count returns what the turn's attempts took that have ended.
func (t *turn) count() event.Summary {
	t.Log.View(func(s event.State) {
		running := s.Running()
		for running != nil && t.counted < len(running.Attempts) && running.Attempts[t.counted].End != nil {
			t.spent.Add(*running.Attempts[t.counted].End)
			t.counted++
		}
	})
	return t.spent
}
