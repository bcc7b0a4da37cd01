//go:build unix

package attach_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
)

// The terminal that started a host can loosen the permission, and end or leave the host. Attached
// clients can do none of it.
func TestOwnersCallsAreRefusedToOthers(t *testing.T) {
	policy := assemble.NewPolicy(assemble.ModeOf(event.Ask))
	place, opened, attached := joined(t, "terminal", policy)
	defer attached.Close()
	here, there := connected(t)
	made := make(chan string, 4) // calls of the owner
	served := make(chan struct{})
	go func() { // ends with the connection; the receive below waits for it
		defer close(served)
		attach.ServeOwner(t.Context(), opened.Session, there, attach.Owner{
			Detach: func() { made <- "detach" },
			Close: func(reason event.Reason, by string) error {
				made <- string(reason) + " by " + by
				return nil
			},
		})
	}()
	own, err := attach.OpenOwned(t.Context(), place.Data, "s", here)
	if err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"a permission": attached.SetMode(t.Context(), "allow"), "to detach": attached.Detach(t.Context()),
		"the end": attached.End(t.Context(), event.Shutdown, "user"),
	} {
		if err == nil || !strings.Contains(err.Error(), "only the terminal that started the host") {
			t.Errorf("an attached client asks for %s: %v", name, err)
		}
	}
	if policy.Mode().Name != "ask" || len(made) > 0 {
		t.Errorf("the mode is %q; %d calls were made", policy.Mode().Name, len(made))
	}
	if err := own.SetMode(t.Context(), "allow"); err != nil || policy.Mode().Name != "allow" ||
		own.Settings().Mode != "allow" {
		t.Errorf("%v; the mode is %q there and %q here", err, policy.Mode().Name, own.Settings().Mode)
	}
	if err := own.Detach(t.Context()); err != nil || <-made != "detach" {
		t.Errorf("detach: %v", err)
	}
	err = own.End(t.Context(), event.Shutdown, "signal:SIGHUP")
	if err != nil || <-made != "shutdown by signal:SIGHUP" {
		t.Errorf("the end: %v", err)
	}
	<-served
}

// connected returns the two ends of a connection.
func connected(t *testing.T) (here, there net.Conn) {
	t.Helper()
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if here, err = net.Dial("unix", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if there, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	return here, there
}
