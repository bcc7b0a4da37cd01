package mcp_test

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/mcp"
)

// A disabled server receives no more calls, and lives until its running calls end.
func TestDisabled(t *testing.T) {
	hanging := filepath.Join(t.TempDir(), "hanging")
	mark := "mcp-" + filepath.Base(filepath.Dir(hanging)) + "-" + time.Now().Format("150405.000000000")
	s := known(t, server(t, "normal", "HANGING="+hanging, "MARK="+mark))
	others := 0 // of the session that discovered the server's tools
	if runtime.GOOS == "linux" {
		others = marked(t, mark)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan tool.Result, 1)
	go func() { // ends with the call, which ctx ends
		r, err := s.run(ctx, "fake__hang", nil, nil)
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	if !await(t.Context(), hanging) {
		t.Fatal("the call did not come to the server")
	}
	s.Set("fake", mcp.Disabled)
	s.failing("fake__echo", `"fake" is disabled`)
	if slices.ContainsFunc(s.Tools(), func(t tool.Tool) bool { return t.Spec().Name == "fake__echo" }) {
		t.Error("its tools are offered")
	}
	select {
	case r := <-ended:
		t.Fatalf("the call that ran there ended: %+v", r)
	default:
	}
	cancel(errors.New("interrupted"))
	if r := <-ended; !r.Aborted {
		t.Errorf("the call that ran there: %+v", r)
	}
	if runtime.GOOS == "linux" {
		if !until(func() bool { return marked(t, mark) <= others }) {
			t.Fatal("the server did not end")
		}
	}
	s.Set("fake", mcp.Ready)
	if got := s.call("fake__echo", echo("on")); got != "on" {
		t.Errorf("afterwards: %q", got)
	}
	if !slices.ContainsFunc(s.Tools(), func(t tool.Tool) bool { return t.Spec().Name == "fake__echo" }) {
		t.Error("its tools are not offered again")
	}
}

// A new connection is another server process; a failed one reports the reason.
func TestConnect(t *testing.T) {
	s := known(t, server(t, "normal"))
	s.call("fake__echo", echo("first"))
	s.failing("fake__die")
	for range 2 {
		if err := s.Connect(t.Context(), "fake"); err != nil {
			t.Fatal(err)
		}
		if got := s.call("fake__echo", echo("on")); got != "on" {
			t.Errorf("afterwards: %q", got)
		}
	}
	s.Set("fake", mcp.Disabled)
	if err := s.Connect(t.Context(), "fake"); err == nil {
		t.Error("it connected to a server that is disabled")
	}
}

// until waits for a condition, and reports whether it became true.
func until(is func() bool) bool {
	deadline := time.After(patience)
	for !is() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-deadline:
			return false
		}
	}
	return true
}
