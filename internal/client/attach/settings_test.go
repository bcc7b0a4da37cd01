//go:build unix

package attach_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// An attached client chooses what the host's turns think with, and can only have them do less.
func TestAttachedClientChangesSettings(t *testing.T) {
	place := clienttest.NewPlace(t)
	env := map[string]string{"HOME": t.TempDir(), "SETTLE_DATA_DIR": place.Data}
	getenv := func(name string) string { return env[name] }
	hosts := &assemble.Sessions{
		Base: assemble.Options{
			Getenv: getenv, Environ: os.Environ(),
			HostOptions:       assemble.HostOptions{Frontend: "serve", Releasable: true, Attach: attach.Serve},
			PermissionOptions: assemble.PermissionOptions{Permission: settle.Ask},
			ModelOptions: assemble.ModelOptions{
				Model: model.Config{
					Provider:     script.New().Otherwise(script.Text("done")),
					ProviderName: "script",
					Name:         "m",
				},
			},
		},
		Settings: func(dir string, given map[string]string) (*config.Resolved, error) {
			return config.Load(config.Input{Dir: dir, Flags: given, Getenv: getenv, GOOS: "linux"})
		},
	}
	defer func() {
		if err := hosts.CloseAll(context.Background(), event.Shutdown, "test"); err != nil {
			t.Error(err)
		}
	}()
	edits, err := assemble.ModeNamed("accept-edits")
	if err != nil {
		t.Fatal(err)
	}
	policy := assemble.NewPolicy(edits)
	opened, err := hosts.Open(
		t.Context(),
		"s",
		assemble.SessionSpec{Dir: place.Dir, Options: func(o *assemble.Options) { o.Policy = policy }},
	)
	if err != nil {
		t.Fatal(err)
	}
	attached, err := attach.Open(t.Context(), place.Data, "s")
	if err != nil {
		t.Fatal(err)
	}
	defer attached.Close()
	if err := attached.Choose(t.Context(), map[string]string{"effort": "high"}); err != nil ||
		opened.Model().Effort != "high" ||
		attached.Settings().Effort != "high" {
		t.Errorf("%v; the effort is %q here and %q there", err, attached.Settings().Effort, opened.Model().Effort)
	}
	if err := attached.Choose(t.Context(), map[string]string{"permission": "allow"}); err == nil ||
		!strings.Contains(err.Error(), "the host's to change") {
		t.Errorf("a permission that is chosen: %v", err)
	}
	if err := attached.Tighten(t.Context(), "allow"); err == nil ||
		!strings.Contains(err.Error(), "only the host can choose it") ||
		policy.Mode().Name != "accept-edits" {
		t.Errorf("%v; the mode is %s", err, policy.Mode().Name)
	}
	if err := attached.Tighten(t.Context(), "read-only"); err != nil || policy.Mode().Name != "read-only" ||
		attached.Settings().Mode != "read-only" {
		t.Errorf("%v; the mode is %q here and %q there", err, attached.Settings().Mode, policy.Mode().Name)
	}
	if err := attached.Tighten(t.Context(), "ask"); err == nil || policy.Mode().Name != "read-only" {
		t.Errorf("%v; the mode is %s", err, policy.Mode().Name)
	}
}

// A program that embeds settle has chosen for itself, and says so.
func TestAGuestOfAProgramThatFixesSettings(t *testing.T) {
	attached := newHosted(t).join(t)
	for name, err := range map[string]error{
		"choose": attached.Choose(t.Context(), map[string]string{"effort": "high"}), "tighten": attached.Tighten(t.Context(), "read-only"),
	} {
		if err == nil || !strings.Contains(err.Error(), "the host of this session fixes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A host with a fixed permission lets no attached client choose another one for a plan's work.
func TestAttachedClientCannotChoosePlansPermission(t *testing.T) {
	h := newHosted(t)
	attached := h.join(t)
	answer := settle.Answer{Approval: "a", Verdict: event.Approved, Permission: "allow", By: "user"}
	if err := attached.Answer(t.Context(), answer); err == nil || !strings.Contains(err.Error(), "only the host") {
		t.Errorf("a permission for the work: %v", err)
	}
	answer.Permission = ""
	if err := attached.Answer(t.Context(), answer); err == nil || strings.Contains(err.Error(), "only the host") {
		t.Errorf("without a permission: %v", err)
	}
}
