package about

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/config"
)

// examined returns the findings of a configuration's checks, and the checks as lines.
func examined(t *testing.T, configuration string, environ map[string]string) (examination, string) {
	t.Helper()
	home := t.TempDir()
	file := filepath.Join(home, "settle", "config.toml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return home
		}
		return environ[name]
	}
	r, err := config.Load(config.Input{Dir: t.TempDir(), Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	d := &doctor{Machine: Machine{Settings: r, Getenv: getenv}}
	d.configuration(context.WithoutCancel(t.Context()))
	found := d.verdict()
	var text strings.Builder
	if err := found.write(&text, false); err != nil {
		t.Fatal(err)
	}
	return found, text.String()
}

// What refuses each call is a failure, with what to do.
func TestDoctorFailsForUnreadablePlugins(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(data, "plugins", "plugins.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	found, text := examined(t, "", map[string]string{"SETTLE_DATA_DIR": data})
	at := slices.IndexFunc(found.Checks, func(c check) bool { return c.Check == "plugins" })
	if at < 0 || found.Checks[at].Finding != failed || !strings.Contains(found.Checks[at].Message, file) ||
		!strings.Contains(found.Checks[at].Message, "settle plugins add") || found.OK {
		t.Errorf("got %s", text)
	}
}

// The report states the real source of a key: a missing program and an absent variable are no key,
// and an existing program was not run.
func TestDoctorReportsSourcesOfKeys(t *testing.T) {
	tools := t.TempDir()
	if err := os.WriteFile(filepath.Join(tools, "print-token"), []byte("#!/bin/sh\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const (
		own    = "[providers.mine]\nwire = \"chat\"\nbase_url = \"https://models.example/v1\"\n"
		vertex = "[providers.vertex]\npreset = \"vertex\"\nproject = \"p\"\nregion = \"global\"\n"
		signed = "[providers.aws]\npreset = \"bedrock\"\nregion = \"us-east-1\"\nauth = \"sigv4\"\n"
		openai = "model = \"openai/m\"\n"
	)
	for name, tt := range map[string]struct {
		configuration string
		ok            bool
		want          []string
	}{
		"program is missing": {
			"model = \"mine/m\"\n" + own + "key_command = [\"nosuchprogram\"]\n", false,
			[]string{"fail  key", `"nosuchprogram"`, "not found", "[providers.mine]"},
		},
		"program of a preset is missing": {"model = \"vertex/m\"\n" + vertex, false, []string{"fail  key", `"gcloud"`}},
		"program of another provider is missing": {
			openai + vertex, true, []string{"note  key", `"gcloud"`, "OPENAI_API_KEY has the key", "is configured"},
		},
		"program is there": {
			"model = \"mine/m\"\n" + own + "key_command = [\"print-token\", \"-x\"]\n", true,
			[]string{
				"note  key", `"print-token -x" prints the key for mine`, "not run", "settle is configured, with mine/m",
			},
		},
		"no credentials to sign with": {
			"model = \"aws/m\"\n" + signed, false, []string{"fail  model", "set AWS_ACCESS_KEY_ID"},
		},
		"no credentials of another provider": {
			openai + signed, true, []string{"note  key", "no key for aws", "set AWS_ACCESS_KEY_ID"},
		},
		"file is missing": {
			"model = \"mine/m\"\n" + own + "key_file = \"nosuchfile\"\n", false, []string{"fail  model", "nosuchfile"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, text := examined(t, tt.configuration, map[string]string{"PATH": tools, "OPENAI_API_KEY": "k"})
			if got.OK != tt.ok || strings.Contains(text, "works here, ") {
				t.Errorf("it says %t: %s", got.OK, text)
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q in\n%s", want, text)
				}
			}
			for _, of := range []string{"vertex", "aws", "mine"} {
				if strings.Contains(text, "has the key for "+of) {
					t.Errorf("it has a key for %s:\n%s", of, text)
				}
			}
		})
	}
}

// Only a server on this machine is asked for its list of models; settle works with a model that the
// list has.
func TestDoctorAsksServerOfThisMachine(t *testing.T) {
	models := `{"data":[{"id":"m"}]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if models == "" || r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(models))
	}))
	configuration := func(url string) string {
		return "model = \"mine/m\"\n[providers.mine]\nwire = \"chat\"\nbase_url = \"" + url + "/v1\"\n"
	}
	check := func(url string, ok bool, want ...string) {
		t.Helper()
		got, text := examined(t, configuration(url), nil)
		for _, want := range want {
			if got.OK != ok || !strings.Contains(text, want) {
				t.Errorf("%s: there is no %q (%t) in\n%s", url, want, ok, text)
			}
		}
	}
	check("https://models.example", true, "settle is configured, with mine/m; no request was sent\n")
	check(server.URL, true, "settle works here, with mine/m\n", "ok    model", "which "+server.URL+"/v1 lists")
	models = `{"data":[{"id":"other"}]}`
	check(server.URL, true, "does not list this model", "note  model", "settle models mine")
	models = ""
	check(server.URL, true, "did not list its models", "note  model")
	server.Close()
	check(server.URL, false, "settle cannot work here yet: mine/m: cannot reach", "start the server", "fail  model")
}
