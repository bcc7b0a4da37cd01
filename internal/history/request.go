package history

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
)

// Target is the model of the request, as far as history needs it.
type Target struct {
	// Provider and Model name the model; reasoning of other models is left out.
	Provider, Model string
	model.Traits
	// Effort and CacheKey are copied into the request.
	Effort, CacheKey string
}

// BuiltRequest is a request with its figures.
type BuiltRequest struct {
	model.Request
	RequestStats
	// Trimmed is the number of shortened entries.
	Trimmed int
	// Changes must be recorded before the request. They explain why the request does not extend
	// the previous one: another basis, or a shortened conversation.
	Changes []event.HistoryChanged
	// Basis belongs to the attempt's start.
	Basis string
}

// Request builds the request that continues the conversation in s with the joining inputs, from
// the start of the log. [Conversation] builds the same request from the previous one.
func Request(s event.State, target Target, system string, specs []model.ToolSpec, joining ...event.Input) BuiltRequest {
	var c Conversation
	return c.Request(LogOf(s), target, system, specs, joining...)
}
