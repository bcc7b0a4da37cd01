package settle_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// The host and the log of each session that may start processes state the weaker guarantees.
func TestProcessTracking(t *testing.T) {
	for _, toolbox := range []func(settle.SessionInfo) (settle.Toolbox, error){
		nil,
		func(settle.SessionInfo) (settle.Toolbox, error) { return settle.Toolbox{}, nil },
	} {
		host, err := settle.Open(t.Context(), settle.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = host.Close(context.Background()) }) // the test's context has ended by then
		session, err := host.Session(t.Context(), "", settle.SessionConfig{
			Model: model.Config{Provider: script.New(), Name: "scripted"}, Notes: []string{"a note"}, Toolbox: toolbox,
		})
		if err != nil {
			t.Fatal(err)
		}
		tracking := host.ProcessTracking()
		if (tracking.Kind == "supervisor") != (len(tracking.Weaker) == 0) {
			t.Errorf("process tracking %+v", tracking)
		}
		want := []string{"a note"}
		if toolbox != nil {
			want = append(want, tracking.Weaker...)
		}
		if got := session.State().Host.Notes; !slices.Equal(got, want) {
			t.Errorf("notes %q, want %q", got, want)
		}
	}
}

// A program that does not call RunAsSupervisor has no supervisors.
func TestProcessTrackingWithoutSupervisors(t *testing.T) {
	if os.Getenv(withoutSupervisors) != "" {
		host, err := settle.Open(t.Context(), settle.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if c := host.ProcessTracking(); c.Kind == "supervisor" || len(c.Weaker) == 0 {
			t.Errorf("process tracking %+v", c)
		}
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProcessTracking")
	cmd.Env = append(os.Environ(), withoutSupervisors+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
