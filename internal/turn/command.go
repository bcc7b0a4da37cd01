package turn

import (
	"context"

	"github.com/settle-agent/settle/event"
)

// commands runs the calls of the turn's inputs, in order: commands of a person, and held calls
// that a person approved. It reports whether the model is to continue after them.
func (t *turn) commands(ctx context.Context) (more bool, err error) {
	var inputs []event.Input
	t.Log.View(func(s event.State) {
		if r := s.Turn(t.id); r != nil {
			inputs = r.Inputs
		}
	})
	for _, in := range inputs {
		more = more || !in.Command
		if !in.RunsCall() {
			continue
		}
		if err := context.Cause(ctx); err != nil { // C10: the command does not start
			return false, err
		}
		c, err := t.entered(in)
		if err != nil {
			return false, err
		}
		t.start(ctx, c)
		if err := await(ctx, []*call{c}); err != nil {
			return false, err
		}
	}
	return more, context.Cause(ctx)
}

// entered records the call of a command or of a held call. It belongs to no attempt and is
// ready. A held call has the name and the arguments that the log has of it.
func (t *turn) entered(in event.Input) (*call, error) {
	c := &call{turn: t, callSpec: callSpec{callID: in.ID, byPerson: in.Command}}
	if in.Command && t.Command != nil {
		name, arguments := t.Command(in.Text)
		c.name, c.args = name, t.Redact.String(string(arguments))
	}
	err := t.update(func(s event.State) []event.Event {
		if held := in.HeldCall; held != nil {
			content := s.Turn(held.Turn).Item(held.Item).Content()
			c.name, c.args = content.Name, content.Arguments
		}
		c.item = s.NextItem(0)
		return []event.Event{
			{
				Turn: t.id, Item: c.item, By: in.By,
				Data: event.ItemStarted{Type: event.ToolCall, CallID: c.callID, Name: c.name},
			},
			{
				Turn: t.id, Item: c.item, By: in.By,
				Data: event.CallReady{Name: c.name, CallID: c.callID, Arguments: c.args},
			},
		}
	})
	return c, err
}
