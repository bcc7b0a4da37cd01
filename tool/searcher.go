package tool

import (
	"context"

	"github.com/settle-agent/settle/event"
)

// Found is the result of a web search.
type Found struct {
	// Text answers the query in the words of the search service.
	Text    string
	Sources []Source // its source pages
	Usage   *event.Usage
	Cost    *float64 // in US dollars; nil if unknown
}

// Source is a web page.
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

// SearcherOf returns the search of the calling model's provider; nil outside a turn.
func SearcherOf(ctx context.Context) Searcher {
	s, _ := ctx.Value(searcherKey{}).(Searcher)
	return s
}
