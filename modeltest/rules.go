package modeltest

import (
	"bytes"
	"slices"
)

// Rules determine which requests a [Server] refuses. The zero Rules are as strict as the strictest
// provider, any model name is known and no key is required.
type Rules struct {
	// Off accepts every request that is JSON.
	Off bool `json:"off,omitempty"`
	// Keys are the accepted API keys. Empty: none is asked for.
	Keys []string `json:"keys,omitempty"`
	// Models are the known models; any other gets a 404. Empty: every name is known.
	Models []Model `json:"models,omitempty"`
	// Account is the provider's account that the server answers for: it refuses
	// the signed reasoning of any other, as providers do. See also
	// [Server.SetAccount].
	Account string `json:"account,omitempty"`
	// Provider, if set, names a provider whose further rules apply too: see [ProviderRules].
	// Responses have the ids, reasoning and signatures of this provider.
	Provider string `json:"provider,omitempty"`
	// Flagged are words that are against the provider's policy: a request that
	// has one anywhere is refused, by Messages within the response, and plays no
	// turn.
	Flagged []string `json:"flagged,omitempty"`
	// Rejects are contents that the server refuses without an explanation. See also
	// [Server.Reject].
	Rejects []Rejection `json:"rejects,omitempty"`
	// Terse leaves the numbers out of the error for a request that is too long.
	Terse bool `json:"terse,omitempty"`
	// Caches has responses without a usage of their own report the cache usage of the providers'
	// prompt caches, by their published rules: see docs/reference/scenarios.md.
	Caches bool `json:"caches,omitempty"`
	// NoToolSearch refuses the providers' own search of tools, like servers without such a search.
	NoToolSearch bool `json:"no_tool_search,omitempty"`
	// RequireStoreFalse refuses Responses requests without "store": false, as
	// a server without storage would.
	RequireStoreFalse bool `json:"require_store_false,omitempty"`
	// AllowPrefill accepts a trailing assistant message, as older models do.
	AllowPrefill bool `json:"allow_prefill,omitempty"`
	// AllowRepeatedRoles accepts two user or two assistant messages in a row,
	// as the newest Messages API does, which joins them.
	AllowRepeatedRoles bool `json:"allow_repeated_roles,omitempty"`
	// AllowEmptyText accepts empty text in the places where a provider is known to accept it.
	AllowEmptyText bool `json:"allow_empty_text,omitempty"`
}

// Model is a model that the server knows.
type Model struct {
	ID string `json:"id"`
	// MaxOutput is the largest max_tokens it takes; 0 means no limit.
	MaxOutput int `json:"max_output,omitempty"`
	// Window is served as max_model_len by /v1/models, and longer requests
	// are refused; 0 means none.
	Window int `json:"window,omitempty"`
	// TokenBytes is the number of bytes of a request that count as a token; 0 means 4.
	TokenBytes int `json:"token_bytes,omitempty"`
}

// flag reports whether the request contains a flagged word.
func (r Rules) flag(body []byte) bool {
	return slices.ContainsFunc(r.Flagged, func(word string) bool { return bytes.Contains(body, []byte(word)) })
}

// model returns the model of that name, and whether the rules know it.
func (r Rules) model(id string) (Model, bool) {
	if len(r.Models) == 0 {
		return Model{ID: id}, true
	}
	for _, m := range r.Models {
		if m.ID == id {
			return m, true
		}
	}
	return Model{}, false
}
