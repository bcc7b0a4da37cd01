package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/mcp"
)

// A server that a client named starts only for a call whose approval includes it: not in
// the background, for a prompt, or for a new connection.
func TestNamedServersWait(t *testing.T) {
	cache := t.TempDir()
	named := server(t, "normal")
	named.Named = true
	for _, knowing := range []bool{false, true} {
		s := open(t, cache, named)
		raw := json.RawMessage(`{"query":"echo"}`)
		name := "tool_search"
		if knowing {
			name, raw = "fake__echo", json.RawMessage(`{"text":"x"}`)
		}
		starts := s.tools.Starts(name, raw)
		if len(starts) != 1 || starts[0].Name != "fake" || !slices.Equal(starts[0].Argv, named.Argv) ||
			starts[0].Dir != s.dir || !slices.Contains(starts[0].Variables, fakeMode) {
			t.Fatalf("%s starts %+v", name, starts)
		}
		call := tool.Call{ID: "call", Name: name, Args: raw, Dir: s.dir, Progress: func(string) {}, Ask: s.ask}
		for _, allowed := range []bool{false, true} {
			if call.Starts = nil; allowed {
				call.Starts = []string{"other", "fake"}
			}
			r, err := s.tools.Run(t.Context(), call)
			text := r.Output
			if err != nil {
				text = err.Error()
			}
			if strings.Contains(text, "its start is not approved") == allowed {
				t.Errorf("%s, allowed %v: %q", name, allowed, text)
			}
			if allowed {
				break
			}
			var refused *mcp.NotAllowedError
			if err := s.Connect(t.Context(), "fake"); !errors.As(err, &refused) {
				t.Errorf("connecting: %v", err)
			}
			if _, _, err := s.Find(t.Context(), "fake__prompt"); !knowing &&
				(err == nil || !strings.Contains(err.Error(), "its start is not approved")) {
				t.Errorf("a prompt: %v", err)
			}
		}
		if starts := s.tools.Starts(name, raw); len(starts) > 0 {
			t.Errorf("it is to be allowed again: %+v", starts)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}
