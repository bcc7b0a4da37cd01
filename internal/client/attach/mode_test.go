//go:build unix

package attach_test

import (
	"context"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/clienttest"
)

// An attached client learns at once which mode an idle host has, and cannot leave plan mode.
func TestAttachedClientSeesModeOfIdleHost(t *testing.T) {
	policy := assemble.NewPlanPolicy(assemble.ModeOf(settle.Ask))
	_, _, attached := joined(t, "serve", policy)
	reading, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { // ends with reading; the receive below waits for it
		defer close(ended)
		for _, err := range attached.Events(reading, 0) {
			if err != nil {
				t.Error(err)
			}
		}
	}()
	defer func() {
		stop()
		<-ended
		_ = attached.Close()
	}()
	if err := attached.Tighten(t.Context(), "read-only"); err == nil || policy.Mode().Name != "plan" {
		t.Errorf("%v; the mode is %s", err, policy.Mode().Name)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for _, name := range []string{"allow", "plan", "read-only"} {
		mode, err := assemble.ModeNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		policy.Set(mode)
		for end := time.Now().Add(clienttest.Patience); attached.Settings().Mode != name; {
			if now := <-tick.C; now.After(end) {
				t.Fatalf("the host has the mode %s, the client sees %s", name, attached.Settings().Mode)
			}
		}
	}
}
