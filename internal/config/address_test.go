package config_test

import (
	"testing"

	"github.com/settle-agent/settle/internal/config"
)

// An address that was given for one provider is used for no other one, neither for the model nor for its
// fallback; a model of its provider gets it.
func TestMergedAddressBelongsToItsProvider(t *testing.T) {
	const address, makers = "http://127.0.0.1:1/v1", "https://api.anthropic.com"
	type settings = map[string]string
	load := func(given settings) (*config.Resolved, error) {
		return config.Load(config.Input{Dir: t.TempDir(), Flags: given, Getenv: func(string) string { return "" }})
	}
	named := settings{"model": "chat/m", "base_url": address}
	for _, tt := range []struct {
		name         string
		below, given settings
		model, falls string // addresses; falls is empty without a fallback
	}{
		{"nothing chosen", named, nil, address, ""},
		{"the same provider", named, settings{"model": "chat/n"}, address, ""},
		{"another provider", named, settings{"model": "anthropic/claude-x"}, makers, ""},
		{
			"another address now", named,
			settings{"model": "anthropic/claude-x", "base_url": "http://h"},
			"http://h", "",
		},
		{"a fallback of another provider", named, settings{"fallback_model": "anthropic/claude-x"}, address, makers},
		{
			"a fallback of the address's provider", named,
			settings{"model": "anthropic/claude-x", "fallback_model": "chat/n"},
			makers, address,
		},
		{
			"an address of an unknown provider",
			settings{"base_url": address},
			settings{"model": "anthropic/claude-x"},
			makers, "",
		},
	} {
		for way, resolve := range map[string]func() (*config.Resolved, error){
			"flags":  func() (*config.Resolved, error) { return config.LoadOver(tt.below, tt.given, load) },
			"choice": func() (*config.Resolved, error) { return load(config.Merge(tt.below, tt.given, of(tt.below))) },
		} {
			r, err := resolve()
			if err != nil {
				t.Fatalf("%s, %s: %v", tt.name, way, err)
			}
			first, err := r.Choose()
			if got := first.Provider.BaseURL; err != nil || got != tt.model {
				t.Errorf("%s, %s: the model is asked at %q, %v, want %q", tt.name, way, got, err, tt.model)
			}
			fallback, err := r.ChooseFallback(first)
			if err != nil || (fallback != nil) != (tt.falls != "") ||
				fallback != nil && fallback.Provider.BaseURL != tt.falls {
				t.Errorf("%s, %s: the fallback is %+v, %v, want %q", tt.name, way, fallback, err, tt.falls)
			}
		}
	}
}

// of returns the provider of the test's model.
func of(given map[string]string) string {
	if given["model"] == "" {
		return ""
	}
	return "chat"
}

// A project that names a model does not choose whose key the server at the user's address receives.
func TestAddressIsNotOfProjectsProvider(t *testing.T) {
	const address = "http://127.0.0.1:1/v1"
	for _, tt := range []struct{ key, model, want string }{
		{"ANTHROPIC_API_KEY", "openai/m", "https://api.openai.com/v1"},
		{"OPENAI_API_KEY", "openai/m", address},
		{"", "openai/m", address},
	} {
		w := newWorld(t)
		w.project("model = '" + tt.model + "'")
		w.in.Flags["base_url"] = address
		if tt.key != "" {
			w.env[tt.key] = "secret"
		}
		choice, err := w.load().Choose()
		if got := choice.Provider.BaseURL; err != nil || got != tt.want {
			t.Errorf("%s and the project's %s: %q, %v, want %q", tt.key, tt.model, got, err, tt.want)
		}
	}
}
