package shell

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool"
)

// guardingMachine runs commands without a sandbox, and reports as if a guard had put one file back
// after each call.
type guardingMachine struct{ *executor.Local }

func (m *guardingMachine) Start(ctx context.Context, c executor.Command) (*proc.Process, error) {
	c.Sandbox = ""
	return m.Local.Start(ctx, c)
}

func (m *guardingMachine) Call(_ context.Context, r executor.Request) (json.RawMessage, error) {
	return json.Marshal(executor.Denial{Restored: []string{"/" + r.Call}})
}

// What the guard of a command put back is in the result of its call, also of an interrupted one;
// what the guard of a job put back is in the job's end and in the next result.
func TestResultsNameWhatGuardsPutBack(t *testing.T) {
	r := newRoom(t, func(c *Config) {
		local := &executor.Local{Env: []string{"PATH=" + os.Getenv("PATH")}, Marker: "test-" + t.Name()}
		*c = c.On(&guardingMachine{local})
	})
	run := func(ctx context.Context, args object) tool.Result {
		call := r.call("shell", args)
		call.Sandbox = event.Workspace
		result, err := r.tools["shell"].Run(ctx, call)
		if err != nil {
			t.Error(err)
		}
		return result
	}
	wantOutput(t, run(t.Context(), object{"command": "true"}), "has put back what commands may not change: /call1;")
	wantOutput(t, run(t.Context(), object{"command": "read x", "background": true}), "job job1 runs")
	r.job(object{"action": "write", "job": "job1", "eof": true})
	wantOutput(t, r.job(object{"action": "wait", "job": "job1"}), "[job job1 ended]")
	r.mu.Lock()
	if len(r.ended) != 1 || len(r.ended[0].Quarantined) != 1 {
		t.Errorf("ended %+v", r.ended)
	}
	r.mu.Unlock()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupted := make(chan tool.Result, 1)
	go func() { interrupted <- run(ctx, object{"command": "echo here; sleep 1000"}) }() // ends with interrupt
	r.awaitProgress("here")
	interrupt()
	wantOutput(t, <-interrupted, "has put back what commands may not change: /call2, /call5;")
}
