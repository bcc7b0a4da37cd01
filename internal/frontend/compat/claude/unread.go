package claude

import (
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// stallDelay is the interval of the check whether the client reads.
const stallDelay = time.Second

// stallTick fires at intervals once only an unread output keeps settle from ending.
func (d *driver) stallTick() <-chan time.Time {
	if !d.eof || d.stop.Load() != nil {
		return nil
	}
	return time.After(stallDelay)
}

// checkReader ends the session of a client that has closed its input and reads nothing,
// unless a turn runs: the wait for a prompt's result would not end.
func (d *driver) checkReader() {
	works := false
	if d.session != nil {
		d.session.View(func(s event.State) {
			works = s.Running() != nil && len(asker.Open(s)) == 0
		})
	}
	if !works && d.out.Stuck(stdio.UnreadTimeout) {
		d.end(stdio.Stop{
			Reason: event.Shutdown,
			By:     "stdout",
			Code:   stdio.CodeFailed,
			Err: fmt.Errorf(
				"the client has not read standard output for %s; the session log has the end of the turn",
				stdio.UnreadTimeout,
			),
		})
	}
}
