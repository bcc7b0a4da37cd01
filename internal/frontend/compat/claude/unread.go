package claude

import (
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// stallDelay is between two looks at whether somebody reads.
const stallDelay = time.Second

// stallTick fires now and then once nothing but its reader can keep settle from
// ending.
func (d *driver) stallTick() <-chan time.Time {
	if !d.eof || d.stop.Load() != nil {
		return nil
	}
	return time.After(stallDelay)
}

// checkReader gives up on a client that has said all and reads nothing, unless a turn
// is at work: that a prompt's result is told would be waited for without end.
func (d *driver) checkReader() {
	works := false
	if d.session != nil {
		d.session.View(func(s event.State) {
			works = s.Running() != nil && len(asker.Open(s)) == 0
		})
	}
	if !works && d.out.Stuck(patience) {
		d.end(stdio.Stop{
			Reason: event.Shutdown, By: "stdout", Code: stdio.CodeFailed,
			Err: fmt.Errorf("nobody has read standard output for %s; the session log says how the turn ended", patience),
		})
	}
}
