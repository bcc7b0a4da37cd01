package agent_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/agent"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// The whole coding agent. The model follows a script here; the examples of
// package settle have one for each real provider. The first line of a program's
// main is settle.RunAsSupervisor().
func Example() {
	dir, err := os.MkdirTemp("", "settle-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	scripted := model.Config{Name: "scripted", ProviderName: "script", Provider: script.New(
		script.Turn(script.Call("shell", `{"command":"echo hello > greeting"}`)),
		script.Text("Done."),
	)}
	a, err := agent.New(ctx, agent.Config{Model: scripted, Dir: dir, Permission: settle.Allow})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close(ctx)
	outcome, err := a.Run(ctx, "Write a greeting.")

	greeting, _ := os.ReadFile(filepath.Join(dir, "greeting"))
	fmt.Print(outcome.Answer, " ", err, " ", string(greeting))
	// Output: Done. <nil> hello
}

// An agent whose commands and files are in a container. The model and its key stay in this
// program.
func Example_executor() {
	ctx := context.Background()
	a, err := agent.New(ctx, agent.Config{
		Model:      model.Config{Name: "scripted", Provider: script.New(script.Text("Done."))},
		Permission: settle.Allow,
		Executor:   "docker exec -i -w /work builder settle executor",
	})
	if err != nil {
		log.Print(err) // such as: no such container
		return
	}
	defer a.Close(ctx)
	outcome, err := a.Run(ctx, "Fix the failing test.")
	fmt.Println(outcome.Answer, err)
}

// A call that needs approval and has no approver is denied. The outcome lists it: a turn that
// completed need not have done its work.
func Example_denied() {
	ctx := context.Background()
	scripted := model.Config{Name: "scripted", Provider: script.New(
		script.Turn(script.Call("shell", `{"command":"make install"}`)),
		script.Text("All is installed."),
	)}
	a, err := agent.New(ctx, agent.Config{
		Model: scripted, Dir: os.TempDir(), IgnoreProject: true,
		Rules: []agent.Rule{{Tool: "shell", Pattern: "go test *", Decision: settle.Allow}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close(ctx)
	outcome, err := a.Run(ctx, "Install it.")
	fmt.Println(outcome.Answer, err)
	for _, d := range outcome.Denied {
		fmt.Printf("denied by the policy %q: %s\n", d.Policy, d.Title)
	}
	// Output:
	// All is installed. <nil>
	// denied by the policy "ask": make install
}

// Many agents in one host: each session has its own model, directory and policy.
func ExampleSession() {
	ctx := context.Background()
	host, err := settle.Open(ctx, settle.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close(ctx)
	for _, name := range []string{"reader", "writer"} {
		config, err := agent.Session(ctx, agent.Config{
			Model: model.Config{Name: name, Provider: script.New(script.Text("I am the " + name + "."))},
			Dir:   os.TempDir(), IgnoreProject: true, Permission: settle.Deny,
		})
		if err != nil {
			log.Fatal(err)
		}
		session, err := host.Session(ctx, name, config)
		if err != nil {
			log.Fatal(err)
		}
		outcome, err := session.Run(ctx, "Who are you?")
		fmt.Println(outcome.Answer, err)
	}
	// Output:
	// I am the reader. <nil>
	// I am the writer. <nil>
}
