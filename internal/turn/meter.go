package turn

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/run"
)

// Meter counts what a turn or a session takes as it goes, with what is below it, and
// bounds it: a turn's is below its session's, and that of a child agent's session
// below that of the turn which started it. Its methods may be called by several
// goroutines; a nil Meter counts nothing.
type Meter struct {
	of     string // "turn" or "session"
	limits run.SessionLimits
	up     *Meter

	mu     sync.Mutex
	spent  event.Summary // guarded by mu
	shared bool          // others than its own turns added to it; guarded by mu
}

// NewMeter returns the meter of a session, which has taken something before. One
// below another is bounded by that alone.
func NewMeter(limits run.SessionLimits, before event.Summary, up *Meter) *Meter {
	m := &Meter{of: "session", limits: limits, up: up, spent: before}
	if up != nil {
		m.limits = run.SessionLimits{}
		up.share()
	}
	return m
}

func (m *Meter) share() {
	for ; m != nil; m = m.up {
		m.mu.Lock()
		m.shared = true
		m.mu.Unlock()
	}
}

// add adds what a request took.
func (m *Meter) add(sum event.Summary) {
	for ; m != nil; m = m.up {
		m.mu.Lock()
		m.spent.Join(sum)
		m.mu.Unlock()
	}
}

func (m *Meter) total() (spent event.Summary, shared bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent, m.shared
}

type meterKey struct{}

// MeterOf returns the meter of the turn whose call the context is; nil for another
// context. What the call starts is below it.
func MeterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}

// gauge is how much of a limit is used.
type gauge struct {
	limit    event.Limit
	who      string // takes it
	key      string // that no other gauge of the turn has
	used, of float64
	show     func(amount float64) string
	unit     string
}

// words says who has used how much of how much.
func (g gauge) words() string { return g.show(g.used) + " of " + g.show(g.of) + g.unit }

// reached reports whether there is nothing left.
func (g gauge) reached() bool { return g.of > 0 && g.used >= g.of }

func tokensOf(used int64, of int64) gauge {
	return gauge{limit: event.LimitTokens, used: float64(used), of: float64(of), show: count, unit: " tokens"}
}

func costOf(used, of float64) gauge {
	return gauge{limit: event.LimitCost, used: used, of: of, show: func(usd float64) string { return fmt.Sprintf("$%.4g", usd) }}
}

func stepsOf(used, of int) gauge {
	return gauge{limit: event.LimitSteps, used: float64(used), of: float64(of), show: count, unit: " steps"}
}

func timeOf(used, of time.Duration) gauge {
	return gauge{
		limit: event.LimitTime, used: used.Round(time.Second).Seconds(), of: of.Seconds(),
		show: func(seconds float64) string { return words(time.Duration(seconds * float64(time.Second))) },
	}
}

func count(n float64) string { return fmt.Sprintf("%.0f", n) }

// gauges are those of the meter, which is so many sessions above the turn that asks.
func (m *Meter) gauges(above int) (list []gauge) {
	spent, shared := m.total()
	who := m.of
	if above > 0 {
		who = "parent agent's " + who
	}
	if shared {
		who += ", with its child agents,"
	}
	for n, g := range []gauge{
		stepsOf(spent.Steps, m.limits.Steps),
		tokensOf(spent.Usage.Total(), m.limits.Tokens),
		costOf(spent.Cost, m.limits.Cost),
	} {
		g.who, g.key = who, fmt.Sprint(m.of, above, n)
		if m.of == "session" {
			g.limit = ofSession(g.limit)
		}
		list = append(list, g)
	}
	return list
}

// ofSession is the session's limit on the same.
func ofSession(l event.Limit) event.Limit { return "session_" + l }
