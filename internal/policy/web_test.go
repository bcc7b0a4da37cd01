package policy_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// A fetch needs an approval for its host, and the approval covers only that host.
func TestFetches(t *testing.T) {
	dir := newDir(t)
	fetch := func(p *policy.Policy, url string) event.Permission {
		return p.Judge(request(t, "web_fetch", map[string]any{"url": url})).Decision
	}
	p := newPolicy(t, dir, policy.Config{Mode: mode(event.Ask)})
	for _, url := range []string{"https://docs.example/a", "http://127.0.0.1/", "file:///etc/passwd", "", "https://u@docs.example/"} {
		if got := fetch(p, url); got != event.Ask {
			t.Errorf("%s: %s", url, got)
		}
	}
	p.Remember(request(t, "web_fetch", map[string]any{"url": "https://Docs.example/a"}))
	for url, want := range map[string]event.Permission{
		"https://docs.example/b?c=d": event.Allow, "https://docs.example:443/": event.Allow, "https://docs.example./": event.Allow,
		"https://docs.example:8443/": event.Ask, "https://www.docs.example/": event.Ask, "https://docs.example.evil/": event.Ask, "https://evil/?docs.example": event.Ask,
		"https://docs.example@evil/": event.Ask, "https://evil#docs.example": event.Ask, "https://docs.example\\@evil/": event.Ask, "ftp://docs.example/": event.Ask,
	} {
		if got := fetch(p, url); got != want {
			t.Errorf("after docs.example was approved: %s: %s, want %s", url, got, want)
		}
	}
	p = newPolicy(t, dir, policy.Config{Mode: mode(event.Ask), Rules: []config.Rule{
		rule(
			"web_fetch", "*.python.org", event.Allow,
		), rule("web_fetch", "pkg.go.dev", event.Allow), rule("web_fetch", "secret.python.org", event.Deny),
	}})
	for url, want := range map[string]event.Permission{
		"https://docs.python.org/3/": event.Allow, "https://pkg.go.dev/net": event.Allow, "https://python.org/": event.Ask, "https://secret.python.org/": event.Deny,
		"https://SECRET.python.org./": event.Deny, "https://evil/docs.python.org": event.Ask, "https://pkg.go.dev:8080/": event.Ask,
	} {
		if got := fetch(p, url); got != want {
			t.Errorf("by a rule: %s: %s, want %s", url, got, want)
		}
	}
	if got := fetch(newPolicy(t, dir, policy.Config{Mode: mode(event.Deny)}), "https://docs.example/"); got != event.Deny {
		t.Errorf("where all is denied: %s", got)
	}
}

// A search needs an approval, because the query leaves the machine; rules match queries.
func TestSearches(t *testing.T) {
	dir := newDir(t)
	search := func(p *policy.Policy, query string) event.Permission {
		return p.Judge(request(t, "web_search", map[string]any{"query": query})).Decision
	}
	p := newPolicy(t, dir, policy.Config{Mode: mode(event.Ask)})
	if got := search(p, "go"); got != event.Ask {
		t.Errorf("%s", got)
	}
	p.Remember(request(t, "web_search", map[string]any{"query": "go"}))
	if got := search(p, "something else"); got != event.Allow {
		t.Errorf("after one was allowed for the session: %s", got)
	}
	if got := p.Judge(request(t, "web_fetch", map[string]any{"url": "https://go.dev/"})).Decision; got != event.Ask {
		t.Errorf("a fetch, after a search was approved: %s", got)
	}
	p = newPolicy(
		t,
		dir,
		policy.Config{
			Mode: mode(event.Ask),
			Rules: []config.Rule{
				rule("web_search", "golang *", event.Allow),
				rule("web_search", "* acme *", event.Deny),
			},
		},
	)
	for query, want := range map[string]event.Permission{"golang generics": event.Allow, "the acme merger": event.Deny, "rust": event.Ask} {
		if got := search(p, query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	if got := search(newPolicy(t, dir, policy.Config{Mode: mode(event.Deny)}), "go"); got != event.Deny {
		t.Errorf("where all is denied: %s", got)
	}
}
