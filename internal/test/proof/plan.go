package proof

import (
	"errors"
	"strconv"
	"strings"
)

// ParsePlan reads the steps of a call, such as `print "a", take 2s`.
func ParsePlan(text string) (Plan, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("a plan is one line")
	}
	list, err := split(text)
	if err != nil {
		return nil, err
	}
	w := &words{left: list}
	p := readPlan(w)
	return p, w.err
}

// readPlan takes steps to the end of the line.
func readPlan(w *words) (p Plan) {
	for !w.done() {
		if len(p) > 0 && !w.accept(",") {
			w.fail("a comma is missing before %q", w.left[0].text)
			return p
		}
		s := Step{Kind: StepKind(w.word("a step"))}
		switch s.Kind {
		case Take, Deaf, Child, Await, Remote, Slow, Back, Twice, HostDies, Unreachable:
			s.For = w.duration("the time")
		case Print, Fail:
			s.Text = w.text()
		case Flood:
			s.Bytes = w.positive("how many bytes")
		case Leave, Panic, Inquire:
		default:
			w.fail("a call cannot %q", s.Kind)
		}
		p = append(p, s)
	}
	return p
}

// String returns the plan as ParsePlan reads it.
func (p Plan) String() string {
	var b strings.Builder
	for n, s := range p {
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(s.Kind))
		switch s.Kind {
		case Take, Deaf, Child, Await, Remote, Slow, Back, Twice, HostDies, Unreachable:
			b.WriteString(" " + s.For.String())
		case Print, Fail:
			b.WriteString(" " + strconv.Quote(s.Text))
		case Flood:
			b.WriteString(" " + strconv.Itoa(s.Bytes))
		}
	}
	return b.String()
}
