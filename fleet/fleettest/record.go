package fleettest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/settle-agent/settle/tool"
)

// Record is a tool that counts by token how often it ran.
type Record struct {
	mu   sync.Mutex
	runs map[string]int
}

// toolName is the tool's name.
const toolName = "work"

// Call is for [Model].Call.
func (*Record) Call(token string) (name, arguments string) {
	return toolName, fmt.Sprintf(`{"token":%q}`, token)
}

// Tool returns the tool.
func (r *Record) Tool(t testing.TB) tool.Tool {
	t.Helper()
	recorder, err := tool.New(toolName, "Does one piece of work.", func(_ context.Context, in struct {
		Token string `json:"token"`
	},
	) (string, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.runs == nil {
			r.runs = map[string]int{}
		}
		r.runs[in.Token]++
		return "did " + in.Token, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return recorder
}

// Runs returns how often each token was done.
func (r *Record) Runs() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.runs)
}

// CheckOnce fails the test for every call that ran twice.
func CheckOnce(t testing.TB, runs map[string]int) {
	t.Helper()
	for token, n := range runs {
		if n > 1 {
			t.Errorf("call %s ran %d times (C5)", token, n)
		}
	}
}
