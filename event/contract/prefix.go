package contract

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/settle-agent/settle/event"
)

// Request is a model request, reduced to the parts that the prefix law covers (C21).
type Request struct {
	Attempt string   // attempt that sent it
	Basis   string   // the instructions and the tools, in their order and bytes
	Items   []string // the conversation
}

// CheckRequests returns, joined, each request that does not extend the previous request
// to the same model, though the log has no prefix change between them. It skips a
// request whose attempt is not in the log: its writer died first.
func CheckRequests(events []event.Event, requests []Request) error {
	sent := map[string]Request{}
	for _, r := range requests {
		sent[r.Attempt] = r
	}
	p := prefixes{
		last: map[requestTarget]Request{}, trials: map[requestTarget]bool{}, attempts: map[string]requestTarget{},
	}
	l := &log{}
	for _, e := range events {
		l.now = e
		p.read(l, e, sent)
	}
	return errors.Join(l.found...)
}

// requestTarget is the model of a request.
type requestTarget struct{ provider, model string }

type prefixes struct {
	last     map[requestTarget]Request // since the last prefix change; none directly after one
	trials   map[requestTarget]bool    // omitted parts can return
	attempts map[string]requestTarget
}

func (p *prefixes) read(l *log, e event.Event, sent map[string]Request) {
	switch d := e.Data.(type) {
	case event.HistoryChanged:
		switch d.Change {
		case event.ChangeWindow, event.ChangeModel: // the law is per model
			return
		case event.ChangeCompacted:
			clear(p.last)
			return
		}
		to := requestTarget{d.Provider, d.Model}
		delete(p.last, to)
		p.trials[to] = d.Change == event.ChangeLeftOut
	case event.AttemptStarted:
		to := requestTarget{d.Provider, d.Model}
		p.attempts[e.Attempt] = to
		r, ok := sent[e.Attempt]
		if !ok {
			return
		}
		before, ok := p.last[to]
		if d.Purpose != "" { // the instruction comes last, and is no part of the conversation
			if n := len(r.Items); ok && n > 0 {
				r.Items = r.Items[:n-1]
				before.Items = before.Items[:min(len(before.Items), len(r.Items))]
				r.extends(l, before)
			}
			return
		}
		if ok {
			r.extends(l, before)
		}
		p.last[to] = r
	case event.AttemptEnded:
		to := p.attempts[e.Attempt]
		if refuses(d) {
			delete(p.last, to)
		}
		if d.Outcome == event.Completed {
			p.trials[to] = false
		}
	case event.TurnCompleted, event.TurnAborted, event.TurnFailed:
		for to, trial := range p.trials {
			if trial {
				delete(p.last, to)
			}
		}
		clear(p.trials)
	}
}

// refuses reports whether the provider refused the content of the request (ADR 7).
func refuses(d event.AttemptEnded) bool {
	if f := d.Failure; f != nil {
		kinds := []string{"reasoning_refused", "image_refused", "document_refused", "too_many_bytes", "content_policy"}
		return slices.Contains(kinds, f.Kind) ||
			f.Status == http.StatusRequestEntityTooLarge
	}
	return d.StopReason == "refusal" || d.StopReason == "content_filter"
}

func (r Request) extends(l *log, before Request) {
	if r.Basis != before.Basis {
		l.breaks("C21", "the instructions or the tools differ from attempt %s", before.Attempt)
	}
	for n, item := range before.Items {
		if n >= len(r.Items) {
			l.breaks(
				"C21", "the request has %d items, and the request of attempt %s had %d", len(r.Items), before.Attempt,
				len(before.Items),
			)
			return
		}
		if item != r.Items[n] {
			l.breaks(
				"C21", "item %d of the request differs from attempt %s:\nbefore: %s\nnow:    %s", n+1, before.Attempt,
				short(item), short(r.Items[n]),
			)
			return
		}
	}
}

func short(s string) string {
	const limit = 300
	if len(s) <= limit {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:limit], len(s))
}
