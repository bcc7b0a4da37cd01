// Package gemini implements Google's Gemini API
// (https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent),
// streaming.
//
// A call arrives complete, in one part, and often without an id; it then gets an id of
// settle's, which the API never sees. The thought signature of a part returns on the same
// part: the newest models refuse the first call of a response without it. Unsigned
// thoughts are for people only. Read decode.go first.
//
//	( candidates[0].content.parts* )* ─► candidates[0].finishReason
package gemini

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/transport"
)

// BaseURL is Google's; it ends in the version.
const BaseURL = "https://generativelanguage.googleapis.com/v1beta"

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
	o.Query = maps.Clone(o.Query)
	if o.Query == nil {
		o.Query = url.Values{}
	}
	o.Query.Set("alt", "sse") // else the stream is one JSON array
	return &Provider{o.Prepared(), o.Models}
}

// path is what the base URL is followed by.
func path(name string) string {
	return "/models/" + url.PathEscape(strings.TrimPrefix(name, "models/")) + ":streamGenerateContent"
}

// URL implements [model.Locator]. The address has the model in it.
func (p *Provider) URL() string { return p.endpoint.URL("/models") }

// Stream implements [model.Provider].
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	known, _ := p.models.Lookup(req.Model)
	body, err := transport.Body(newRequest(req, known), p.endpoint.Extra)
	if err != nil {
		return func(yield func(model.Chunk, error) bool) { yield(model.Chunk{}, err) }
	}
	return func(yield func(model.Chunk, error) bool) {
		p.endpoint.Stream(ctx, &transport.Request{
			Path: path(req.Model), Body: body, Activity: req.Activity, Secret: req.Secret, Authorize: authorize,
		}, &decoder{search: req.Search, ids: transport.NewCallIDs(req.Input)})(yield)
	}
}

func authorize(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }
