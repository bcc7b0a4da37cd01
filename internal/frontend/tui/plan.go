package tui

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// planMode is the name of plan mode.
const planMode = "plan"

// plan turns plan mode on, and sends the prompt if there is one. The mode that is shown can be old,
// so the session's host is always asked. A prompt that is not sent, since plan mode is not on, comes
// back as the command: sent without it, the model could change things.
func (u *UI) plan(prompt string) {
	if prompt == "" {
		u.permissions(planMode)
		return
	}
	c := u.view.conversation
	u.deliverIf(func(ctx context.Context) error {
		if err := c.SetMode(ctx, planMode); err != nil {
			return fmt.Errorf("not sent, since plan mode is not on: %w", err)
		}
		return nil
	}, partsOf(prompt), event.Queue, partsOf("/plan "+prompt))
}

// carryOutAnew ends the plan's turn and puts the plan into the editor of a new session, which
// knows nothing else.
func carryOutAnew(u *UI, a *event.Approval) {
	text, _ := u.commandOf(a)
	c := u.view.conversation
	u.enqueue(func(ctx context.Context) error {
		if _, err := c.Interrupt(ctx, settle.Interruption{By: user}); err != nil {
			return err
		}
		u.send(func() {
			u.replace("", "Carry out this plan:\n\n"+text, func() {
				if u.view.conversation.Mode() == planMode {
					u.permissions(event.PlanModes()[0])
				}
			})
		})
		return nil
	})
}
