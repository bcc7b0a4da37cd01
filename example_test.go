package settle_test

import (
	"context"
	"fmt"
	"log"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// A program embeds an agent: one typed tool, one turn, and its outcome. The model follows a
// script here; the packages model/openai, model/anthropic and model/chat make real ones.
func Example() {
	type city struct {
		Name string `json:"name" jsonschema:"the city's name"`
	}
	weather, err := tool.New(
		"weather",
		"Tells the weather in a city.",
		func(_ context.Context, in city) (string, error) {
			return "It is sunny in " + in.Name + ".", nil
		},
		tool.ReadOnly(),
	)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	host, err := settle.Open(ctx, settle.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() {
		if err := host.Close(ctx); err != nil {
			log.Fatal(err) // names the work that did not stop
		}
	}()
	session, err := host.Session(ctx, "", settle.SessionConfig{
		Model: model.Config{Name: "scripted", ProviderName: "script", Provider: script.New(
			script.Turn(script.Text("I look it up."), script.Call("weather", `{"name":"Oslo"}`)),
			script.Text("Sunny."),
		)},
		Tools: []tool.Tool{weather},
	})
	if err != nil {
		log.Fatal(err)
	}
	turn, err := session.Submit(ctx, "How is the weather in Oslo?")
	if err != nil {
		log.Fatal(err) // the input was not accepted; with nil it is durable
	}
	for e, err := range turn.Events(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if d, ok := e.Data.(event.ItemEnded); ok {
			fmt.Println(d.Type, d.Status, d.Text+d.Output)
		}
	}
	outcome, err := turn.Wait(ctx)
	fmt.Println(outcome.Cause, outcome.Answer, err)
	// Output:
	// message completed I look it up.
	// tool_call completed It is sunny in Oslo.
	// message completed Sunny.
	// completed Sunny. <nil>
}
