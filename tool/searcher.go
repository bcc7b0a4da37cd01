package tool

import (
	"context"

	"github.com/settle-agent/settle/event"
)

// Found is what a search of the web found.
type Found struct {
	// Text answers the query, in the words of whoever searched.
	Text    string
	Sources []Source // the pages that it comes from
	Usage   *event.Usage
	Cost    *float64 // in US dollars; nil if it is not known
}

// Source is a page of the web.
type Source struct {
	Title   string `json:"title,omitempty"`
	URL     string `json:"url"`
	Snippet string `json:"snippet,omitempty"`
}

// Searcher searches the web.
type Searcher func(ctx context.Context, query string) (Found, error)

type searcherKey struct{}

// WithSearcher returns a context in which [SearcherOf] returns the searcher.
func WithSearcher(ctx context.Context, s Searcher) context.Context {
	return context.WithValue(ctx, searcherKey{}, s)
}

// SearcherOf returns how the provider of the model that made the call searches; nil
// outside of a turn.
func SearcherOf(ctx context.Context) Searcher {
	s, _ := ctx.Value(searcherKey{}).(Searcher)
	return s
}
