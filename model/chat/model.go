package chat

import (
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/transport"
)

// Traits returns the properties of a model behind this API that sessions need, by the table.
func Traits(models catalog.Table, name string) model.Traits {
	traits := models.Traits(name)
	traits.ReasoningField, traits.ToolSearch = true, false // the API has no search of tools
	return traits
}

// TakesFiles reports whether a host's Chat Completions take PDFs as parts of type "file", as OpenAI
// and OpenRouter document. Other servers refuse such a part, or ignore it without a word.
func TakesFiles(host string) bool {
	return host == "api.openai.com" || transport.DialectOf(host).Name == "openrouter"
}

// Model returns the model with the provider's name for it, as sessions use it.
func (p *Provider) Model(name string) model.Config {
	traits := Traits(p.options.Models, name)
	if !TakesFiles(p.options.Host()) {
		traits.DocumentPages = 0
	}
	return model.Config{Provider: p, ProviderName: p.options.Host(), Name: name, Traits: traits}
}
