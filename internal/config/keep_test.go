package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kept loads the user's file at path.
func kept(t *testing.T, dir string, vars map[string]string) *Resolved {
	t.Helper()
	r, err := Load(Input{Dir: t.TempDir(), Getenv: func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return dir
		}
		return vars[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A choice is kept in the user's file, whose other lines stay; the key has a file of its own.
func TestKeepDraft(t *testing.T) {
	const key = "sk-kept-0123456789abcdef"
	anthropic := builtin()["anthropic"]
	ollama := Provider{Name: "ollama", Wire: WireChat, BaseURL: "http://127.0.0.1:11434/v1"}
	for name, c := range map[string]struct {
		file  string
		draft Draft
		want  string // the file afterwards; empty if it cannot be edited
	}{
		"no file": {
			"",
			Draft{Model: "m", Provider: anthropic, Key: key},
			"model = \"anthropic/m\"\n\n[providers.anthropic]\nkey_file = \"keys/anthropic.key\"\n",
		},
		"local server": {
			"# mine\nmax_steps = 3 # few",
			Draft{Model: "qwen3:8b", Provider: ollama},
			"model = \"ollama/qwen3:8b\"\n# mine\nmax_steps = 3 # few\n\n[providers.ollama]\n" +
				"wire = \"chat\"\nbase_url = \"http://127.0.0.1:11434/v1\"\n",
		},
		"replaced": {
			"model = \"a/b\"\n[providers.anthropic] # own\nkey_command = \"old\"\nmodel = \"x\"\n" +
				"[terminal]\nkeys = \"vi\"\n",
			Draft{Model: "m", Provider: anthropic, Key: key},
			"model = \"anthropic/m\"\n[providers.anthropic] # own\nkey_file = \"keys/anthropic.key\"\nmodel = \"x\"\n" +
				"[terminal]\nkeys = \"vi\"\n",
		},
		"key command": {
			"\ufeffmodel = \"a/b\"\n",
			Draft{Model: "m", Provider: anthropic, KeyCommand: `pass show "x"`},
			"model = \"anthropic/m\"\n\n[providers.anthropic]\nkey_command = \"pass show \\\"x\\\"\"\n",
		},
		"inline table": {
			"providers.anthropic = { model = \"x\" }\n", Draft{Model: "m", Provider: anthropic, Key: key}, "",
		},
		"value on several lines": {
			"[providers.anthropic]\nkey_command = [\n\"a\",\n\"b\",\n]\n",
			Draft{Model: "m", Provider: anthropic, Key: key},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "settle", "config.toml")
			if c.file != "" {
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := kept(t, dir, nil).Keep(c.draft)
			got, _ := os.ReadFile(path)
			if c.want == "" {
				if err == nil || string(got) != c.file || strings.Contains(err.Error(), key) ||
					!strings.Contains(err.Error(), `model = "anthropic/m"`) {
					t.Fatalf("%v: %q", err, got)
				}
				return
			}
			if err != nil || string(got) != c.want {
				t.Fatalf("%v: %q\nwant %q", err, got, c.want)
			}
			r := kept(t, dir, nil)
			if choice, err := r.Choose(); err != nil || choice.String() != c.draft.Provider.Name+"/"+c.draft.Model {
				t.Errorf("chosen: %v, %v", choice, err)
			}
			if c.draft.Key == "" {
				return
			}
			file := filepath.Join(dir, "settle", "keys", "anthropic.key")
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the key's file: %v, %v", info, err)
			}
			if got, err := r.Key(t.Context(), r.Providers["anthropic"], nil); err != nil || got != key {
				t.Errorf("the key is %q, %v", got, err)
			}
		})
	}
}

// A key in a file is a secret like one in a variable (C15): it is masked, and a file that others
// can read is refused. The variable of the built-in provider stays a secret, too.
func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	const key, variable = "sk-file-0123456789abcdef", "sk-variable-0123456789abcdef"
	if err := os.MkdirAll(filepath.Join(dir, "settle"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"config.toml": "[providers.openai]\nkey_file = \"k\"\n", "k": key + "\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, "settle", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := kept(t, dir, map[string]string{"OPENAI_API_KEY": variable})
	choice, err := r.Choose()
	if err != nil || choice.Provider.Name != "openai" {
		t.Fatal(choice, err)
	}
	if got, err := r.Key(t.Context(), choice.Provider, nil); err != nil || got != key {
		t.Errorf("the key is %q, %v", got, err)
	}
	secrets := strings.Join(r.Secrets(), " ")
	if !strings.Contains(secrets, key) || !strings.Contains(secrets, variable) {
		t.Errorf("not all keys are secrets: %q", secrets)
	}
	if got := strings.Join(r.Withheld(), " "); got != "OPENAI_API_KEY" {
		t.Errorf("withheld: %q", got)
	}
	for _, line := range r.Lines() {
		if strings.Contains(line.Value, "0123456789abcdef") {
			t.Errorf("%s shows the key", line.Key)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "settle", "k"), 0o644); err != nil {
		t.Fatal(err)
	}
	open := kept(t, dir, nil)
	if got, err := open.Key(t.Context(), open.Providers["openai"], nil); err == nil ||
		!strings.Contains(err.Error(), "chmod go-rwx") {
		t.Errorf("a key that others can read: %q, %v", got, err)
	}
}
