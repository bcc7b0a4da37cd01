package openai

import (
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
)

// Traits returns the properties of a model behind this API that sessions need, by the table.
func Traits(models catalog.Table, name string) model.Traits {
	traits := models.Traits(name)
	traits.TextAfterCalls = true
	return traits
}

// Model returns the model with the provider's name for it, as sessions use it. Servers
// that only speak the API are not taken to search tools.
func (p *Provider) Model(name string) model.Config {
	traits := Traits(p.options.Models, name)
	traits.ToolSearch = traits.ToolSearch && p.options.BaseURL == BaseURL
	return model.Config{Provider: p, ProviderName: "openai", Name: name, Traits: traits}
}
