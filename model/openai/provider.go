// Package openai speaks OpenAI's Responses API
// (https://platform.openai.com/docs/api-reference/responses), streaming.
//
// Nothing is stored at the provider: each request carries the whole
// conversation, and reasoning goes back encrypted, as it came. Tools with a
// grammar become custom tools, whose input is free text; towards settle that
// text is the only property of the tool's JSON arguments.
//
//	response.created ─► ( output_item.added ─► *.delta* ─► output_item.done )* ─► response.completed
//	                                                                           └► incomplete, failed
package openai

import (
	"context"
	"iter"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/transport"
)

// BaseURL is OpenAI's; it ends in /v1.
const BaseURL = "https://api.openai.com/v1"

// Options say how to reach the API.
type Options struct {
	transport.Endpoint
	// Models is the table of models; nil means catalog.Builtin().
	Models catalog.Table
}

// Provider is a [model.Provider].
type Provider struct {
	endpoint transport.Endpoint
	models   catalog.Table
}

// New returns a provider.
func New(o Options) *Provider {
	if o.BaseURL == "" {
		o.BaseURL = BaseURL
	}
	if o.Models == nil {
		o.Models = catalog.Builtin()
	}
	return &Provider{o.Prepared(), o.Models}
}

// path is what the base URL is followed by.
const path = "/responses"

// URL implements [model.Locator].
func (p *Provider) URL() string { return p.endpoint.URL(path) }

// Stream implements [model.Provider].
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	known, ok := p.models.Lookup(req.Model)
	if !ok {
		known.Thinking = catalog.ByEffort // a new model, most likely
	}
	custom := customTools(req.Tools, known)
	if transport.Dialect(p.endpoint.Host()) == "deepseek" {
		req.Input = grouped(req.Input)
	}
	body, err := transport.Body(newRequest(req, known, custom), p.endpoint.Extra)
	if err != nil {
		return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, err) }
	}
	return func(yield func(model.Chunk, error) bool) {
		p.endpoint.Stream(ctx, &transport.Request{Path: path, Body: body, Activity: req.Activity, Secret: req.Secret},
			&decoder{custom: custom, search: req.Search})(yield)
	}
}
