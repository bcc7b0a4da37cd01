// Package anthropic speaks Anthropic's Messages API
// (https://platform.claude.com/docs/en/api/messages), streaming.
//
// A request carries at most four cache breakpoints: after the tools, after the
// system prompt, and at the end of the last two user messages, which is where
// this request and the one before it end. Thinking goes back only with its
// signature. In models that check that nothing before a thinking block has
// changed, the API is asked to drop blocks that fail the check instead of
// refusing the request: an interrupted turn or a trimmed output may change
// what comes before (C6).
//
//	message_start ─► ( content_block_start ─► delta* ─► stop )* ─► message_delta ─► message_stop
//
// Files:
//
//   - request.go: JSON of requests, cache marks, thinking
//   - decode.go: events of a response as chunks
//   - block.go: content blocks, also unknown ones
//   - model.go: properties of a model
//   - models.go: the list of models
//   - search.go: web search of the API
//   - toolsearch.go: tool search of the API
package anthropic

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

// BaseURL is Anthropic's; it has no /v1.
const BaseURL = "https://api.anthropic.com"

const (
	version         = "2023-06-01"
	betaInterleaved = "interleaved-thinking-2025-05-14"
	betaBinding     = "thinking-binding-controls-2026-08-01"
	// fallbackMaxTokens is sent for models whose largest output is unknown.
	fallbackMaxTokens = 16_384
)

// Options configure the access to the API.
type Options transport.Options

// Provider is a [model.Provider].
type Provider struct{ options transport.Options }

// New returns a provider.
func New(o Options) *Provider {
	if onVertex(o.BaseURL) {
		o.Extra = maps.Clone(o.Extra)
		if o.Extra == nil {
			o.Extra = map[string]any{}
		}
		o.Extra["anthropic_version"], o.Extra["model"] = vertexVersion, nil // the path has the model
	}
	return &Provider{transport.Options(o).WithDefaults(BaseURL)}
}

// path is the path of requests after the base URL.
const path = "/v1/messages"

// vertexVersion is the version of the API in the body of requests to Google's Vertex AI.
const vertexVersion = "vertex-2023-10-16"

// onVertex reports whether a base URL belongs to Anthropic's models on Google's Vertex AI
// (platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai).
func onVertex(baseURL string) bool {
	return strings.HasSuffix(strings.TrimRight(baseURL, "/"), "/publishers/anthropic")
}

// pathOf returns the path of requests for a model after the base URL.
func (p *Provider) pathOf(model string) string {
	if onVertex(p.options.BaseURL) {
		return "/models/" + url.PathEscape(model) + ":streamRawPredict"
	}
	return path
}

// URL implements [model.Locator].
func (p *Provider) URL() string {
	if onVertex(p.options.BaseURL) { // the address has the model in it
		return p.options.URL("/models")
	}
	return p.options.URL(path)
}

// Stream implements [model.Provider].
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	known, _ := p.options.Models.Lookup(req.Model)
	r := newRequest(req, known)
	if transport.DialectOf(p.options.Host()).ThinkingCalls {
		r.fillThinking()
	}
	return p.options.Post(ctx, r, &transport.Request{
		Path: p.pathOf(req.Model), Header: p.header(known), Activity: req.Activity, Secret: req.Secret,
		Authorize: authorize,
	}, &decoder{search: req.Search})
}

// header returns the headers that the model needs. Betas that the options ask
// for are kept, since a configured header replaces ours.
func (p *Provider) header(known catalog.Model) http.Header {
	var betas []string
	if known.Interleaved {
		betas = append(betas, betaInterleaved)
	}
	if known.BoundThinking {
		betas = append(betas, betaBinding)
	}
	h := http.Header{"Anthropic-Version": {version}}
	if len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
	}
	return h
}
