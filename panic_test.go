package settle_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// exploding is a provider that panics in its stream.
type exploding struct{}

func (exploding) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return func(func(model.Chunk, error) bool) { panic("in a provider") }
}

// explodingApprover panics when it is called.
type explodingApprover struct{}

func (explodingApprover) Approve(context.Context, settle.Approval) error { panic("in an approver") }

// willing lets every call run.
type willing struct{}

func (willing) Approve(context.Context, settle.Approval) error { return nil }

// explodingTool is a toolbox with a tool that runs f.
func explodingTool(t *testing.T, f func(context.Context)) func(settle.SessionInfo) (settle.Toolbox, error) {
	x, err := tool.New("a", "a", func(ctx context.Context, _ struct{}) (string, error) { f(ctx); return "ran", nil })
	if err != nil {
		t.Fatal(err)
	}
	return func(settle.SessionInfo) (settle.Toolbox, error) { return settle.Toolbox{Tools: []tool.Tool{x}}, nil }
}

// While one session of the host panics at any place, another session works to its end. The log
// has the ending, the diagnostic log has the stack, and the session accepts the next prompt.
func TestAPanickingSessionLeavesOthersAlone(t *testing.T) {
	calls := func() model.Provider { return script.New(script.Call("a", `{}`), script.Text("after")) }
	cases := map[string]struct {
		config  settle.SessionConfig
		outcome event.Outcome
		log     string
	}{
		"provider": {settle.SessionConfig{Model: model.Config{Provider: exploding{}}}, event.Failed, ""},
		"tool": {settle.SessionConfig{
			Model: model.Config{
				Provider: calls(),
			}, Toolbox: explodingTool(t, func(context.Context) { panic("in a tool") }), Approver: willing{},
		}, event.Completed, "a tool panicked"},
		"approver": {settle.SessionConfig{
			Model: model.Config{Provider: calls()}, Toolbox: explodingTool(t, func(context.Context) {}),
			Approver: explodingApprover{},
		}, event.Completed, ""},
		"instructions": {settle.SessionConfig{
			Model: model.Config{Provider: calls()}, Toolbox: explodingTool(t, func(context.Context) {}),
			Approver:     willing{},
			Instructions: func(string, []event.Content) []settle.Instruction { panic("in instructions") },
		}, event.Completed, "reading instructions panicked"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				host, err := settle.Open(t.Context(), settle.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				if err != nil {
					t.Fatal(err)
				}
				c.config.Model.Name = "m"
				bad, err := host.Session(t.Context(), "bad", c.config)
				if err != nil {
					t.Fatal(err)
				}
				slow := script.New(script.Turn(script.Text("half, "), script.Delay(time.Minute), script.Text("whole")))
				good, err := host.Session(
					t.Context(),
					"good",
					settle.SessionConfig{Model: model.Config{Provider: slow, Name: "m"}},
				)
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					if o, err := good.Run(t.Context(), "go"); err != nil || o.Cause.Outcome != event.Completed {
						t.Errorf("the other session: %+v, %v", o.Cause, err)
					}
				})
				for range 2 {
					o, _ := bad.Run(t.Context(), "go")
					if o.Cause == nil || o.Cause.Outcome != c.outcome && o.Cause.Outcome != event.Failed {
						t.Errorf("it ended as %+v, want %s", o.Cause, c.outcome)
					}
				}
				wg.Wait()
				if err := host.Close(context.Background()); err != nil {
					t.Error(err)
				}
				if c.log != "" &&
					(!strings.Contains(log.String(), c.log) || !strings.Contains(log.String(), "panic_test.go")) {
					t.Errorf("the log has no stack after %q:\n%s", c.log, log.String())
				}
			})
		})
	}
}
