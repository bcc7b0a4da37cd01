package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// closeTimeout bounds the end of a session that was opened to be compacted.
const closeTimeout = 2 * time.Second

// Compaction makes the history of one session shorter.
type Compaction struct {
	Host    *settle.Host // closed by Run
	Config  settle.SessionConfig
	Session string
	Stops   <-chan stdio.Stop // each asks for the end
}

// Run compacts, prints the result, and returns the exit code. The error explains every exit
// code except the code of a completed turn.
func (c Compaction) Run(ctx context.Context, out io.Writer) (code int, err error) {
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		err = errors.Join(err, c.Host.Close(closing))
	}()
	c.Config.MustExist = true
	session, err := c.Host.Session(ctx, c.Session, c.Config)
	if err != nil {
		return stdio.CodeUsage, err
	}
	working, done := context.WithCancel(ctx)
	defer done()
	stops := make(chan stdio.Stop, 1)
	go func() { // ends with the compaction
		select {
		case stop := <-c.Stops:
			stops <- stop
			// Compact returns the outcome
			_, _ = session.Interrupt(working, settle.Interruption{By: stop.By, Reason: stop.Reason})
		case <-working.Done():
		}
	}()
	got, err := session.Compact(ctx, "user")
	var cause *event.Cause
	switch {
	case errors.As(err, &cause):
		var by []stdio.Stop
		select {
		case stop := <-stops:
			by = append(by, stop)
		default:
		}
		return stdio.Code(cause, by...), fmt.Errorf("cannot compact the session: %w", err)
	case err != nil:
		return stdio.CodeFailed, err
	case got.After == 0:
		_, err = fmt.Fprintln(out, "there is nothing to compact")
	default:
		_, err = fmt.Fprintf(out, "compacted: about %d tokens became %d\n", got.Before, got.After)
	}
	return stdio.CodeCompleted, err
}
