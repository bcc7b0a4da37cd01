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
	scope  string // "turn" or "session"
	limits run.SessionLimits
	parent *Meter

	mu     sync.Mutex
	spent  event.Summary // guarded by mu
	shared bool          // others than its own turns added to it; guarded by mu
}

// NewMeter returns the meter of a session, which has taken something before. One
// below another is bounded by that alone.
func NewMeter(limits run.SessionLimits, before event.Summary, up *Meter) *Meter {
	m := &Meter{scope: "session", limits: limits, parent: up, spent: before}
	if up != nil {
		m.limits = run.SessionLimits{}
		up.share()
	}
	return m
}

func (m *Meter) share() {
	for ; m != nil; m = m.parent {
		m.mu.Lock()
		m.shared = true
		m.mu.Unlock()
	}
}

// add adds what a request took.
func (m *Meter) add(sum event.Summary) {
	for ; m != nil; m = m.parent {
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
	kind             event.Limit
	subject          string // takes it
	key              string // that no other gauge of the turn has
	used, limitValue float64
	show             func(amount float64) string
	unit             string
}

// words says who has used how much of how much.
func (g gauge) usage() string { return g.show(g.used) + " of " + g.show(g.limitValue) + g.unit }

// reached reports whether there is nothing left.
func (g gauge) reached() bool { return g.limitValue > 0 && g.used >= g.limitValue }

func tokenGauge(used int64, of int64) gauge {
	return gauge{kind: event.LimitTokens, used: float64(used), limitValue: float64(of), show: count, unit: " tokens"}
}

func costGauge(used, of float64) gauge {
	return gauge{kind: event.LimitCost, used: used, limitValue: of, show: func(usd float64) string { return fmt.Sprintf("$%.4g", usd) }}
}

func stepGauge(used, of int) gauge {
	return gauge{kind: event.LimitSteps, used: float64(used), limitValue: float64(of), show: count, unit: " steps"}
}

func timeGauge(used, of time.Duration) gauge {
	return gauge{
		kind: event.LimitTime, used: used.Round(time.Second).Seconds(), limitValue: of.Seconds(),
		show: func(seconds float64) string { return formatDuration(time.Duration(seconds * float64(time.Second))) },
	}
}

func count(n float64) string { return fmt.Sprintf("%.0f", n) }

// gauges are those of the meter, which is so many sessions above the turn that asks.
func (m *Meter) gauges(above int) (list []gauge) {
	spent, shared := m.total()
	who := m.scope
	if above > 0 {
		who = "parent agent's " + who
	}
	if shared {
		who += ", with its child agents,"
	}
	for n, g := range []gauge{
		stepGauge(spent.Steps, m.limits.Steps),
		tokenGauge(spent.Usage.Total(), m.limits.Tokens),
		costGauge(spent.Cost, m.limits.Cost),
	} {
		g.subject, g.key = who, fmt.Sprint(m.scope, above, n)
		if m.scope == "session" {
			g.kind = sessionLimit(g.kind)
		}
		list = append(list, g)
	}
	return list
}

// ofSession is the session's limit on the same.
func sessionLimit(l event.Limit) event.Limit { return "session_" + l }
