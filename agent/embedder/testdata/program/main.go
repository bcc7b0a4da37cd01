// Command embedder is a program outside of settle's module: it can import only public packages. It
// prints the events of a turn.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/agent"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

func main() {
	settle.RunAsSupervisor()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, data string) (err error) {
	greet, err := tool.New("greet", "Greets somebody.", func(_ context.Context, in struct {
		Name string `json:"name"`
	},
	) (string, error) {
		return "Hello, " + in.Name + "!", nil
	}, tool.ReadOnly())
	if err != nil {
		return err
	}
	observed := map[string]int{}
	a, err := agent.New(ctx, agent.Config{
		Dir: dir, DataDir: data, ID: "embedded", Permission: settle.Ask, Extra: []tool.Tool{greet},
		Rules:    []agent.Rule{{Tool: "shell", Pattern: "touch *", Decision: settle.Allow}},
		Limits:   settle.Limits{Steps: 10},
		Observer: observer(observed),
		Model: model.Config{Name: "scripted", ProviderName: "script", Provider: script.New(
			script.Turn(
				script.Text("I greet."),
				script.Call("greet", `{"name":"you"}`),
				script.Call("shell", `{"command":"touch made"}`),
			),
			script.Turn(script.Call("shell", `{"command":"rm -rf made"}`)),
			script.Text("All is done."),
		)},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close(context.WithoutCancel(ctx)), report(data, observed)) }()
	outcome, err := a.Run(ctx, "Greet me, and make a file.")
	if err != nil {
		return err
	}
	for e, err := range a.Events(ctx, 0) {
		if err != nil {
			return err
		}
		switch d := e.Data.(type) {
		case event.ItemEnded:
			fmt.Println(d.Type, d.Status, d.Name, d.Text)
		case event.TurnCompleted:
			fmt.Println("completed:", outcome.Answer)
			for _, denied := range outcome.Denied {
				fmt.Println("denied:", denied.Title)
			}
			return nil
		}
	}
	return errors.New("the turn has no end")
}

// observer counts starts and ends of turns, attempts and calls.
func observer(seen map[string]int) settle.Observer {
	return settle.Observer{
		Turn: func(ctx context.Context, _ event.Event) (context.Context, func(event.Event)) {
			return ctx, func(e event.Event) { seen[string(e.Kind())]++ }
		},
		Attempt: func(ctx context.Context, _ event.Event) (context.Context, func(event.Event)) {
			return ctx, func(e event.Event) { seen[string(e.Kind())]++ }
		},
	}
}

// report prints the stored session, then deletes it.
func report(data string, observed map[string]int) error {
	fmt.Println("observed:", observed)
	store := settle.Store{Dir: data}
	state, err := store.State("embedded")
	if err != nil {
		return err
	}
	fmt.Println("kept turns:", len(state.Turns))
	if err := store.Delete(context.Background(), "embedded"); err != nil {
		return err
	}
	_, err = store.State("embedded")
	if missing := (*settle.MissingError)(nil); !errors.As(err, &missing) {
		return fmt.Errorf("the session is still there: %w", err)
	}
	return nil
}
