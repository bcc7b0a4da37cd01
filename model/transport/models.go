package transport

import (
	"context"
	"maps"
	"net/url"
	"slices"
)

// Listed is a model as a server lists it. Zero numbers are unknown.
type Listed struct {
	ID        string
	Window    int // tokens
	MaxOutput int // tokens
}

// maxPages bounds how many pages of a list are read.
const maxPages = 20

// listPage is a page of /models. Servers say in various ways how much a model
// takes: Anthropic (max_input_tokens, max_tokens), vLLM (max_model_len),
// OpenRouter (context_length), Groq (context_window), llama.cpp (meta), Google
// (inputTokenLimit, outputTokenLimit); OpenAI does not. Anthropic and Google have
// pages.
type listPage struct {
	Data []struct {
		ID             string `json:"id"`
		Lifecycle      string `json:"lifecycle"`
		MaxInputTokens int    `json:"max_input_tokens"`
		MaxTokens      int    `json:"max_tokens"`
		MaxModelLen    int    `json:"max_model_len"`
		ContextLength  int    `json:"context_length"`
		ContextWindow  int    `json:"context_window"`
		Meta           struct {
			Context int `json:"n_ctx"`
			Trained int `json:"n_ctx_train"`
		} `json:"meta"`
	} `json:"data"`
	HasMore bool   `json:"has_more"`
	LastID  string `json:"last_id"`

	Models []struct { // Google's
		Name             string   `json:"name"`
		InputTokenLimit  int      `json:"inputTokenLimit"`
		OutputTokenLimit int      `json:"outputTokenLimit"`
		Methods          []string `json:"supportedGenerationMethods"`
	} `json:"models"`
	NextPageToken string `json:"nextPageToken"`
}

// maxWindow is the largest window that is believed, in tokens.
const maxWindow = 1 << 31

// plausible is the model with 0, unknown, for sizes that no model has.
func (l Listed) plausible() Listed {
	if l.Window < 0 || l.Window > maxWindow {
		l.Window = 0
	}
	if l.MaxOutput < 0 || l.MaxOutput > maxWindow {
		l.MaxOutput = 0
	}
	return l
}

func (p listPage) models() []Listed {
	var list []Listed
	for _, m := range p.Data {
		if m.Lifecycle == "retired" {
			continue
		}
		l := Listed{ID: m.ID, MaxOutput: m.MaxTokens}
		for _, window := range []int{
			m.MaxInputTokens, m.MaxModelLen, m.ContextLength, m.ContextWindow, m.Meta.Context, m.Meta.Trained,
		} {
			if l.Window = window; window > 0 {
				break
			}
		}
		list = append(list, l.plausible())
	}
	for _, m := range p.Models {
		if slices.Contains(m.Methods, "generateContent") {
			list = append(
				list, Listed{ID: m.Name, Window: m.InputTokenLimit, MaxOutput: m.OutputTokenLimit}.plausible(),
			)
		}
	}
	return list
}

// Models requests the list of the endpoint's models. The request has the path and the
// headers of the provider's other requests.
func (e Endpoint) Models(ctx context.Context, r Request) ([]Listed, error) {
	e = e.Prepared()
	e.Query = maps.Clone(e.Query)
	if e.Query == nil {
		e.Query = url.Values{}
	}
	var all []Listed
	for range maxPages {
		var page listPage
		if err := e.get(ctx, r, &page); err != nil {
			return nil, err
		}
		all = append(all, page.models()...)
		switch {
		case page.NextPageToken != "":
			e.Query.Set("pageToken", page.NextPageToken)
		case page.HasMore && page.LastID != "":
			e.Query.Set("after_id", page.LastID)
		default:
			return all, nil
		}
	}
	return all, nil
}
