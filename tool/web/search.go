package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool"
)

// SearchName is the name of the tool that searches the web.
const SearchName = "web_search"

const (
	// searchTimeout bounds a search.
	searchTimeout = 3 * time.Minute
	// maxQuery bounds a query in bytes.
	maxQuery = 1 << 10
	// maxSources bounds the pages in the model's result.
	maxSources = 20
)

// search is the tool; with is nil for the provider of the model that calls it.
type search struct{ with tool.Searcher }

type searchArguments struct {
	Query string `json:"query"`
}

func (in searchArguments) title() string {
	return "search the web for " + terminal.Short(strings.TrimSpace(in.Query), 200)
}

var searchSchema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(
		`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}`,
	)
})

// NewSearch returns the tool that searches with a searcher; nil is the provider of
// the model that calls the tool.
func NewSearch(with tool.Searcher) tool.Tool {
	return tool.Must(tool.New(SearchName, "Search the web. Returns the results and the addresses of their sources.",
		search{with}.run, searchSchema(), tool.WithTimeout(2*searchTimeout), tool.WithTitle(searchArguments.title)))
}

// Query returns the query of a call.
func Query(args []byte) string {
	var in searchArguments
	if json.Unmarshal(args, &in) != nil {
		return ""
	}
	return strings.TrimSpace(in.Query)
}

func (s search) run(ctx context.Context, in searchArguments) (tool.Result, error) {
	query := strings.TrimSpace(in.Query)
	switch {
	case query == "":
		return tool.Result{}, errors.New("the query is empty")
	case len(query) > maxQuery:
		return tool.Result{}, fmt.Errorf("the query has %d bytes, and may have %d", len(query), maxQuery)
	}
	with := s.with
	if with == nil {
		with = tool.SearcherOf(ctx)
	}
	if with == nil {
		return tool.Result{}, errors.New("no search service is available")
	}
	bounded, cancel := context.WithTimeoutCause(ctx, searchTimeout,
		fmt.Errorf("the search took longer than %s", terminal.Duration(searchTimeout)))
	defer cancel()
	found, err := with(bounded, query)
	found.Sources = distinct(found.Sources)
	if ctx.Err() != nil {
		return tool.Result{
			Aborted: true, Output: "The search was cut. The query may have been sent.",
			Detail: detail(query, found),
		}, nil
	}
	if err != nil && bounded.Err() != nil {
		err = context.Cause(bounded)
	}
	if err != nil {
		return tool.Result{Output: "The search failed: " + err.Error(), Failed: true, Detail: detail(query, found)}, nil
	}
	return tool.Result{Output: rendered(found), Detail: detail(query, found)}, nil
}

// rendered returns the search result as the model receives it.
func rendered(found tool.Found) string {
	var b strings.Builder
	text := strings.TrimSpace(found.Text)
	if text == "" && len(found.Sources) == 0 {
		return "Nothing was found."
	}
	if b.WriteString(clip(text, pageSize)); text != "" && len(found.Sources) > 0 {
		b.WriteString("\n\nSources:\n")
	}
	for _, s := range found.Sources {
		fmt.Fprintf(&b, "- %s\n", strings.TrimSpace(terminal.OneLine(s.Title)+" "+terminal.OneLine(s.URL)))
		if s.Snippet != "" {
			fmt.Fprintf(&b, "  %s\n", clip(terminal.OneLine(s.Snippet), 1<<10))
		}
	}
	return marked(strings.TrimSpace(b.String()))
}

// detail is for frontends, and includes the usage of the search.
func detail(query string, found tool.Found) json.RawMessage {
	data, err := json.Marshal(struct {
		Query   string        `json:"query"`
		Sources []tool.Source `json:"sources,omitempty"`
		Usage   *event.Usage  `json:"usage,omitempty"`
		Cost    *float64      `json:"cost_usd,omitempty"`
	}{query, found.Sources, found.Usage, found.Cost})
	if err != nil {
		return nil
	}
	return data
}

// distinct returns the sources with an address, each once, at most maxSources.
func distinct(sources []tool.Source) (out []tool.Source) {
	seen := map[string]bool{}
	for _, s := range sources {
		if s.URL == "" || seen[s.URL] || len(out) == maxSources {
			continue
		}
		seen[s.URL] = true
		out = append(out, s)
	}
	return out
}

// ReadFound reads the output of a search command: text, or JSON with "text", "results", or
// a list of results.
func ReadFound(out []byte) tool.Found {
	text := strings.TrimSpace(strings.ToValidUTF8(string(out), "\uFFFD"))
	var parsed struct {
		Text    string        `json:"text"`
		Results []tool.Source `json:"results"`
	}
	switch {
	case json.Unmarshal(out, &parsed) == nil && (parsed.Text != "" || parsed.Results != nil):
		return tool.Found{Text: parsed.Text, Sources: parsed.Results}
	case json.Unmarshal(out, &parsed.Results) == nil:
		return tool.Found{Sources: parsed.Results}
	}
	return tool.Found{Text: text}
}
