package claude

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/internal/client/stdio"
)

// ending has why the process ends, and its exit code.
type ending struct {
	stops chan stdio.Stop // the first one that loop asks for
	stop  atomic.Pointer[stdio.Stop]
	code  int
}

// end ends the session, unless it is ending already.
func (e *ending) end(stop stdio.Stop) {
	select {
	case e.stops <- stop:
	default:
	}
}

// drain sends the end of the session to the client.
func (d *driver) drain(ctx context.Context) {
	stdio.Await(ctx, func() {
		d.post(func() { d.closed = true })
		<-d.done
	})
}

// leave refuses all prompts without a result, waits until the output is written, and returns the
// exit code. It reports the work that did not end.
func (d *driver) leave(stop stdio.Stop, unended error) int {
	why, long := "settle has ended", stdio.UnreadTimeout
	if stop.Code != stdio.CodeCompleted {
		why, long = ended(stop), shortPatience
	}
	for _, e := range d.prompts.Close() {
		what := "not started: "
		if e == d.prompts.current {
			what = "not answered: "
		}
		d.refuse(e.Key, cmp.Or(e.Request.bad, errors.New(what+why)))
	}
	if unended != nil {
		d.say("%v", unended)
		d.code = max(d.code, stdio.CodeFailed)
	}
	if stop.Code != stdio.CodeCompleted {
		if d.code = stop.Code; stop.Err != nil {
			why = "ended: " + why
		}
		d.say("%s", why)
	}
	if d.out.Close(func() time.Duration { return long }) != nil && d.code == stdio.CodeCompleted {
		d.say("cannot write all output to standard output")
		d.code = stdio.CodeFailed
	}
	_ = d.err.Close(func() time.Duration { return shortPatience }) // the client has gone
	return d.code
}

// ended describes the effect of a stop.
func ended(stop stdio.Stop) string {
	if stop.Err != nil {
		return stop.Err.Error()
	}
	return "ended by " + stop.Who()
}
