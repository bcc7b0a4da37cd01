package history

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// SearchesTools reports whether the target's provider receives deferred tools to search. The
// provider must support that and must not have refused it in this session, nor with fault, the
// failure of the last request (C6, ADR 27). An answer with other tools proves nothing.
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

// refusesSearch reports whether the failure is a refusal of the search: the provider names it,
// or it names no reason and has never answered with these tools, like servers that only resemble
// the provider's.
func refusesSearch(kind model.ErrorKind, status int, answered bool) bool {
	return kind == model.ErrToolSearch || !answered && kind == model.ErrInvalid && unexplained(kind, status)
}
