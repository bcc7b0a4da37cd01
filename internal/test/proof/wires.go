package proof

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/tool/family"
)

// Wire is a wire format, with the provider that speaks it.
type Wire string

// The wires.
const (
	Responses Wire = "responses"
	Messages  Wire = "messages"
	Chat      Wire = "chat"
	Gemini    Wire = "gemini"
)

// Wires returns the wire formats.
func Wires() []Wire { return []Wire{Responses, Messages, Chat, Gemini} }

// Providers returns the providers that demand more of a conversation than the
// wire format does (modeltest.ProviderRules), after their wires: "chat/mistral".
func Providers() []Wire {
	var list []Wire
	for _, rule := range modeltest.ProviderRules() {
		if w := Wire(string(rule.Dialect) + "/" + rule.Provider); !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// split returns the wire format, and the provider, "" for none.
func (w Wire) split() (format Wire, provider string) {
	name, provider, _ := strings.Cut(string(w), "/")
	return Wire(name), provider
}

// host returns the host name of the provider: settle knows some providers by it. The requirements
// of all others must hold for any server.
func (w Wire) host() string {
	switch _, provider := w.split(); provider {
	case "mistral":
		return "api.mistral.ai"
	case "deepseek":
		return "api.deepseek.com"
	case "moonshot":
		return "api.moonshot.ai"
	case "gemini":
		return "generativelanguage.googleapis.com"
	case "groq":
		return "api.groq.com"
	case "xai":
		return "api.x.ai"
	case "openrouter":
		return "openrouter.ai"
	}
	return "model.test"
}

// provider speaks the wire to the server in memory.
func (w Wire) provider(client *http.Client) model.Provider {
	endpoint := transport.Endpoint{BaseURL: "http://" + w.host() + "/v1", Client: client}
	switch format, _ := w.split(); format {
	case Responses:
		models := catalog.Builtin()
		known := models[modelName]
		known.Grammar = true // behind this wire
		models[modelName] = known
		return openai.New(openai.Options{Endpoint: endpoint, Models: models})
	case Chat:
		return chat.New(chat.Options{Endpoint: endpoint})
	case Gemini:
		endpoint.BaseURL += "beta"
		return gemini.New(gemini.Options{Endpoint: endpoint})
	}
	endpoint.BaseURL = strings.TrimSuffix(endpoint.BaseURL, "/v1")
	return anthropic.New(anthropic.Options{Endpoint: endpoint})
}

// family names the tools that the wire's models were trained on.
func (w Wire) family() string {
	switch format, _ := w.split(); format {
	case Responses:
		return string(family.GPT)
	case Messages, "":
		return string(family.Claude)
	}
	return string(family.Settle)
}

// searches reports whether the wire has a search for tools.
func (w Wire) searches() bool {
	format, _ := w.split()
	return format == Responses || format == Messages || format == ""
}

// Model is the model of that name, behind the wire.
func (w Wire) Model(client *http.Client, name string, window int, stall time.Duration) model.Config {
	m := model.Config{
		Provider: w.provider(client), ProviderName: string(w), Name: name,
		Traits:   model.Traits{Window: window, DocumentPages: 100},
		Timeouts: model.Timeouts{Stall: stall}, Limiter: &model.Limiter{},
	}
	switch format, _ := w.split(); format {
	case Responses:
		m.TextAfterCalls = true
	case Chat:
		m.ReasoningField = true
	case Gemini:
	default:
		m.MaxOutput, m.RefusalSticks = 8_000, true
	}
	return m
}
