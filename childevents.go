package settle

import (
	"context"
	"iter"

	"github.com/settle-agent/settle/event"
)

// ChildEvents yields the events of a child agent's session from the first one on, as
// they come, until the child has ended or ctx ends. Child is its id in this session. Of
// a child that another process started, there are none.
func (s *Session) ChildEvents(ctx context.Context, child string) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		x := s.kids.find(child)
		if x == nil {
			return
		}
		select {
		case <-x.opened:
		case <-ctx.Done():
			return
		}
		for e, err := range x.events(ctx) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// find returns the child that this process started, or nil.
func (k *children) find(id string) *child {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.live[id]
}

// events are those of the child's session, also after that is closed.
func (x *child) events(ctx context.Context) iter.Seq2[event.Event, error] {
	x.mu.Lock()
	s := x.session
	if s == nil {
		s = x.kept
	}
	ended := x.ended != nil
	x.mu.Unlock()
	switch {
	case s != nil:
		return s.Events(ctx, 0)
	case ended:
		return Store{Dir: x.keeper.parent.host.config.DataDir}.Events(ctx, x.started.Session, 0)
	}
	return func(func(event.Event, error) bool) {} // it could not begin
}
