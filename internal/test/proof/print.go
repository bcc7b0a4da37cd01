package proof

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/modeltest"
)

// String returns the script in the turn language, as [Parse] reads it.
func (s Script) String() string {
	p := &printer{}
	p.line(s.Wire != "", "wire %s", s.Wire)
	p.line(s.Fallback != "", "fallback %s", s.Fallback)
	p.line(s.Window > 0, "window %d", s.Window)
	p.line(s.Caches != "", "caches %s", s.Caches)
	p.line(s.Compact != "", "compact %s", s.Compact)
	p.line(s.Holds.Tokens > 0 && !s.Holds.Terse, "holds %d of %d", s.Holds.Tokens, s.Holds.Bytes)
	p.line(s.Holds.Tokens > 0 && s.Holds.Terse, "holds %d of %d terse", s.Holds.Tokens, s.Holds.Bytes)
	p.limits(s.Limits)
	p.line(s.Families, "families")
	p.line(s.Searches, "searches")
	p.line(s.Hooks > 0, "hooks %d", s.Hooks)
	p.line(s.Ask, "ask")
	p.line(s.Plan, "plan")
	for _, r := range s.Reviews {
		p.line(r.After > 0, "review after %s %s", r.After, r.Kind)
		p.line(r.After == 0, "review %s", r.Kind)
	}
	for _, a := range s.Answers {
		p.answer(a)
	}
	for _, r := range s.Responses {
		p.response(r)
	}
	for _, m := range s.Moves {
		p.move(m)
	}
	for _, r := range s.Readers {
		p.reader(r)
	}
	for _, end := range s.Ends {
		p.line(true, "ends %s", end)
	}
	return p.b.String()
}

type printer struct{ b strings.Builder }

// line writes a line if there is true.
func (p *printer) line(there bool, format string, args ...any) {
	if there {
		fmt.Fprintf(&p.b, format+"\n", args...)
	}
}

func (p *printer) limits(l Limits) {
	p.line(l.Steps > 0, "limit steps %d", l.Steps)
	p.line(l.Repeats > 0, "limit repeats %d", l.Repeats)
	p.line(l.Time > 0, "limit time %s", l.Time)
	p.line(l.Retried, "retries %d", l.Retries)
	p.line(l.Stall > 0, "stall %s", l.Stall)
	p.line(l.Grace > 0, "grace %s", l.Grace)
}

func (p *printer) answer(a Answer) {
	head := "answer"
	if a.After > 0 {
		head += " after " + a.After.String()
	}
	if a.Verdict == "" {
		p.line(true, "%s nothing", head)
		return
	}
	head += " " + string(a.Verdict)
	if a.Edit != "" {
		head += " edit " + strconv.Quote(a.Edit)
	}
	if a.Permission != "" {
		head += " as " + a.Permission
	}
	if a.Message != "" {
		head += " " + strconv.Quote(a.Message)
	}
	p.line(true, "%s", head)
}

func (p *printer) response(r Response) {
	head := "model"
	if r.Pace > 0 {
		head += " paced " + r.Pace.String()
	}
	if r.Stop != "" {
		head += " stop " + string(r.Stop)
	}
	p.line(true, "%s", head)
	for _, i := range r.Items {
		switch i.Kind {
		case Call:
			p.line(true, "  %s", strings.TrimSpace("call "+i.Plan.String()))
		case Unknown, Invalid, Broken, Find:
			p.line(true, "  %s", i.Kind)
		default:
			p.line(true, "  %s %q", i.Kind, i.Text)
		}
	}
	for _, f := range r.Faults {
		p.line(true, "  %s", faultText(f))
	}
}

func (p *printer) move(m Move) {
	switch {
	case m.On > 0:
		p.line(true, "on %d %s", m.On, m.deed())
	case m.After > 0 || m.Do != Send:
		p.line(true, "after %s %s", m.After, m.deed())
	default:
		p.line(true, "%s", m.deed())
	}
}

func (m Move) deed() string {
	switch {
	case m.Do == Send:
		words := []string{"input"}
		if m.Mode != "" {
			words = append(words, string(m.Mode))
		}
		if m.Image {
			words = append(words, "image")
		}
		if m.Document {
			words = append(words, "document")
		}
		if m.Command {
			return strings.TrimSpace(strings.Join(append(words, "command", m.Text), " "))
		}
		return strings.Join(append(words, strconv.Quote(m.Text)), " ")
	case m.Do == Reject:
		return "reject " + rejectionText(m.Rejects)
	case m.Do == Switch:
		return fmt.Sprintf("%s %s", m.Do, m.Wire)
	case m.N > 0:
		return fmt.Sprintf("%s input %d", m.Do, m.N)
	case m.Do == Clock:
		return fmt.Sprintf("%s %s", m.Do, m.By)
	case m.Do == Held:
		return fmt.Sprintf("%s %s", m.Do, m.Verdict)
	}
	return string(m.Do)
}

func (p *printer) reader(r Reader) {
	head := "reader"
	if r.Slow > 0 {
		head += " slow " + r.Slow.String()
	}
	if r.Leaves > 0 {
		head += fmt.Sprintf(" leaves %d for %s", r.Leaves, r.For)
	}
	p.line(true, "%s", head)
}

func rejectionText(r modeltest.Rejection) string {
	switch {
	case r.Reasoning:
		return "reasoning"
	case r.Images:
		return "images"
	case r.Documents:
		return "documents"
	case r.Calls:
		return "calls"
	case r.Items > 0:
		return fmt.Sprintf("items %d", r.Items)
	}
	return fmt.Sprintf("text %q", r.Contains)
}
