package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/terminal"
)

// offer is a provider that the person can choose.
type offer struct {
	choice   Choice
	provider config.Provider
	needsKey bool
}

// otherServer is the ID of the choice of a server by its address.
const otherServer = "other"

// makers are the built-in providers with a server of their own, by the name of the maker.
func makers() []Choice {
	return []Choice{
		{ID: "anthropic", Label: "Anthropic"}, {ID: "openai", Label: "OpenAI"}, {ID: "gemini", Label: "Google Gemini"},
	}
}

// offers returns the choices of the person: first the providers that work at once.
func (f *flow) offers(servers []Server) []offer {
	var ready, others []offer
	for _, m := range makers() {
		p := f.Settings.Providers[m.ID]
		one := offer{choice: m, provider: p, needsKey: !f.Settings.Ready(p)}
		switch source := f.Settings.KeySource(p); {
		case one.needsKey:
			one.choice.Detail = "needs a key"
			others = append(others, one)
			continue
		default:
			one.choice.Detail = "key " + source
		}
		ready = append(ready, one)
	}
	for _, s := range servers {
		if !s.Answers || !s.NeedsKey && len(s.Models) == 0 {
			continue
		}
		one := offer{
			choice:   Choice{ID: s.ID, Label: s.Name, Detail: strings.TrimPrefix(s.Base, "http://")},
			provider: config.Provider{Name: s.ID, Wire: config.WireChat, BaseURL: s.Base},
			needsKey: s.NeedsKey,
		}
		if known, has := f.Settings.Providers[s.ID]; has {
			one.provider = known
			one.provider.BaseURL = s.Base
		}
		if n := len(s.Models); n > 0 {
			one.choice.Detail += ", " + terminal.Count(n, "model")
		}
		ready = append(ready, one)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Settings.Providers)) { // the person's own
		p := f.Settings.Providers[name]
		if p.BaseURL == "" || name != f.now.Provider.Name && !f.Settings.Ready(p) ||
			slices.ContainsFunc(ready, of(name)) || slices.ContainsFunc(others, of(name)) {
			continue
		}
		ready = append(ready, offer{choice: Choice{ID: name, Label: name, Detail: p.BaseURL}, provider: p})
	}
	return append(append(ready, others...), offer{
		choice: Choice{ID: otherServer, Label: "Another server", Detail: "give its address (Chat Completions)"},
	})
}

func of(name string) func(offer) bool { return func(o offer) bool { return o.choice.ID == name } }

// report describes the found keys and servers, a line for each.
func report(settings *config.Resolved, servers []Server) (lines []string) {
	for _, m := range makers() {
		p := settings.Providers[m.ID]
		if settings.Ready(p) {
			lines = append(lines, "✓ a key for "+m.Label+" "+settings.KeySource(p))
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "– no key: ANTHROPIC_API_KEY, OPENAI_API_KEY and GEMINI_API_KEY are not set")
	}
	var silent []string
	for _, s := range servers {
		at := strings.TrimSuffix(strings.TrimPrefix(s.Base, "http://"), "/v1")
		switch {
		case !s.Answers:
			silent = append(silent, fmt.Sprintf("%s (%s)", s.Name, at[strings.LastIndex(at, ":")+1:]))
		case s.NeedsKey:
			lines = append(lines, fmt.Sprintf("✓ %s at %s requests a key", s.Name, at))
		case len(s.Models) == 0:
			lines = append(lines, fmt.Sprintf("– %s at %s has no model yet: %s", s.Name, at, s.Start))
		default:
			lines = append(lines, "✓ "+s.Name+" at "+at+", with "+terminal.Count(len(s.Models), "model"))
		}
	}
	if len(silent) > 0 {
		lines = append(lines, "– no answer on the usual port of "+strings.Join(silent, ", "))
	}
	return lines
}
