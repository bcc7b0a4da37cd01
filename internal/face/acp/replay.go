package acp

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// replay tells all that was said in a session so far.
func (ses *session) replay(s event.State) error {
	var all []any
	for _, t := range s.Turns {
		for e := range transcript.Entries(t) {
			if e.Input != nil {
				all = append(all, inputOf(*e.Input)...)
			} else {
				all = append(all, ses.itemOf(e.Item)...)
			}
		}
		if c := t.Cause; c != nil && c.Outcome != event.Completed {
			all = append(all, chunk{Update: thoughtChunk, Content: said("[settle] The turn was ended: " + c.Error() + ".\n")})
		}
	}
	for _, in := range s.Waiting {
		all = append(all, inputOf(in)...)
	}
	for _, update := range all {
		if err := ses.send(update); err != nil {
			return err
		}
	}
	return nil
}

// inputOf is what a person said.
func inputOf(in event.Input) (out []any) {
	if in.Text != "" {
		out = append(out, chunk{Update: userChunk, Content: said(in.Text), MessageID: in.ID})
	}
	for _, i := range in.Images {
		out = append(out, chunk{Update: userChunk, Content: object{"type": "image", "mimeType": i.MediaType, "data": i.Data}, MessageID: in.ID})
	}
	return out
}

func (ses *session) itemOf(i *event.Item) []any {
	if i.Type() == event.ToolCall {
		if setsPlan(i) {
			return []any{ses.callOf(i), newCall(ses, i).plan()}
		}
		return []any{ses.callOf(i)}
	}
	if content := i.Content(); content.Text != "" {
		return []any{text(i.Type(), i.ID, content.Text)}
	}
	return nil
}

// callOf is a call with all that became of it.
func (ses *session) callOf(i *event.Item) toolCall {
	c := newCall(ses, i)
	c.terminal = false // its terminal is gone
	t, known := c.begin(), c.ready()
	t.Title, t.RawInput, t.Locations = c.title, known.RawInput, known.Locations
	if i.Status == event.ItemOpen {
		if i.Started {
			t.Status = "in_progress"
		}
		return t
	}
	end := c.ended()
	t.Status, t.Content, t.RawOutput = end.Status, end.Content, end.RawOutput
	return t
}
