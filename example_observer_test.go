package settle_test

import (
	"context"
	"fmt"
	"log"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// An observer for traces: a span for each turn, with a span in it for each request to the
// model.
func ExampleObserver() {
	type span struct{}
	start := func(ctx context.Context, name string) (context.Context, func(string, any)) {
		if outer, ok := ctx.Value(span{}).(string); ok {
			name = outer + " > " + name
		}
		return context.WithValue(ctx, span{}, name), func(how string, more any) { fmt.Println(name, how, more) }
	}
	observer := settle.Observer{
		Turn: func(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
			ctx, end := start(ctx, "turn "+started.Turn)
			return ctx, func(ended event.Event) { end(string(ended.Kind()), "") }
		},
		Attempt: func(ctx context.Context, started event.Event) (context.Context, func(event.Event)) {
			d, _ := started.Data.(event.AttemptStarted)
			ctx, end := start(ctx, "chat "+d.Model)
			return ctx, func(ended event.Event) {
				d, _ := ended.Data.(event.AttemptEnded)
				end(d.StopReason, d.Usage.Output)
			}
		},
	}
	ctx := context.Background()
	host, err := settle.Open(ctx, settle.Config{Observer: observer})
	if err != nil {
		log.Fatal(err)
	}
	session, err := host.Session(ctx, "", settle.SessionConfig{
		Model: model.Config{
			Name:     "scripted",
			Provider: script.New(script.Turn(script.Text("Hello."), script.Usage(model.Usage{Output: 2}))),
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := session.Run(ctx, "Say hello."); err != nil {
		log.Fatal(err)
	}
	if err := host.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// turn t000001 > chat scripted end_turn 2
	// turn t000001 turn.completed
}
