package tui

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
)

// filling is a form that is filled in, in the editor's place.
type filling struct {
	approval string
	entry    *asker.Entry
}

// fill is the form of the question on the screen that is filled in; nil for none.
func (f *Face) fill() *filling {
	if a, _ := f.asked(); f.form == nil || a == nil || a.Approval != f.form.approval {
		f.form = nil
	}
	return f.form
}

// begin begins to fill in a form. A page that was opened is an answer by itself.
func (f *Face) begin(a *event.Approval) {
	entry, err := asker.NewEntry(*a.Form)
	if err != nil {
		f.say("%v", err)
		return
	}
	f.form = &filling{a.Approval, entry}
	f.sendForm()
}

// fillIn takes what is in the editor for the field that is asked for.
func (f *Face) fillIn() {
	text := f.editor.text()
	f.editor.clear()
	if err := f.form.entry.Take(text); err != nil {
		f.say("%v", err)
		return
	}
	f.sendForm()
}

// sendForm sends a form that is filled in whole.
func (f *Face) sendForm() {
	form := f.form
	if form.entry.Prompt() != "" {
		return
	}
	f.form = nil
	if err := form.entry.Check(); err != nil {
		f.say("%v", err)
		return
	}
	f.answer(settle.Answer{Approval: form.approval, Verdict: event.Approved, Content: form.entry.Content(), By: user})
}

// answer gives the answer to a question, which is shown no more.
func (f *Face) answer(a settle.Answer) {
	f.answered[a.Approval] = true
	c := f.conversation
	f.do(func(ctx context.Context) error {
		err := c.Answer(ctx, a)
		var late *settle.AnsweredError
		if errors.As(err, &late) { // C16: it ran nothing, and the approval's end says why
			return nil
		}
		return err
	})
}

// formAsked is the form of the question that waits; nil if it has none.
func (p *plain) formAsked() *event.Form {
	for _, a := range p.log.State().Asked() {
		if a.Approval == p.asked {
			return a.Form
		}
	}
	return nil
}

// fill takes a line for the form, and returns the values if that is all.
func (p *plain) fill(form *event.Form, text string) (content json.RawMessage, done bool) {
	var err error
	switch {
	case form == nil: // it has ended
		p.entry = nil
		return nil, false
	case p.entry == nil && text != "1":
		p.say("1, 3 or 4?")
		return nil, false
	case p.entry == nil:
		p.entry, err = asker.NewEntry(*form)
	default:
		err = p.entry.Take(text)
	}
	if err == nil && p.entry.Prompt() == "" {
		if err = p.entry.Check(); err == nil {
			return p.entry.Content(), true
		}
		p.entry = nil
	}
	if err != nil {
		p.say("%v", err)
	}
	if p.entry != nil {
		p.say("%s /decline declines.", p.entry.Prompt())
	} else {
		p.say("1 fill it in. 3 decline.")
	}
	return nil, false
}
