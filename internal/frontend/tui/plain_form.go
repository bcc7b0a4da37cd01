package tui

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
)

// formAsked is the form of the question that waits; nil if it has none.
func (p *plain) formAsked() *event.Form { return p.pendingRequest().Form }

// fill begins to fill in the form, or takes a line for it, and returns the values if that is all.
func (p *plain) fill(form *event.Form, text string) (content json.RawMessage, done bool) {
	var err error
	switch {
	case form == nil: // it has ended
		p.entry = nil
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
		p.printf("%v", err)
	}
	if p.entry != nil {
		p.printf("%s /decline declines.", p.entry.Prompt())
	} else {
		p.printf("%s.", spoken(p.choices()))
	}
	return nil, false
}
