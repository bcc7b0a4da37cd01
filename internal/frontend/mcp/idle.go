package mcp

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/stdio"
)

// maxIdle is the number of idle sessions that stay open, each with its log. A closed
// session is opened again by the next reply.
const maxIdle = 32

// retire closes the sessions that have done nothing for the longest time, if
// there are too many.
func (f *Frontend) retire(ctx context.Context) {
	type candidate struct {
		session *assemble.Opened
		since   time.Time
	}
	var idle []candidate
	for _, s := range f.Sessions.All() {
		s.View(func(st event.State) {
			fresh := len(st.Turns) == 0 // its first input is on the way
			if !fresh && st.Running() == nil && len(st.Waiting) == 0 && len(jobsOf(st)) == 0 {
				idle = append(idle, candidate{s, st.Updated})
			}
		})
	}
	if len(idle) <= maxIdle {
		return
	}
	slices.SortFunc(idle, func(a, b candidate) int { return cmp.Compare(a.since.UnixNano(), b.since.UnixNano()) })
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), stdio.CloseTimeout)
	defer cancel()
	for _, c := range idle[:len(idle)-maxIdle] {
		if err := f.Sessions.Close(closing, c.session.ID(), event.Shutdown, "host"); err != nil {
			f.Logger.Warn("cannot close an idle session", "session", c.session.ID(), "error", err)
		}
	}
}
