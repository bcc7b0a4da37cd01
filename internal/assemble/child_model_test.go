package assemble

import (
	"errors"
	"testing"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/skills"
)

// The address of the session's provider receives no key of another provider, and a project's
// definition of an agent chooses no provider.
func TestChildModelKeepsProvider(t *testing.T) {
	var given map[string]string
	var o Options
	o.Settings = &config.Resolved{Settings: config.Settings{Model: "chat/m"}}
	o.Given = map[string]string{"base_url": "https://gateway.example", "effort": "low"}
	o.Resolve = func(_ string, settings map[string]string) (*config.Resolved, error) {
		given = settings
		return nil, errors.New("enough")
	}
	for _, name := range []string{"chat/n", "anthropic/x"} {
		if _, err := o.childModel(t.Context(), name); err == nil {
			t.Errorf("%s: no error", name)
		}
		if given["base_url_for"] != "chat" || given["model"] != name || given["effort"] != "low" {
			t.Errorf("%s: the settings are %v", name, given)
		}
	}
	for _, tt := range []struct {
		model   string
		project bool
		want    string
	}{
		{"chat/n", true, "chat/n"}, {"anthropic/x", true, ""}, {"anthropic/x", false, "anthropic/x"},
	} {
		a := skills.Agent{Name: "a", Model: tt.model, Project: tt.project}
		if k := o.kind(&a); k.Model != tt.want || (len(a.Warnings) > 0) != (tt.want == "") {
			t.Errorf("%+v: the model is %q, with warnings %q", tt, k.Model, a.Warnings)
		}
	}
}
