package lease_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/lease"
	"github.com/settle-agent/settle/fleet/pglog"
	"github.com/settle-agent/settle/fleet/worker"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// Two tasks are submitted to a fleet; one fails. A worker runs them in this process;
// usually it is settle-fleet worker elsewhere.
func Example() {
	ctx := context.Background()
	database, err := exampleDatabase(ctx) // its URL
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, err := lease.Connect(ctx, database)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	units, err := fleet.Submit(ctx, engine,
		fleet.Task{Session: "greeting", Prompt: "say hello"},
		fleet.Task{Session: "failure", Prompt: "say hello", Model: "none"})
	if err != nil {
		fmt.Println(err)
		return
	}

	end, err := exampleWorker(ctx, database)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer end()

	ctx, cancel := context.WithTimeout(ctx, time.Minute) // for the wait; the tasks go on
	defer cancel()
	for _, unit := range units {
		u, err := fleet.Wait(ctx, engine, unit)
		if incomplete := (*fleet.IncompleteError)(nil); errors.As(err, &incomplete) {
			fmt.Println(unit, "has not completed:", incomplete.Unit.Result.Message)
			continue
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(unit, u.Result.Answer)
	}
	// Output:
	// greeting/1 Hello.
	// failure/1 has not completed: failed: cannot begin: there is no model "none"
}

// exampleDatabase makes a database as settle-fleet migrate does.
func exampleDatabase(ctx context.Context) (url string, err error) {
	if url, err = server.NewURL(ctx); err != nil {
		return "", err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return "", err
	}
	defer pool.Close()
	_, _, err = pglog.Migrate(ctx, pool)
	return url, err
}

// exampleWorker runs a worker whose model says hello, until it is ended.
func exampleWorker(ctx context.Context, database string) (end func(), err error) {
	pool, err := pgxpool.New(ctx, database)
	if err != nil {
		return nil, err
	}
	logs, err := pglog.Open(ctx, pool)
	if err != nil {
		pool.Close()
		return nil, err
	}
	engine := lease.Open(ctx, pool)
	w, err := worker.New(ctx, worker.Config{
		ID: "w1", Engine: engine, Logs: logs, Slots: 2,
		Session: func(_ context.Context, a fleet.Attempt) (settle.SessionConfig, error) {
			if a.Task.Model != "" {
				return settle.SessionConfig{}, fmt.Errorf("there is no model %q", a.Task.Model)
			}
			hello := script.New(script.Turn(script.Text("Hello.")))
			return settle.SessionConfig{Model: model.Config{Provider: hello, ProviderName: "script", Name: "hello"}, WorkDir: os.TempDir()}, nil
		},
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { // ends with the context, and is waited for
		defer close(ended)
		if err == nil {
			_ = w.Run(ctx)
		}
	}()
	return func() {
		cancel()
		<-ended
		engine.Close()
		logs.Close()
		pool.Close()
	}, err
}
