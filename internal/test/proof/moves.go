package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"time"

	"github.com/settle-agent/settle/approval"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/session"
	"github.com/settle-agent/settle/internal/test/pdftest"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool/plan"
)

// do makes a move on the process, and checks the result.
func (w *world) do(p *process, m Move, input string) {
	switch m.Do {
	case Send:
		w.send(p, m, input)
	case Interrupt:
		r := session.Request{By: "user"}
		if m.N > 0 {
			r.Input = inputID(m.N)
		}
		w.interrupt(p, r)
	case Hurry:
		w.interrupt(p, session.Request{By: "user", Hurry: true})
	case Cancel:
		if item := oldestCall(p); item != "" {
			p.session.Cancel(item, "user")
		}
	case Drop:
		w.drop(p)
	case Compact:
		w.compact(p)
	case Crash:
		p.mount.become(killed)
	case Switch:
		to := m.Wire
		if _, provider := w.script.Wire.split(); provider != "" { // who speaks another format to the same server
			to += Wire("/" + provider)
		}
		w.wire.Store(to)
		w.wantClose()
	case Close:
		w.wantClose()
	case Fill:
		w.failing.Store(true)
		p.mount.become(full)
	case Ruin:
		w.failing.Store(true)
		p.mount.become(broken)
	case Account:
		w.server.SetAccount(fmt.Sprint("account ", w.accounts.Add(1)))
	case Reject:
		w.server.Reject(m.Rejects)
	case Clock:
		w.skew.Add(int64(m.By))
	case Held:
		w.answerOldest(p, m.Verdict)
	}
}

func inputID(n int) string { return fmt.Sprintf("i%d", n) }

// send: C19, an accepted input is durable. An interrupt or a close withdraws an input whose
// document is being read; then the log must not have it.
func (w *world) send(p *process, m Move, id string) {
	in := run.Input{ID: id, Text: m.Text, Mode: m.Mode, By: "user", Command: m.Command}
	if m.Image {
		in.Images = []event.Image{{MediaType: "image/png", Data: dot(), Name: "dot.png"}}
	}
	if m.Document {
		in.Documents = []event.Document{{
			Data: pdftest.New("A page."), Name: "page.pdf", Pages: 1, Text: "--- page 1 of 1\nA page.",
		}}
	}
	_, err := p.session.Submit(context.Background(), in)
	switch {
	case err == nil:
		w.mu.Lock()
		w.accepted = append(w.accepted, id)
		w.mu.Unlock()
	case p.dead() || w.failing.Load() || errors.Is(err, session.ErrClosed):
	case m.Document && withdrawn(err):
		p.log.View(func(s event.State) {
			if s.Accepted(id) {
				w.broke("C19", "an input was withdrawn (%v) and accepted", err)
			}
		})
	default:
		w.broke("C19", "an input was not accepted: %v", err)
	}
}

func withdrawn(err error) bool {
	var cause *event.Cause
	return errors.As(err, &cause) && cause.Outcome == event.Aborted
}

// compact: C10, it is answered after the terminal event of its turn is written.
func (w *world) compact(p *process) {
	ctx, cancel := context.WithCancel(p.life)
	defer cancel()
	o, err := p.session.Compact(ctx, "user")
	if err != nil || o.Cause == nil || p.dead() || w.failing.Load() {
		return
	}
	if !p.mount.has(p.mount.ended, o.Turn) {
		w.broke("C10", "a compaction was answered before the terminal event of turn %s was written", o.Turn)
	}
}

// interrupt: C9, it is answered within bounds; C10, after the terminal event
// is written.
func (w *world) interrupt(p *process, r session.Request) {
	known := r.Input == ""
	p.log.View(func(s event.State) { known = known || s.Accepted(r.Input) })
	start, running := time.Now(), p.running()
	o, err := p.session.Interrupt(context.Background(), r)
	if elapsed := time.Since(start); known && !p.dead() && elapsed > w.interruptBound()+strayMargin {
		w.broke("C9", "an interrupt was answered after %v", elapsed)
	}
	if err != nil && !errors.Is(err, session.ErrClosed) {
		w.broke("C10", "an interrupt was answered with: %v", err)
	}
	if o.Cause == nil || p.dead() || w.failing.Load() {
		return
	}
	if !p.mount.has(p.mount.ended, o.Turn) {
		w.broke("C10", "an interrupt was answered before the terminal event of turn %s was written", o.Turn)
	}
	if r.Input == "" && o.Cause.Outcome == event.Aborted { // else the turn may be an old one
		w.orphans(p, running)
	}
}

// oldestCall returns the item of the call that has run for the longest, or "".
func oldestCall(p *process) (item string) {
	p.log.View(func(s event.State) {
		t := s.Running()
		if t == nil {
			return
		}
		for _, i := range t.Items {
			if item == "" && i.Type() == event.ToolCall && i.Ready && i.Status == event.ItemOpen {
				item = i.ID
			}
		}
	})
	return item
}

// drop takes back the oldest input that waits.
func (w *world) drop(p *process) {
	input := ""
	p.log.View(func(s event.State) {
		if len(s.Waiting) > 0 {
			input = s.Waiting[0].ID
		}
	})
	if input == "" {
		return
	}
	if _, err := p.session.Drop(input, "user"); err != nil && !p.dead() && !w.failing.Load() && !closed(err) {
		w.broke("C19", "an input could not be dropped: %v", err)
	}
}

// answer gives the script's answer to the nth request for approval, and then a second
// one. C16: the second answer runs nothing, and its sender receives that.
func (w *world) answer(p *process, n int, request event.ApprovalRequested) {
	if len(w.script.Answers) == 0 {
		return
	}
	a := w.script.Answers[min(n, len(w.script.Answers)-1)]
	if a.Verdict == "" {
		return
	}
	<-time.After(a.After)
	give := func(v event.Verdict) error {
		given := approval.Answer{Approval: request.Approval, Verdict: v, Message: a.Message, By: "user"}
		if request.Tool == plan.ProposeName && v == a.Verdict {
			given.Permission = a.Permission
			if a.Edit != "" {
				given.Arguments = proposal(a.Edit)
			}
		}
		if request.Form != nil {
			given.Content = json.RawMessage(`{"q1":"two","q2":"because of ` + Secret + `"}`)
			if v == event.ApprovedSession { // which a form does not take
				given.Verdict = event.Approved
			}
		}
		return p.session.Answer(context.Background(), given)
	}
	var late *approval.AnsweredError
	if err := give(a.Verdict); err != nil && !errors.As(err, &late) && !p.dead() && !w.failing.Load() && !closed(err) {
		w.broke("C16", "an answer was met with: %v", err)
	}
	if err := give(event.Approved); !errors.As(err, &late) && !p.dead() && !w.failing.Load() && !closed(err) {
		w.broke("C16", "a second answer was met with: %v", err)
	}
}

// dot is a picture of one pixel.
func dot() []byte {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))) // a buffer takes all
	return b.Bytes()
}
