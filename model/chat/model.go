package chat

import (
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
)

// Traits returns what sessions have to know of a model behind this API, by the
// table.
func Traits(models catalog.Table, name string) model.Traits {
	known, isKnown := models.Lookup(name)
	return model.Traits{
		Window: known.Window, MaxOutput: known.MaxOutput, NoImages: isKnown && !known.Images,
		ReasoningField: true,
	}
}

// Model returns the model with the provider's name for it, as sessions use it.
func (p *Provider) Model(name string) model.Config {
	return model.Config{Provider: p, ProviderName: p.options.Host(), Name: name, Traits: Traits(p.options.Models, name)}
}
