package config

import (
	"slices"
	"testing"
)

// A token in the environment replaces the key, is masked, and is withheld from tools.
func TestBearerToken(t *testing.T) {
	env := map[string]string{"ANTHROPIC_AUTH_TOKEN": " token-0123456789abcdef "}
	load := func() (*Resolved, error) {
		return Load(Input{Dir: t.TempDir(), Getenv: func(name string) string { return env[name] }, GOOS: "linux"})
	}
	r, err := load()
	if err != nil {
		t.Fatal(err)
	}
	choice, err := r.Choose()
	if err != nil || choice.Provider.Name != "anthropic" ||
		choice.Provider.Headers["Authorization"] != "Bearer token-0123456789abcdef" {
		t.Errorf("chosen %+v: %v", choice, err)
	}
	if key, err := r.Key(t.Context(), choice.Provider, nil); key != "" || err != nil {
		t.Errorf("key %q: %v", key, err)
	}
	if !slices.Contains(r.Secrets(), "token-0123456789abcdef") ||
		!slices.Contains(r.Withheld(), "ANTHROPIC_AUTH_TOKEN") {
		t.Errorf("secrets %q, withheld %q", r.Secrets(), r.Withheld())
	}
	env["ANTHROPIC_AUTH_TOKEN"] = "two\nlines"
	if _, err := load(); err == nil {
		t.Error("a token with a line break was taken")
	}
}
