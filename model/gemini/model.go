package gemini

import (
	"context"
	"strings"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/transport"
)

// Traits returns the properties of a model behind this API that sessions need, by the table.
func Traits(models catalog.Table, name string) model.Traits {
	traits := models.Traits(name)
	traits.ToolSearch = false // the API has none
	return traits
}

// Model returns the model with the provider's name for it, as sessions use it.
func (p *Provider) Model(name string) model.Config {
	return model.Config{Provider: p, ProviderName: "gemini", Name: name, Traits: Traits(p.options.Models, name)}
}

// Models asks the API which models it has that generate text.
func Models(ctx context.Context, endpoint transport.Endpoint) ([]transport.Listed, error) {
	list, err := endpoint.Models(ctx, transport.Request{Path: "/models", Authorize: authorize})
	for i := range list {
		list[i].ID = strings.TrimPrefix(list[i].ID, "models/")
	}
	return list, err
}
