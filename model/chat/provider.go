// Package chat implements streaming Chat Completions, OpenAI's format, for the many
// servers that imitate it: vLLM, Ollama, llama.cpp, OpenRouter, LiteLLM, Azure and
// others. Read decode.go first.
//
// It tolerates missing parts: ids and indexes of calls, roles, usage, the final [DONE],
// the finish_reason tool_calls. A finish_reason or [DONE] ends a response; without both,
// the response is truncated.
//
//	chunk* ─► chunk with finish_reason ─► (chunk with usage) ─► [DONE] or the stream's end
//
// Other files:
//
//   - request.go: JSON of requests
//   - choice.go: text and reasoning of a chunk
//   - call.go: tool calls, whole and in parts
//   - attached.go: what servers attach to calls
//   - details.go: OpenRouter's reasoning details
//   - dialect.go: rules of servers beyond OpenAI's API
//   - model.go: properties of a model
//   - tokens.go: token IDs and log probabilities
//   - window.go: a server's context window and models
package chat

import (
	"context"
	"iter"
	"strings"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/catalog"
	"github.com/settle-agent/settle/model/transport"
)

// Options are the address of a server and the features that it lacks.
//
// Azure: a base URL that ends in /openai/v1, the key in a header
// ("api-key"), and Query with "api-version" where the server wants one.
type Options struct {
	transport.Endpoint
	// Models is the table of models; nil means catalog.Builtin().
	Models catalog.Table
	// MaxTokensField is the name of the field for the largest output:
	// "max_tokens" or "max_completion_tokens". If it is empty, the host
	// decides: OpenAI itself wants the second.
	MaxTokensField string
	// NoStreamUsage leaves out stream_options, for servers that refuse it.
	// Usage is then known only where the server sends it unasked.
	NoStreamUsage bool
	// Dialect is one of [Dialects]: the requirements of the server beyond OpenAI's API. It is
	// needed for hosts whose name does not determine the dialect.
	Dialect string
	// NoReasoningBack does not send reasoning back, for servers that refuse
	// the field that they sent it in.
	NoReasoningBack bool
}

// Provider is a [model.Provider].
type Provider struct {
	options Options
	openai  bool // it is OpenAI itself, which takes fields that others refuse
}

// New returns a provider. The base URL ends where /chat/completions begins,
// mostly in /v1.
func New(o Options) *Provider {
	if o.Models == nil {
		o.Models = catalog.Builtin()
	}
	host := o.Host()
	openai := host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com")
	if o.MaxTokensField == "" {
		o.MaxTokensField = "max_tokens"
		if openai {
			o.MaxTokensField = "max_completion_tokens"
		}
	}
	o.Endpoint = o.Prepared()
	return &Provider{options: o, openai: openai}
}

// path is the path of requests after the base URL.
const path = "/chat/completions"

// URL implements [model.Locator].
func (p *Provider) URL() string { return p.options.URL(path) }

// Stream implements [model.Provider].
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	known, _ := p.options.Models.Lookup(req.Model)
	body, err := p.body(req, known)
	if req.Search {
		err = model.NewError(model.ErrInvalid, "the provider of %s has no search that settle can use", req.Model)
	}
	if err != nil {
		return transport.Failed(err)
	}
	r := &transport.Request{Path: path, Body: body, Activity: req.Activity, Secret: req.Secret}
	return p.options.Stream(ctx, r, &decoder{ids: transport.NewCallIDs(req.Input)})
}

// body returns the request's JSON.
func (p *Provider) body(req model.Request, known catalog.Model) ([]byte, error) {
	d := dialectOf(p.options.Dialect, p.options.Host(), req)
	d.mute = d.mute || p.options.NoReasoningBack
	r := newRequest(req, known, d)
	if !p.options.NoStreamUsage {
		r.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	if p.openai {
		r.PromptCacheKey = req.CacheKey
	}
	extra := map[string]any{}
	if req.MaxTokens > 0 {
		limit := req.MaxTokens
		if known.MaxOutput > 0 {
			limit = min(limit, known.MaxOutput)
		}
		extra[p.options.MaxTokensField] = limit
	}
	for name, value := range p.options.Extra {
		extra[name] = value
	}
	return transport.Body(r, extra)
}
