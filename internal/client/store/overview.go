package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/catalogue"
	"github.com/settle-agent/settle/internal/client/asker"
)

// State is the state of a session, in a word.
type State string

// The states.
const (
	Idle    State = "idle"    // open, and nothing runs
	Running State = "running" // a turn runs
	Waiting State = "waiting" // a turn runs, and a call of it waits for an approval
	Closed  State = "closed"  // not open in this process
)

// StateOf returns the state of an open session.
func StateOf(s event.State) State {
	switch {
	case s.Running() == nil:
		return Idle
	case len(asker.Open(s)) > 0:
		return Waiting
	}
	return Running
}

// Listed is a session in a list.
type Listed struct {
	catalogue.Entry
	State State
	// Approvals is the number of calls that wait for an approval.
	Approvals int
}

// Session is one that is open.
type Session interface {
	ID() string
	View(func(event.State))
}

// Overview returns the open sessions in their current state, and the stored ones, the last
// used first: at limit limit, or all of them.
func Overview[S Session](ctx context.Context, open []S, kept *catalogue.Shelf, limit int) ([]Listed, error) {
	var all []Listed
	isOpen := map[string]bool{}
	for _, s := range open {
		isOpen[s.ID()] = true
		s.View(func(st event.State) {
			if st.Host.Parent != "" { // it is its parent's
				return
			}
			all = append(all, Listed{catalogue.EntryOf(st), StateOf(st), len(asker.Open(st))})
		})
	}
	others, err := kept.List(ctx, catalogue.Query{Except: func(id string) bool { return isOpen[id] }, Limit: limit})
	if err != nil {
		return nil, err
	}
	for _, e := range others {
		all = append(all, Listed{Entry: e, State: Closed})
	}
	slices.SortFunc(
		all, func(a, b Listed) int { return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Session, b.Session)) },
	)
	if limit > 0 {
		all = all[:min(len(all), limit)]
	}
	return all, nil
}
