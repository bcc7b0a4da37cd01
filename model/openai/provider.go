// Package openai speaks OpenAI's Responses API
// (https://platform.openai.com/docs/api-reference/responses), streaming.
//
// Nothing is stored at the provider: each request carries the whole
// conversation, and reasoning goes back encrypted, as it came. Tools with a
// grammar become custom tools, whose input is free text; towards settle that
// text is the only property of the tool's JSON arguments.
//
// Read provider.go first: it sends a request and returns its stream.
//
//	request.go     input items, reasoning effort, tool choice, schema of the answer
//	toolsearch.go  the list of tools; namespaces of tools that the model searches
//	decode.go      events of the stream to chunks; usage and the end of a response
//	delta.go       fast reading of deltas, which most events are
//	signature.go   provider signatures: the parts of an item that return unchanged
//	search.go      the provider's own search of the web: its request and its sources
//	model.go       what sessions know of a model; models.go: the provider's list
//
// Deviations of servers are decided by [transport.DialectOf], the kinds of errors in
// model/transport, and sizes and abilities of models in model/catalog.
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

// Options configure the access to the API.
type Options transport.Options

// Provider is a [model.Provider].
type Provider struct{ options transport.Options }

// New returns a provider.
func New(o Options) *Provider {
	return &Provider{transport.Options(o).WithDefaults(BaseURL)}
}

// path is the path of requests after the base URL.
const path = "/responses"

// URL implements [model.Locator].
func (p *Provider) URL() string { return p.options.URL(path) }

// Stream implements [model.Provider].
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	known, ok := p.options.Models.Lookup(req.Model)
	if !ok {
		known.Thinking = catalog.ByEffort // a new model, most likely
	}
	custom := customTools(req.Tools, known)
	if transport.DialectOf(p.options.Host()).GroupedCalls {
		req.Input = grouped(req.Input)
	}
	return p.options.Post(
		ctx, newRequest(req, known, custom),
		&transport.Request{Path: path, Activity: req.Activity, Secret: req.Secret},
		&decoder{custom: custom, search: req.Search},
	)
}
