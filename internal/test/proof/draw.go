package proof

import (
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/modeltest"
)

// Draw draws a session by its seed: a plain session, or one with children, an executor
// or hooks.
func Draw(seed int) Script {
	s := rapid.Custom(draw).Example(seed)
	switch seed % 4 {
	case 1:
		return adopt(s, uint64(seed)) // any number is a seed
	case 2:
		return handOver(s, uint64(seed)) // any number is a seed
	case 3:
		return hook(s, seed)
	}
	return s
}

// hook has hooks refuse, change and fail events of a script.
func hook(s Script, seed int) Script {
	s.Hooks, s.Ends = 1+seed%(1<<20), nil // they may end otherwise
	return s
}

// draw draws a whole session. Shrinking leaves parts out.
func draw(t *rapid.T) Script {
	d := drawer{t}
	s := Script{Wire: pick(d, "wire", Wires()...)}
	if d.rarely() {
		s.Wire = pick(d, "provider", Providers()...)
	}
	s.Limits = d.limits()
	if _, provider := s.Wire.split(); provider == "" && d.rarely() { // otherwise the server has rules of its own
		s.Fallback = pick(d, "fallback", Wires()...)
	}
	if d.rarely() {
		s.Window = pick(d, "window", 600, 2_000, 20_000)
	}
	if d.rarely() {
		s.Holds = d.holds()
	}
	if s.Window > 0 || s.Holds.Tokens > 0 || d.rarely() {
		s.Compact = pick(d, "compact", turn.CompactionAuto, turn.CompactionMechanical, "")
	}
	if s.Ask = d.rarely(); s.Ask {
		s.Answers = many(d, "answers", 3, d.answer)
	}
	s.Responses = many(d, "responses", 4, d.response)
	s.Moves = append([]Move{{Do: Send, Text: d.text()}}, many(d, "moves", 5, d.move)...)
	if _, provider := s.Wire.split(); provider != "" { // which requires parts that another provider might reject
		s.Moves = slices.DeleteFunc(s.Moves, func(m Move) bool { return m.Do == Reject })
	}
	s.Readers = many(d, "readers", 2, d.reader)
	s.Families = pick(d, "families", false, true)
	s.Searches = pick(d, "searches", false, true)
	return s
}

// drawer draws the parts.
type drawer struct{ t *rapid.T }

func pick[T any](d drawer, what string, of ...T) T { return rapid.SampledFrom(of).Draw(d.t, what) }

// many draws up to n of a kind.
func many[T any](d drawer, what string, n int, one func() T) (out []T) {
	for range rapid.IntRange(0, n).Draw(d.t, what) {
		out = append(out, one())
	}
	return out
}

func (d drawer) rarely() bool { return rapid.IntRange(0, 4).Draw(d.t, "1 in 5") == 4 }

func (d drawer) often() bool { return rapid.IntRange(0, 3).Draw(d.t, "3 in 4") > 0 }

func (d drawer) number(what string, from, to int) int {
	return rapid.IntRange(from, to).Draw(d.t, what)
}

// long draws a time, from the shortest to a day.
func (d drawer) long() time.Duration {
	return pick(
		d, "time", time.Millisecond, 100*time.Millisecond, 249*time.Millisecond, 250*time.Millisecond, time.Second,
		3*time.Second, 20*time.Second, 2*time.Minute, 20*time.Minute,
	)
}

// text draws a text: plain, long, in other scripts, or with the secret.
func (d drawer) text() string {
	return pick(
		d,
		"text",
		"a",
		"Let me look at it.",
		"  spaces \n lines\t",
		"ünïcödé 漢字 🙂 text",
		"x"+Secret+"y "+Secret,
		strings.Repeat("long ", 40),
		"[The turn was interrupted]",
		`{"json": ["is", "text"]}`,
		Secret[:12],
		"***",
		"It is taboo.",
	)
}

// holds draws a window of some kilobytes.
func (d drawer) holds() Holds {
	h := Holds{Bytes: pick(d, "bytes", 4, 2, 1), Terse: d.rarely()}
	h.Tokens = pick(d, "kilobytes", 6_000, 20_000, 100_000) / h.Bytes
	return h
}

func (d drawer) rejection() modeltest.Rejection {
	return pick(
		d,
		"rejects",
		modeltest.Rejection{Reasoning: true},
		modeltest.Rejection{Images: true},
		modeltest.Rejection{Documents: true},
		modeltest.Rejection{Calls: true},
		modeltest.Rejection{
			Contains: "taboo",
		},
		modeltest.Rejection{Contains: "taboo"},
		modeltest.Rejection{Items: 4},
		modeltest.Rejection{Items: 9},
	)
}

func (d drawer) limits() (l Limits) {
	if d.rarely() {
		l.Steps = d.number("steps", 1, 3)
	}
	if d.rarely() {
		l.Repeats = d.number("repeats", 1, 3)
	}
	if d.rarely() {
		l.Time = d.long()
	}
	if d.rarely() {
		l.Retries, l.Retried = d.number("retries", 0, 2), true
	}
	if d.rarely() {
		l.Stall = d.long()
	}
	if d.rarely() {
		l.Grace = d.long()
	}
	return l
}

func (d drawer) answer() (a Answer) {
	if d.often() {
		a.After = d.long()
	}
	a.Verdict = pick(
		d, "verdict", event.Approved, event.Approved, event.Denied, event.ApprovedSession, event.ApprovalAborted, "",
	)
	return a
}

func (d drawer) response() (r Response) {
	if d.often() {
		r.Pace = d.long()
	}
	if d.rarely() {
		r.Stop = pick(
			d, "stop", modeltest.StopMaxTokens, modeltest.StopRefusal, modeltest.StopPause, modeltest.StopFilter,
			modeltest.StopSequence, modeltest.StopEndTurn,
		)
	}
	r.Items = many(d, "items", 5, d.item)
	r.Faults = many(d, "faults", 2, d.fault)
	return r
}

func (d drawer) item() (i Item) {
	i.Kind = pick(d, "item", Say, Call, Think, Call, Say, Call, Redacted, Refuse, Unknown, Invalid, Broken, Find)
	switch i.Kind {
	case Call:
		i.Plan = many(d, "steps", 4, d.step)
	case Unknown, Invalid, Broken, Find:
	default:
		if i.Text = d.text(); d.rarely() && i.Kind != Refuse {
			i.Text = strings.Repeat("a long answer ", 1000)
		}
	}
	return i
}

func (d drawer) step() (s Step) {
	s.Kind = pick(d, "step", Print, Take, Take, Deaf, Fail, Panic, Leave, Flood, Inquire)
	switch s.Kind {
	case Take, Deaf:
		s.For = d.long()
	case Print, Fail:
		s.Text = d.text()
	case Flood:
		s.Bytes = pick(d, "bytes", 700, 10_000, 200_000)
	}
	return s
}

// fault draws any fault that the server knows.
func (d drawer) fault() modeltest.Fault {
	f := modeltest.Fault{Kind: pick(d, "fault", modeltest.FaultKinds()...)}
	f.Times = pick(d, "times", 1, 0, 2)
	switch f.Kind {
	case modeltest.FaultStatus:
		f.Status = pick(d, "status", 529, 429, 400, 401, 403, 404, 408, 409, 413, 422, 425, 500, 502, 503, 504)
		f.RetryAfter = pick[modeltest.RetryAfter](
			d, "retry", "", "2", "-5", "soon", "999999999", "date 7s", "ms 250", "message 3s",
		)
	case modeltest.FaultForeign, modeltest.FaultContentType:
		f.ContentType, f.Body = "text/html", "<html></html>"
	case modeltest.FaultOversized:
		f.Bytes = 100_000
		f.At = d.place()
	case modeltest.FaultDrip:
		f.Every = modeltest.Duration(pick(d, "every", time.Millisecond, time.Second))
	case modeltest.FaultSilence, modeltest.FaultPings:
		f.At = d.place()
		if d.often() {
			f.For = modeltest.Duration(d.long())
		}
		f.Every = modeltest.Duration(pick(d, "every", time.Minute, 10*time.Second))
	case modeltest.FaultReset,
		modeltest.FaultCut,
		modeltest.FaultClose,
		modeltest.FaultMalformed,
		modeltest.FaultError,
		modeltest.FaultUnknown:
		f.At = d.place()
	}
	if fails(f) && d.rarely() {
		f.Times = modeltest.Always
	}
	return f
}

// fails reports whether a response with the fault cannot be a good one: others
// must pass some time, or the model would say the same for ever.
func fails(f modeltest.Fault) bool {
	switch f.Kind {
	case modeltest.FaultStatus, modeltest.FaultForeign:
		return true
	case modeltest.FaultReset, modeltest.FaultCut, modeltest.FaultClose, modeltest.FaultMalformed, modeltest.FaultError:
		return f.At != modeltest.AfterEnd
	case modeltest.FaultSilence, modeltest.FaultPings:
		return f.At != modeltest.AfterEnd && f.For == 0
	}
	return false
}

func (d drawer) place() modeltest.At {
	switch pick(d, "place", "delta", "call", "arguments", "") {
	case "delta":
		return modeltest.AfterDelta(d.number("delta", 1, 12))
	case "call":
		return modeltest.AfterCall(d.number("call", 1, 3))
	case "arguments":
		return modeltest.WithinArguments(d.number("call", 1, 3))
	}
	return pick(
		d, "place", modeltest.BeforeHeaders, modeltest.AfterHeaders, modeltest.AfterItems, modeltest.BeforeEnd,
		modeltest.AfterEnd,
	)
}

func (d drawer) move() (m Move) {
	if d.often() {
		m.On = d.number("event", 1, 60)
	} else {
		m.After = d.long()
	}
	m.Do = pick(
		d, "deed", Interrupt, Send, Send, Crash, Cancel, Interrupt, Close, Drop, Compact, Hurry, Fill, Ruin, Clock,
		Account, Reject, Switch,
	)
	switch {
	case m.Do == Clock:
		m.By = pick(d, "jump", time.Hour, -time.Hour, 400*24*time.Hour, -400*24*time.Hour, -time.Millisecond)
	case m.Do == Switch:
		m.Wire = pick(d, "to", Wires()...)
	case m.Do == Reject:
		m.Rejects = d.rejection()
	case m.Do == Send:
		if m.Command = d.rarely(); m.Command {
			m.Text, m.Mode = append(
				Plan{d.step()},
				many(d, "steps", 3, d.step)...).String(),
				pick(d, "mode", "", event.Steer, event.Replace, event.Queue)
			break
		}
		m.Image, m.Document = d.rarely(), d.rarely()
		m.Text, m.Mode = d.text(), pick(d, "mode", "", event.Steer, event.Replace, event.Queue)
	case m.Do == Interrupt && d.rarely():
		m.N = d.number("input", 1, 4)
	}
	return m
}

func (d drawer) reader() (r Reader) {
	if d.rarely() {
		r.Slow = d.long()
	}
	if d.often() {
		r.Leaves, r.For = d.number("leaves", 1, 9), d.long()
	}
	return r
}
