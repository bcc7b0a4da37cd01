package tui

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// family plays a script for each session, by its first input.
type family map[string]*script.Model

// Stream implements [model.Provider].
func (f family) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	for _, i := range req.Input {
		if m := f[i.Text]; m != nil {
			return m.Stream(ctx, req)
		}
	}
	return script.New().Stream(ctx, req)
}

// The questions of a child in the background are shown while its parent is idle, and answered with
// the same keys.
func TestApprovalOfBackgroundChildIsShown(t *testing.T) {
	for key, want := range map[string]int{"y": 1, "n": 0} {
		synctest.Test(t, func(t *testing.T) {
			f := family{
				"go": script.New(
					script.Turn(script.Call("task", `{"description":"look","prompt":"look","background":true}`)),
					script.Turn(script.Text("Started.")),
				),
				"look": script.New(
					script.Turn(script.Delay(30*time.Second), script.Call("shell", `{"command":"count"}`)),
					script.Turn(script.Text("Seen.")),
				),
			}
			ran := 0
			shell, err := tool.New("shell", "runs", func(context.Context, struct {
				Command string `json:"command"`
			},
			) (string, error) {
				ran++
				return "counted", nil
			})
			if err != nil {
				t.Fatal(err)
			}
			p, code := newPersonOf(t, Options{}, settle.SessionConfig{
				Model: model.Config{
					Provider: f, ProviderName: "script", Name: "m",
				}, WorkDir: "/w", Permission: settle.Ask, Attended: true, Tools: []tool.Tool{shell},
				Tasks: &settle.Tasks{},
			})
			p.types("go\r")
			p.sees("Started.")
			time.Sleep(time.Minute)
			p.sees(
				"? settle asks before this call", "Child agent c000001 (look) asks:",
				"Allow child agent c000001 (look)", "1 allow once",
			)
			p.misses("Esc ends the turn")
			p.types(key)
			p.misses("Allow child agent")
			p.types("\x04")
			p.left(code, 0)
			if ran != want {
				t.Errorf("after %q it ran %d times", key, ran)
			}
		})
	}
}
