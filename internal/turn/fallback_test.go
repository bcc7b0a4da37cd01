package turn_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/run"
	"github.com/settle-agent/settle/tool"
)

// After an overload or exhausted retries, the turn continues with the fallback model: with a
// retry budget of its own, and without running a call again. The next turn begins with the
// first model.
func TestFallback(t *testing.T) {
	one := 1
	failing := func(kind model.ErrorKind) script.Step { return script.Fail(model.NewError(kind, "boom")) }
	for name, tc := range map[string]struct {
		kind     model.ErrorKind
		attempts string // models of the first turn's attempts
	}{
		"overloaded": {model.ErrOverloaded, "m spare spare"},
		"exhausted":  {model.ErrServer, "m m spare spare"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				ran := 0
				count := fn{"a", func(context.Context, tool.Call) (tool.Result, error) {
					ran++
					return tool.Result{Output: "A"}, nil
				}}
				first := script.New(
					script.Turn(script.Text("one"), script.Call("a", `{}`), failing(tc.kind)),
				)
				if tc.kind == model.ErrServer {
					first.Add(failing(tc.kind))
				}
				first.Add(script.Text("first again"))
				spare := script.New(failing(model.ErrServer), script.Text("two"))
				b := newBench(t, first, count)
				price := &model.Price{Output: 1}
				b.config.Model.Price, b.config.Retry = price, run.Retry{Retries: &one}
				b.config.Model.Fallback = &model.Config{
					Provider: spare, ProviderName: "script", Name: "spare", Price: price,
				}
				if c := b.run(t.Context()); c.Outcome != event.Completed || ran != 1 {
					t.Errorf("%v, ran %d times", c, ran)
				}
				b.want("message completed: one", "tool_call completed: A", "message completed: two")
				var models []string
				for _, a := range b.last().Attempts {
					models = append(models, a.Start.Model)
				}
				if diff := cmp.Diff(tc.attempts, strings.Join(models, " ")); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
				changes := b.last().Changes
				if len(changes) != 1 || changes[0].Change != event.ChangeModel || changes[0].Model != "spare" ||
					!strings.Contains(changes[0].Why, "boom") || !strings.Contains(changes[0].Why, "script/spare") {
					t.Errorf("the turn has the changes %+v", changes)
				}
				b.run(t.Context())
				if got := b.last(); got.Answer() != "first again" || got.Attempts[0].Start.Model != "m" {
					t.Errorf("the next turn: %q by %s", got.Answer(), got.Attempts[0].Start.Model)
				}
			})
		})
	}
}

// A fallback that fails as well ends the turn, with the exhaustion of the fallback.
func TestFallbackFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		zero := 0
		down := script.New().Otherwise(script.Fail(model.NewError(model.ErrServer, "down")))
		b := newBench(t, down)
		b.config.Retry.Retries = &zero
		b.config.Model.Fallback = &model.Config{Provider: down, ProviderName: "script", Name: "spare"}
		c := b.run(t.Context())
		if c.Outcome != event.Failed || c.Failure.Name != event.NameRetryExhausted || len(b.last().Attempts) != 2 {
			t.Errorf("%v after %d attempts", c, len(b.last().Attempts))
		}
		for _, want := range []string{"script/spare: ", "(after script/m: down)"} {
			if !strings.Contains(c.Error(), want) {
				t.Errorf("the cause does not name %q: %v", want, c)
			}
		}
	})
}
