package claude

import (
	"context"
	"errors"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/scope"
)

// follow sends the events of the session to the client, until the session is closed.
func (d *driver) follow(t *encoder, after uint64) {
	asking := asker.New(context.WithoutCancel(d.ctx), asker.Options{
		Session: d.session, By: func() string { return by },
		Ask: func(_ context.Context, q asker.Question) asker.SentQuestion {
			return d.ask(t.log.State().Turn(q.Turn).Item(q.Item), q)
		},
		Fill: func(ctx context.Context, q asker.Question) asker.SentQuestion {
			if len(q.Form.Questions) > 0 {
				return d.inquire(d.toolCall(t.log.State().Turn(q.Turn).Item(q.Item)), q.Form.Questions)
			}
			return d.fill(ctx, q)
		},
		Failed: func(err error) { d.post(func() { d.warn(err.Error()) }) },
	})
	err := scope.Guard(func() error {
		for e, err := range d.session.Events(context.WithoutCancel(d.ctx), after) {
			if err != nil {
				return err
			}
			t.out.Wait()
			if err := t.take(e); err != nil {
				return err
			}
			asking.Take(e)
			d.notify(t, e)
		}
		return nil
	})
	asking.Close()
	t.below.close()
	d.post(func() {
		if d.following = false; err != nil && !errors.Is(err, settle.ErrClosed) {
			err = fmt.Errorf("cannot follow the session: %w", err)
			d.end(stdio.Stop{Reason: event.Shutdown, By: "encoder", Code: stdio.CodeFailed, Err: err})
		}
		d.results.close()
	})
}

// notify posts the reaction to an event to loop.
func (d *driver) notify(t *encoder, e event.Event) {
	if _, ended := e.Data.(event.ItemEnded); ended {
		if i := t.log.State().Turn(e.Turn).Item(e.Item); i.Type() == event.ToolCall && i.Started {
			d.used(i)
		}
	}
	if e.Terminal() {
		turn := t.log.State().Turn(e.Turn)
		var inputs []string
		for _, i := range turn.Inputs {
			inputs = append(inputs, i.ID)
		}
		cause := turn.Cause
		d.post(func() { d.turnEnded(e.Turn, inputs, cause) })
	}
}
