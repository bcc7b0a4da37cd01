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
//
// Other files:
//
//   - request.go: JSON of requests, thinking
//   - model.go: properties and list of models
//   - search.go: pages of a grounded answer
package gemini

import (
	"context"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// BaseURL is Google's; it ends in the version.
const BaseURL = "https://generativelanguage.googleapis.com/v1beta"

// Options configure the access to the API.
type Options transport.Options

// Provider is a [model.Provider].
type Provider struct{ options transport.Options }

// New returns a provider.
func New(o Options) *Provider {
	o.Query = maps.Clone(o.Query)
	if o.Query == nil {
		o.Query = url.Values{}
	}
	o.Query.Set("alt", "sse") // else the stream is one JSON array
	return &Provider{transport.Options(o).WithDefaults(BaseURL)}
}

// path returns the path of a streaming request after the base URL, for a model name with or without
// "models/".
func path(name string) string {
	return "/models/" + url.PathEscape(strings.TrimPrefix(name, "models/")) + ":streamGenerateContent"
}

// URL implements [model.Locator]. The address has the model in it.
func (p *Provider) URL() string { return p.options.URL("/models") }

// Stream implements [model.Provider].
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	known, _ := p.options.Models.Lookup(req.Model)
	return p.options.Post(ctx, newRequest(req, known), &transport.Request{
		Path: path(req.Model), Activity: req.Activity, Secret: req.Secret, Authorize: authorize,
	}, &decoder{search: req.Search, ids: transport.NewCallIDs(req.Input)})
}

func authorize(h http.Header, key string) { h.Set("X-Goog-Api-Key", key) }
