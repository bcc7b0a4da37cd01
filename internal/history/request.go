package history

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Target is what history must know of the model that the request is for.
type Target struct {
	// Provider and Model name it; reasoning of any other is left out.
	Provider, Model string
	model.Traits
	// Effort and CacheKey go into the request as they are.
	Effort, CacheKey string
}

// Built is a request and what it took to fit it.
type BuiltRequest struct {
	model.Request
	RequestStats
	// Trimmed is how much of the conversation was shortened.
	Trimmed int
	// Changes are to be recorded before the request: it does not extend the one
	// before it, since its basis is another, or since the conversation had to be
	// shortened once more, and stays so.
	Changes []event.HistoryChanged
	// Basis is for the attempt's start.
	Basis string
}

// Request builds the request that continues the conversation in s, with the
// inputs that join it now, from the beginning. [Conversation] builds the same from
// the request before.
func Request(s event.State, target Target, system string, specs []model.ToolSpec, joining ...event.Input) BuiltRequest {
	var c Conversation
	return c.Request(LogOf(s), target, system, specs, joining...)
}
