package proof

import (
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/turn"
	"github.com/settle-agent/settle/modeltest"
)

// Parse reads a script in the turn language. The error names the line.
func Parse(text string) (Script, error) {
	var s Script
	for n, line := range strings.Split(text, "\n") {
		list, err := split(line)
		if err == nil && len(list) > 0 {
			w := &words{left: list}
			s.statement(w)
			if err = w.err; err == nil && !w.done() {
				err = fmt.Errorf("%q is too much", w.left[0].text)
			}
		}
		if err != nil {
			return Script{}, fmt.Errorf("cannot read the script: line %d: %w", n+1, err)
		}
	}
	return s, nil
}

// statement reads one line.
func (s *Script) statement(w *words) {
	switch verb := w.word("a word"); verb {
	case "wire":
		s.Wire = Wire(w.word("the wire"))
		if !slices.Contains(Wires(), s.Wire) && !slices.Contains(Providers(), s.Wire) {
			w.fail("there is no wire %q", s.Wire)
		}
	case "fallback":
		if s.Fallback = Wire(w.word("the wire")); !slices.Contains(Wires(), s.Fallback) {
			w.fail("there is no wire %q", s.Fallback)
		}
	case "window":
		s.Window = w.positive("the window")
	case "compact":
		s.Compact = turn.Compaction(w.word("how"))
		if !slices.Contains(
			[]turn.Compaction{turn.CompactionOff, turn.CompactionMechanical, turn.CompactionAuto}, s.Compact,
		) {
			w.fail("nobody compacts %q", s.Compact)
		}
	case "caches":
		s.Caches = w.word("the model")
	case "holds":
		s.Holds = readHolds(w)
	case "limit", "retries", "stall", "grace":
		s.Limits.read(w, verb)
	case "families":
		s.Families = true
	case "searches":
		s.Searches = true
	case "ask":
		s.Ask = true
	case "hooks":
		s.Hooks = w.positive("the seed")
	case "answer":
		s.Answers = append(s.Answers, readAnswer(w))
	case "review":
		s.Reviews = append(s.Reviews, readReview(w))
	case "plan":
		s.Plan = true
	case "model":
		s.Responses = append(s.Responses, readResponse(w))
	case "input":
		s.Moves = append(s.Moves, readInput(w))
	case "on":
		n := w.positive("the event")
		m := readMove(w)
		m.On = n
		s.Moves = append(s.Moves, m)
	case "after":
		d := w.duration("the time")
		m := readMove(w)
		m.After = d
		s.Moves = append(s.Moves, m)
	case "ends":
		s.Ends = append(s.Ends, w.word("the end"))
	case "reader":
		s.Readers = append(s.Readers, readReader(w))
	default:
		s.inResponse(w, verb)
	}
}

// inResponse reads a line that belongs to the last response.
func (s *Script) inResponse(w *words, verb string) {
	if len(s.Responses) == 0 {
		w.fail("%q is no statement, or stands before the first model", verb)
		return
	}
	r := &s.Responses[len(s.Responses)-1]
	switch kind := ItemKind(verb); kind {
	case Say, Think, Redacted, Refuse, Propose:
		r.Items = append(r.Items, Item{Kind: kind, Text: w.text()})
		if r.Items[len(r.Items)-1].Text == "" {
			w.fail("the model cannot say nothing")
		}
	case Call:
		r.Items = append(r.Items, Item{Kind: kind, Plan: readPlan(w)})
	case Unknown, Invalid, Broken, Find:
		r.Items = append(r.Items, Item{Kind: kind})
	case "fault":
		r.Faults = append(r.Faults, readFault(w))
	default:
		w.fail("%q is no statement", verb)
	}
}

func (l *Limits) read(w *words, verb string) {
	switch verb {
	case "retries":
		l.Retries, l.Retried = w.number("how often"), true
	case "stall":
		l.Stall = w.duration("the time")
	case "grace":
		l.Grace = w.duration("the time")
	default:
		switch of := w.word("what is limited"); of {
		case "steps":
			l.Steps = w.number("how many")
		case "repeats":
			l.Repeats = w.number("how many")
		case "time":
			l.Time = w.duration("the time")
		default:
			w.fail("there is no limit on %q", of)
		}
	}
}

func readAnswer(w *words) (a Answer) {
	if w.accept("after") {
		a.After = w.duration("the time")
	}
	if w.accept("nothing") {
		return a
	}
	a.Verdict = readVerdict(w)
	if w.accept("edit") {
		a.Edit = w.text()
	}
	if w.accept("as") {
		a.Permission = w.word("the permission")
	}
	if !w.done() {
		a.Message = w.text()
	}
	return a
}

func readVerdict(w *words) event.Verdict {
	v := event.Verdict(w.word("the answer"))
	switch v {
	case event.Approved, event.ApprovedSession, event.Denied, event.ApprovalAborted:
	default:
		w.fail("%q is no answer", v)
	}
	return v
}

func readReview(w *words) (r Review) {
	if w.accept("after") {
		r.After = w.duration("the time")
	}
	switch r.Kind = ReviewKind(w.word("the verdict")); r.Kind {
	case Allows, Asks, Fails, Stalls:
	default:
		w.fail("%q is no review", r.Kind)
	}
	return r
}

func readResponse(w *words) (r Response) {
	if w.accept("paced") {
		r.Pace = w.duration("the pace")
	}
	if w.accept("stop") {
		r.Stop = modeltest.StopReason(w.word("why it stops"))
	}
	return r
}

func readInput(w *words) Move {
	m := Move{Do: Send}
	for _, mode := range []event.Mode{event.Queue, event.Steer, event.Replace} {
		if m.Mode == "" && w.accept(string(mode)) {
			m.Mode = mode
		}
	}
	m.Image = w.accept("image")
	m.Document = w.accept("document")
	if m.Command = w.accept("command"); m.Command {
		m.Text = readPlan(w).String()
		return m
	}
	m.Text = w.text()
	if strings.TrimSpace(m.Text) == "" {
		w.fail("an input cannot be empty")
	}
	return m
}

func readMove(w *words) Move {
	switch deed := Deed(w.word("what is done")); deed {
	case Send:
		return readInput(w)
	case Interrupt:
		m := Move{Do: deed}
		if w.accept("input") {
			m.N = w.positive("the input")
		}
		return m
	case Reject:
		return Move{Do: deed, Rejects: readRejection(w)}
	case Switch:
		m := Move{Do: deed, Wire: Wire(w.word("the wire"))}
		if !slices.Contains(Wires(), m.Wire) {
			w.fail("there is no wire %q", m.Wire)
		}
		return m
	case Clock:
		return Move{Do: deed, By: w.jump("how far")}
	case Held:
		return Move{Do: deed, Verdict: readVerdict(w)}
	case Hurry, Cancel, Drop, Compact, Crash, Close, Fill, Ruin, Account:
		return Move{Do: deed}
	default:
		w.fail("nobody can %q", deed)
	}
	return Move{}
}

func readReader(w *words) (r Reader) {
	if w.accept("slow") {
		r.Slow = w.duration("the time")
	}
	if w.accept("leaves") {
		r.Leaves = w.positive("how many events")
		w.accept("for")
		r.For = w.duration("the time")
	}
	return r
}

// readHolds takes TOKENS of BYTES [terse].
func readHolds(w *words) (h Holds) {
	h.Tokens = w.positive("how many tokens")
	if !w.accept("of") {
		w.fail("it is not said of how many bytes a token is")
	}
	h.Bytes = w.positive("the bytes")
	h.Terse = w.accept("terse")
	return h
}

// readRejection takes reasoning, images, calls, items N or text "…".
func readRejection(w *words) (r modeltest.Rejection) {
	switch what := w.word("what is not taken"); what {
	case "reasoning":
		r.Reasoning = true
	case "images":
		r.Images = true
	case "documents":
		r.Documents = true
	case "calls":
		r.Calls = true
	case "items":
		r.Items = w.positive("how many")
	case "text":
		if r.Contains = w.text(); r.Contains == "" {
			w.fail("the text is empty")
		}
	default:
		w.fail("nobody rejects %q", what)
	}
	return r
}
