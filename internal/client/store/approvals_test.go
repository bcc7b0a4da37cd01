package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// host opens the session, with a sandbox or without, and returns it and a function that ends its
// host.
func host(t *testing.T, dir string, confined *event.Confinement, steps ...script.Step) (*settle.Session, func()) {
	t.Helper()
	look, err := tool.New("look", "Looks.", func(context.Context, struct{}) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	h, err := settle.Open(t.Context(), settle.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.Session(t.Context(), "s", settle.SessionConfig{
		Model: model.Config{Provider: script.New(steps...), Name: "m"}, WorkDir: t.TempDir(), Attended: true,
		Tools: []tool.Tool{look}, Confinement: confined,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// A held call has the sandbox of its own host, even if a host without a sandbox opens the session,
// such as "settle approvals deny".
func TestHeldCallHasSandboxOfItsHost(t *testing.T) {
	dir := t.TempDir()
	asks := script.Call("look", "{}")
	for n, confined := range []*event.Confinement{{Mode: event.Workspace}, nil} {
		s, end := host(t, dir, confined, asks)
		if _, err := s.Submit(t.Context(), "look"); err != nil {
			t.Fatal(err)
		}
		for e, err := range s.Events(t.Context(), s.State().HostSeq) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind() == event.KindApprovalRequested {
				break
			}
		}
		end()
		list, err := store.HeldCalls(dir)
		if err != nil || len(list) != n+1 {
			t.Fatalf("%d calls are held, %v", len(list), err)
		}
	}
	_, end := host(t, dir, &event.Confinement{Mode: event.ReadOnly})
	end()
	list, err := store.HeldCalls(dir)
	if err != nil || len(list) != 2 || !list[0].Sandboxed || list[1].Sandboxed {
		t.Errorf("held: %+v, %v", list, err)
	}
}
