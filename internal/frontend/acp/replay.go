package acp

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// replay sends the history of the session, as far as its events were followed.
func (ses *session) replay() error {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	s := ses.log.State()
	for _, t := range s.Turns {
		for e := range transcript.Entries(t) {
			if e.Input != nil {
				ses.replayInput(*e.Input)
			} else {
				ses.replayItem(e.Item)
			}
		}
		if c := t.Cause; c != nil && c.Outcome != event.Completed {
			ses.send(
				chunk{Update: thoughtChunk, Content: textPiece("[settle] The turn was ended: " + c.Error() + ".\n")},
			)
		}
	}
	for _, in := range s.Waiting {
		ses.heard[in.ID] = true
		ses.replayInput(in)
	}
	return ses.readErr
}

// sendInput sends the text of an input. An input with which settle has the model continue is no
// message of the user.
func (ses *session) sendInput(in *event.Input) {
	switch {
	case in.By == event.Resumer:
		ses.send(chunk{Update: agentChunk, Content: textPiece(transcript.ResumedWords(in)), MessageID: in.ID})
	case in.Text != "":
		ses.send(chunk{Update: userChunk, Content: textPiece(transcript.Typed(in)), MessageID: in.ID})
	}
}

// replayInput sends an earlier input.
func (ses *session) replayInput(in event.Input) {
	ses.sendInput(&in)
	for _, d := range in.Documents {
		ses.send(chunk{
			Update: userChunk, MessageID: in.ID,
			Content: object{"type": "resource", "resource": object{
				"uri": d.Name, "mimeType": d.MediaType, "blob": d.Data,
			}},
		})
	}
	for _, i := range in.Images {
		ses.send(
			chunk{
				Update:    userChunk,
				Content:   object{"type": "image", "mimeType": i.MediaType, "data": i.Data},
				MessageID: in.ID,
			},
		)
	}
}

func (ses *session) replayItem(i *event.Item) {
	if i.Type() == event.ToolCall {
		ses.send(ses.callOf(i))
		if setsPlan(i) {
			ses.send(newCall(ses, i).plan())
		}
	} else if words := i.Content().Text; words != "" {
		ses.send(text(i.Type(), i.ID, words))
	}
}

// callOf returns a call with its result.
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
