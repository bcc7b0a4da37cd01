//go:build unix

package attach_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// An attached client chooses the model and effort of the host's turns, and can only tighten the
// permission.
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

// joined opens the session "s" with the policy in a host with that frontend, and joins it. The host ends
// with the test.
func joined(
	t *testing.T, frontend string, policy *assemble.Policy,
) (clienttest.Place, *assemble.Opened, *attach.Session) {
	t.Helper()
	place := clienttest.NewPlace(t)
	hosts := place.Sessions(script.New().Otherwise(script.Text("done")), frontend)
	hosts.Base.Releasable, hosts.Base.Attach = true, attach.Serve
	t.Cleanup(func() {
		if err := hosts.CloseAll(context.Background(), event.Shutdown, "test"); err != nil {
			t.Error(err)
		}
	})
	opened, err := hosts.Open(t.Context(), "s", assemble.SessionSpec{
		Dir: place.Dir, Options: func(o *assemble.Options) { o.Policy = policy },
	})
	if err != nil {
		t.Fatal(err)
	}
	attached, err := attach.Open(t.Context(), place.Data, "s")
	if err != nil {
		t.Fatal(err)
	}
	return place, opened, attached
}

// An attached client compacts, sees the rules, takes approvals back, and has the host expand its
// commands.
func TestAttachedClientUsesHostsLists(t *testing.T) {
	edits, err := assemble.ModeNamed("accept-edits")
	if err != nil {
		t.Fatal(err)
	}
	policy := assemble.NewPolicy(edits)
	_, _, attached := joined(t, "serve", policy)
	defer attached.Close()
	list, err := attached.Rules(t.Context())
	if diff := cmp.Diff(policy.Rules(), list); err != nil || len(list) == 0 || diff != "" {
		t.Errorf("%v; the rules (-host +attached):\n%s", err, diff)
	}
	if err := attached.Forget(t.Context(), "none"); err != nil {
		t.Error(err)
	}
	if _, _, err := attached.Prompts(t.Context()); err != nil {
		t.Error(err)
	}
	if got, err := attached.Compact(t.Context(), "user"); err != nil || got != (settle.Compacted{}) {
		t.Errorf("nothing to compact: %+v, %v", got, err)
	}
	unknown := settle.NewInput("/docs__none it", settle.WithID("i1"), settle.WithExpansion(
		func(context.Context, string) (string, []event.Image, error) {
			t.Error("the client expands")
			return "", nil, nil
		},
	))
	if err := attached.Submit(t.Context(), unknown); err == nil ||
		!strings.Contains(err.Error(), "there is no command /docs__none") {
		t.Errorf("an unknown command: %v", err)
	}
}

// A compaction that waits for a turn does not keep an attached client that leaves.
func TestAttachedCompactionEndsWithClient(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	h := newHosted(t, script.Turn(script.Text("One"), script.Wait(hold)))
	attached := h.join(t)
	turn, err := h.Submit(t.Context(), "count")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { // the receive below waits for it
		_, err := attached.Compact(t.Context(), "user")
		ended <- err
	}()
	until(t, attached, 0, kind(event.KindItemDelta))
	if err := attached.Close(); err != nil {
		t.Error(err)
	}
	if gone, ok := errors.AsType[*attach.GoneError](<-ended); !ok {
		t.Errorf("a compaction that waits, after the client has left: %v", gone)
	}
	if _, err := h.Interrupt(t.Context(), settle.Interruption{By: "user", Input: turn.Input()}); err != nil {
		t.Error(err)
	}
}

// A program that embeds settle has chosen for itself, and says so.
func TestSettingsThatProgramOfClientFixes(t *testing.T) {
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
