package turn

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/run"
)

// Meter sums up and bounds the tokens, steps and cost of a turn or a session, including
// everything below it. A turn's meter is below its session's, and a child session's is below
// the meter of the turn that started the child. Several goroutines may call its methods; a nil
// Meter counts nothing.
type Meter struct {
	scope  string // "turn" or "session"
	limits run.SessionLimits
	parent *Meter

	mu     sync.Mutex
	spent  event.Summary // guarded by mu
	shared bool          // includes child agents; guarded by mu
}

// NewMeter returns the meter of a session, with the usage from before it was opened. Only the
// limits above bound a session that has a parent meter.
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

// add adds the usage of a request, here and in all meters above.
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

// MeterOf returns the meter of the turn whose call has the context ctx; nil for another
// context. It is the parent of the meters of child agents that the call starts.
func MeterOf(ctx context.Context) *Meter {
	m, _ := ctx.Value(meterKey{}).(*Meter)
	return m
}

// gauge is the state of one limit.
type gauge struct {
	kind             event.Limit
	subject          string // whose usage it is, for messages
	key              string // unique among the gauges of the turn
	used, limitValue float64
	show             func(amount float64) string
	unit             string
}

// usage returns the used amount and the limit, for messages.
func (g gauge) usage() string { return g.show(g.used) + " of " + g.show(g.limitValue) + g.unit }

// reached reports whether the limit is used up.
func (g gauge) reached() bool { return g.limitValue > 0 && g.used >= g.limitValue }

func tokenGauge(used int64, of int64) gauge {
	return gauge{kind: event.LimitTokens, used: float64(used), limitValue: float64(of), show: count, unit: " tokens"}
}

func costGauge(used, of float64) gauge {
	return gauge{
		kind: event.LimitCost, used: used, limitValue: of,
		show: func(usd float64) string { return fmt.Sprintf("$%.4g", usd) },
	}
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

// gauges returns the gauges of a meter that is the given number of sessions above the turn.
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

// sessionLimit returns the session's limit of the same kind.
func sessionLimit(l event.Limit) event.Limit { return "session_" + l }
