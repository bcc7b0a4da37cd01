package web

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/tool"
)

func searched(t *testing.T, ctx context.Context, with tool.Searcher, args string) (tool.Result, error) {
	t.Helper()
	set, err := tool.NewSet(NewSearch(with))
	if err != nil {
		t.Fatal(err)
	}
	return set.Run(ctx, tool.Call{Name: SearchName, Args: json.RawMessage(args)})
}

// Results are marked as untrusted, and each source appears once.
func TestSearch(t *testing.T) {
	found := tool.Found{Text: " Go 1.27 is out.\n", Sources: []tool.Source{
		{URL: "https://go.dev/", Title: "Go\nforged"},
		{URL: "https://go.dev/"},
		{Title: "no address"},
		{URL: "https://a.example/", Snippet: "a\x1b[31mb"},
	}}
	got, err := searched(t, t.Context(), func(_ context.Context, query string) (tool.Found, error) {
		if query != "go release" {
			t.Errorf("asked for %q", query)
		}
		return found, nil
	}, `{"query":" go release "}`)
	if err != nil || got.Failed {
		t.Fatal(got, err)
	}
	if !strings.HasPrefix(got.Output, "[What follows is from outside") ||
		strings.Count(got.Output, "https://go.dev/") != 1 ||
		!strings.Contains(got.Output, "https://a.example/") || strings.Contains(got.Output, "no address") ||
		strings.ContainsRune(got.Output, 0x1b) || strings.Contains(got.Output, "\nforged") {
		t.Errorf("%q", got.Output)
	}
	if !strings.Contains(string(got.Detail), `"query":"go release"`) ||
		!strings.Contains(string(got.Detail), `https://a.example/`) {
		t.Errorf("%s", got.Detail)
	}
}

// A search that fails, is cancelled, or cannot start has an honest end.
func TestSearchEnds(t *testing.T) {
	none := func(context.Context, string) (tool.Found, error) { return tool.Found{}, nil }
	if got, err := searched(t, t.Context(), none, `{"query":"x"}`); err != nil || got.Output != "Nothing was found." {
		t.Errorf("%+v, %v", got, err)
	}
	for _, args := range []string{
		`{"query":" "}`, `{"query":"` + strings.Repeat("x", maxQuery+1) + `"}`, `{}`,
		`{"query":"x","allowed_domains":["a"]}`,
	} {
		if got, err := searched(t, t.Context(), none, args); err == nil {
			t.Errorf("%.40s: %+v", args, got)
		}
	}
	if _, err := searched(t, t.Context(), nil, `{"query":"x"}`); err == nil {
		t.Error("searched with nobody")
	}
	fails := func(context.Context, string) (tool.Found, error) { return tool.Found{}, errors.New("429: wait") }
	if got, err := searched(t, t.Context(), fails, `{"query":"x"}`); err != nil || !got.Failed ||
		!strings.Contains(got.Output, "429: wait") {
		t.Errorf("%+v, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cut := func(ctx context.Context, _ string) (tool.Found, error) {
		cancel(errors.New("enough"))
		<-ctx.Done()
		return tool.Found{}, context.Cause(ctx)
	}
	if got, err := searched(t, ctx, cut, `{"query":"x"}`); err != nil || !got.Aborted {
		t.Errorf("%+v, %v", got, err)
	}
}

// A command answers with JSON or text.
func TestReadFound(t *testing.T) {
	page := tool.Source{Title: "Go", URL: "https://go.dev/", Snippet: "s"}
	for out, want := range map[string]tool.Found{
		"plain\n": {Text: "plain"}, "": {}, `{"other":1}`: {Text: `{"other":1}`}, `"x"`: {Text: `"x"`},
		`{"text":"t","results":[{"title":"Go","url":"https://go.dev/","snippet":"s","rank":1}]}`: {
			Text:    "t",
			Sources: []tool.Source{page},
		},
		`[{"title":"Go","url":"https://go.dev/","snippet":"s"}]`: {Sources: []tool.Source{page}},
		"\xff": {Text: "\uFFFD"},
	} {
		if diff := cmp.Diff(want, ReadFound([]byte(out))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", out, diff)
		}
	}
}
