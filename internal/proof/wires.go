package proof

import (
	"net/http"

	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
)

// Wire is a wire format, with the provider that speaks it.
type Wire string

// The wires.
const (
	Responses Wire = "responses"
	Messages  Wire = "messages"
	Chat      Wire = "chat"
)

// Wires returns all wires.
func Wires() []Wire { return []Wire{Responses, Messages, Chat} }

// provider speaks the wire to the server in memory.
func (w Wire) provider(client *http.Client) model.Provider {
	switch w {
	case Responses:
		return openai.New(openai.Options{Endpoint: transport.Endpoint{BaseURL: "http://model.test/v1", Client: client}})
	case Chat:
		return chat.New(chat.Options{Endpoint: transport.Endpoint{BaseURL: "http://model.test/v1", Client: client}})
	}
	return anthropic.New(anthropic.Options{Endpoint: transport.Endpoint{BaseURL: "http://model.test", Client: client}})
}

// target is what history must know of the wire.
func (w Wire) target(window int) history.Target {
	t := history.Target{Provider: string(w), Model: modelName, Window: window, CacheKey: "s"}
	switch w {
	case Responses:
		t.TextAfterCalls = true
	case Chat:
		t.TextAfterCalls, t.ReasoningField = true, true
	default:
		t.MaxOutput, t.RefusalSticks = 8_000, true
	}
	return t
}
