package config_test

import (
	"maps"
	"os"
	"testing"

	"github.com/settle-agent/settle/internal/config"
)

// A session keeps the model and the server that were named when it began, and no key.
func TestStarted(t *testing.T) {
	data := t.TempDir()
	load := func(variables, flags map[string]string) *config.Resolved {
		t.Helper()
		flags = maps.Clone(flags)
		flags["data_dir"] = data
		r, err := config.Load(config.Input{
			Dir: t.TempDir(), Flags: flags, Getenv: func(name string) string { return variables[name] },
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	type settings = map[string]string
	named := settings{"model": "chat/m", "base_url": "http://127.0.0.1:1/v1"}
	for _, test := range []struct {
		name             string
		variables, first settings
		later            settings // variables
		then, want       settings
	}{
		{
			"both", nil, named, nil,
			settings{"effort": "low"},
			settings{
				"effort": "low", "model": "chat/m", "base_url": "http://127.0.0.1:1/v1", "base_url_for": "chat",
			},
		},
		{
			"an effort", nil,
			settings{"model": "chat/m", "effort": "high"},
			nil,
			settings{},
			settings{"model": "chat/m", "effort": "high"},
		},
		{
			"another effort now", nil,
			settings{"model": "chat/m", "effort": "high"},
			nil,
			settings{"effort": "low"},
			settings{"model": "chat/m", "effort": "low"},
		},
		{"an effort alone", nil, settings{"effort": "high"}, nil, settings{}, settings{"effort": "high"}},
		{
			"an effort and another model now", nil,
			settings{"model": "chat/m", "effort": "high"},
			nil,
			settings{"model": "chat/o"},
			settings{"model": "chat/o"},
		},
		{"nothing was named", nil, settings{}, nil, settings{}, settings{}},
		{"a variable", settings{"SETTLE_MODEL": "chat/v"}, settings{}, nil, settings{}, settings{"model": "chat/v"}},
		{"another model now", nil, named, nil, settings{"model": "chat/o"}, settings{"model": "chat/o"}},
		{
			"the same model now", nil,
			settings{"model": "chat/m", "base_url": "http://127.0.0.1:1/v1", "effort": "high"},
			nil,
			settings{"model": "chat/m"},
			settings{
				"model": "chat/m", "base_url": "http://127.0.0.1:1/v1", "base_url_for": "chat", "effort": "high",
			},
		},
		{"a variable now", nil, named, settings{"SETTLE_MODEL": "chat/v"}, settings{}, settings{}},
		{
			"another server now", nil, named, nil,
			settings{"base_url": "http://h/v1"},
			settings{"model": "chat/m", "base_url": "http://h/v1"},
		},
		{"a password", nil, settings{"model": "chat/m", "base_url": "http://u:p@h/v1"}, nil, settings{}, settings{}},
	} {
		_ = os.Remove(config.StartedFile(data, "one"))
		if err := load(test.variables, test.first).KeepStarted("one"); err != nil {
			t.Fatal(err)
		}
		first, loads := load(test.later, test.then), 0
		r, got, err := first.Continue("one", test.then, func(given settings) (*config.Resolved, error) {
			loads++
			return load(test.later, given), nil
		})
		if err != nil || !maps.Equal(got, test.want) {
			t.Errorf("%s: got %v, %v, want %v", test.name, got, err, test.want)
		}
		if added := !maps.Equal(test.want, test.then); added && (loads != 1 || r == first) || !added && r != first {
			t.Errorf("%s: the settings were resolved %d times more", test.name, loads)
		}
	}
	if err := load(nil, settings{}).KeepChosen("one"); err != nil { // the configured model was chosen again
		t.Fatal(err)
	}
	if _, err := os.Stat(config.StartedFile(data, "one")); err == nil {
		t.Error("the session keeps a model after the configured one was chosen again")
	}
	if err := load(nil, named).KeepStarted("../elsewhere"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(data + "/elsewhere"); err == nil {
		t.Error("an id named a file elsewhere")
	}
}
