package catalog_test

import (
	"testing"

	"github.com/settle-agent/settle/model/catalog"
)

func TestLookup(t *testing.T) {
	table := catalog.Builtin().With(catalog.Table{"local/mine": {Window: 7}, "gpt-4o": {Window: 9}})
	for _, tt := range []struct {
		name   string
		window int
	}{
		{"claude-opus-4-5-20251101", 200_000},
		{"claude-opus-4-9", 0}, // not opus 4: there is no such entry
		{"claude-opus-5-7", 0}, // a sibling of opus 5, not a version of it
		{"claude-opus-5@20260724", 1_000_000},
		{"anthropic/claude-haiku-5-5", 1_000_000},
		{"openrouter/openai/gpt-5.2", 400_000},
		{"GPT-5-2025-08-07", 400_000},
		{"gpt-5.7", 0},
		{"gpt-oss-20b:free", 131_072},
		{"local/mine", 7},
		{"gpt-4o", 9},
		{"", 0},
	} {
		if m, ok := table.Lookup(tt.name); m.Window != tt.window || ok != (tt.window > 0) {
			t.Errorf("Lookup(%q) has a window of %d, %v, want %d", tt.name, m.Window, ok, tt.window)
		}
	}
}

func TestEntriesAreComplete(t *testing.T) {
	for name, m := range catalog.Builtin() {
		if m.Window == 0 || m.MaxOutput == 0 || m.MaxOutput > m.Window {
			t.Errorf("%s: window %d, largest output %d", name, m.Window, m.MaxOutput)
		}
		if named := m.Thinking != catalog.NoThinking && m.Thinking != catalog.ByBudget; named != (len(m.Efforts) > 0) {
			t.Errorf("%s thinks %q and has efforts %q", name, m.Thinking, m.Efforts)
		}
	}
	for _, provider := range []string{"anthropic", "openai"} {
		if _, ok := catalog.Builtin()[catalog.Default(provider)]; !ok {
			t.Errorf("the default of %s, %q, is not in the table", provider, catalog.Default(provider))
		}
	}
}

func TestEffort(t *testing.T) {
	for _, tt := range []struct{ model, effort, want string }{
		{"gpt-5", "none", "minimal"},
		{"gpt-5", "xhigh", "high"},
		{"gpt-6.1-sol", "max", "max"},
		{"gpt-5.2", "max", "xhigh"},
		{"gpt-5.2", "minimal", "none"},
		{"claude-sonnet-4-6", "max", "high"},
		{"claude-opus-4-6", "xhigh", "high"},
		{"claude-opus-5-5", "", ""},
		{"unknown", "high", "high"},
		{"gpt-5", "extreme", "extreme"},
	} {
		m, _ := catalog.Builtin().Lookup(tt.model)
		if got := m.Effort(tt.effort); got != tt.want {
			t.Errorf("%s: effort %q becomes %q, want %q", tt.model, tt.effort, got, tt.want)
		}
	}
}
