package acp

import (
	"slices"

	"github.com/settle-agent/settle/event"
)

// replay tells all that was said in a session so far.
func (one *session) replay(s event.State) error {
	for _, t := range s.Turns {
		for _, update := range one.retold(t) {
			if err := one.send(update); err != nil {
				return err
			}
		}
	}
	for _, in := range s.Waiting {
		for _, update := range inputOf(in) {
			if err := one.send(update); err != nil {
				return err
			}
		}
	}
	return nil
}

// retold is a turn as it was seen.
func (one *session) retold(t *event.Turn) (out []any) {
	for _, in := range t.Inputs {
		out = append(out, inputOf(in)...)
	}
	untold := t.Attempts
	for _, i := range t.Items {
		until := 1 + slices.IndexFunc(untold, func(a *event.Attempt) bool { return a.ID == i.Attempt })
		out = append(out, joinedBy(untold[:until])...)
		untold = untold[until:]
		if !i.Discarded {
			out = append(out, one.itemOf(i)...)
		}
	}
	out = append(out, joinedBy(untold)...) // nothing came of these
	if c := t.Cause; c != nil && c.Outcome != event.Completed {
		out = append(out, chunk{Update: thoughtChunk, Content: said("[settle] The turn was ended: " + c.Error() + ".\n")})
	}
	return out
}

// joinedBy is what a person said that joined a turn with one of the attempts.
func joinedBy(attempts []*event.Attempt) (out []any) {
	for _, a := range attempts {
		for _, in := range a.Inputs {
			out = append(out, inputOf(in)...)
		}
	}
	return out
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

func (one *session) itemOf(i *event.Item) []any {
	content := i.Content()
	if i.Type() == event.ToolCall {
		return []any{one.callOf(i, content)}
	}
	if content.Text == "" {
		return nil
	}
	return []any{text(i.Type(), i.ID, content.Text)}
}

// callOf is a call with all that became of it.
func (one *session) callOf(i *event.Item, content event.Content) toolCall {
	c := newCall(one, i.ID, content.Name)
	c.terminal = false // its terminal is gone
	t := c.begin()
	known := c.ready(content.Arguments)
	t.Title, t.RawInput, t.Locations = c.title, known.RawInput, known.Locations
	if i.Status == event.ItemOpen {
		if i.Started {
			t.Status = "in_progress"
		}
		return t
	}
	end := c.ended(event.ItemEnded{Status: i.Status, Effects: i.Effects, Cause: i.Cause, Content: content})
	t.Status, t.Content, t.RawOutput = end.Status, end.Content, end.RawOutput
	return t
}
