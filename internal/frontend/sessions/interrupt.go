package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/attach"
)

// Interrupt interrupts the turn of a session in the process that hosts the session, and
// writes how the turn ended.
func Interrupt(ctx context.Context, to io.Writer, dataDir, id string) error {
	s, err := attach.Open(ctx, dataDir, id)
	if errors.Is(err, attach.ErrNotHosted) {
		return fmt.Errorf("cannot interrupt session %s: no process hosts it, so nothing runs in it", id)
	}
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // the host has answered, or never will
	o, err := s.Interrupt(ctx, settle.Interruption{By: "user"})
	if err != nil {
		return fmt.Errorf("cannot interrupt session %s: %w", id, err)
	}
	if o.Cause == nil {
		_, err = fmt.Fprintf(to, "nothing was running in session %s, which is open in %s\n", id, s.Host())
		return err
	}
	_, err = fmt.Fprintf(to, "turn %s %s\n", o.Turn, event.EndingWords(o.Cause.Outcome, o.Cause.Reason))
	return err
}
