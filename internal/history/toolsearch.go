package history

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// SearchesTools reports whether deferred tools are offered to the target for its
// provider to search: it does that, and has not refused it in this session, nor by the
// fault with which the last request just ended, if there is one (C6, ADR 27). That it
// answered with other tools says nothing.
func (target Target) SearchesTools(s event.State, fault *model.Error) bool {
	if !target.ToolSearch {
		return false
	}
	answered, basis := map[string]bool{}, ""
	for _, t := range s.Turns {
		for _, a := range t.Attempts {
			if !target.made(a) {
				continue
			}
			if basis = a.Start.Basis; a.End == nil {
				continue
			}
			if f := a.End.Failure; f != nil && refusesSearch(model.ErrorKind(f.Kind), f.Status, answered[basis]) {
				return false
			}
			answered[basis] = answered[basis] || a.End.Outcome == event.Completed
		}
	}
	return fault == nil || !refusesSearch(fault.Kind, fault.Status, answered[basis])
}

// refusesSearch: the provider says it, or it does not say what it refuses and has not
// answered with these tools, as servers do that only resemble the provider's own.
func refusesSearch(kind model.ErrorKind, status int, answered bool) bool {
	return kind == model.ErrToolSearch || !answered && kind == model.ErrInvalid && unexplained(kind, status)
}
