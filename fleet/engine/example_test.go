package engine_test

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/client"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/pglog"
)

// Two tasks are submitted to a fleet whose workers run elsewhere (settle-fleet worker), and
// their ends are waited for.
func ExampleOpen() {
	ctx := context.Background()
	pool, err := pglog.Connect(ctx, "postgres://user@host/database")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	temporal, err := client.Dial(client.Options{HostPort: "temporal.example:7233"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer temporal.Close()
	fleetEngine := engine.Open(pool, temporal, engine.Options{})
	tasks, err := fleet.Submit(ctx, fleetEngine,
		fleet.Task{Session: "greeting", Prompt: "say hello"},
		fleet.Task{Session: "test", Prompt: "fix the failing test", Dir: "/work/project"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, taskID := range tasks {
		u, err := fleet.Wait(ctx, fleetEngine, taskID)
		if incomplete := (*fleet.IncompleteError)(nil); errors.As(err, &incomplete) {
			fmt.Println(taskID, "has not completed:", incomplete.Task.Result.Message)
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(taskID, u.Result.Answer)
	}
}
