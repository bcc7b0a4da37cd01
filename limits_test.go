package settle_test

import (
	"testing"
	"testing/synctest"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// Child agents share the session's limits: the usage of three children counts, and each child
// and the session end at the limit.
func TestChildrenShareTheLimitsOfTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := script.Usage(model.Usage{Input: 90, Output: 10})
		f := newFamily(
			map[string][]script.Step{
				"root": {
					script.Turn(spawn("a"), spawn("b"), spawn("c"), used),
					script.Turn(script.Text("Done."), used),
				},
			},
		)
		for _, name := range []string{"a", "b", "c"} {
			f.scripts[name] = script.New().Otherwise(script.Turn(spawn("none"), used))
		}
		host, store := clan(t, f, func(c *settle.SessionConfig) {
			c.Limits = settle.Limits{Repeats: -1, Session: settle.SessionLimits{Tokens: 2000}}
			c.Tasks = &settle.Tasks{MaxDepth: 1}
		})
		o, _ := newSession(t, host, "p").Run(t.Context(), "root")
		if o.Cause == nil || o.Cause.Limit != event.LimitSessionTokens {
			t.Errorf("the session ended with %v", o.Cause)
		}
		states := closed(t, host, store)
		spent := states[""].Spent()
		if spent.Usage.Input < 1800 || spent.Usage.Input > 2070 { // each may have had a request under way
			t.Errorf("they used %+v", spent.Usage)
		}
		for _, name := range []string{"a", "b", "c"} {
			if c := states[name].Turns[0].Cause; c.Limit != event.LimitSessionTokens {
				t.Errorf("%s ended with %v", name, c)
			}
		}
	})
}

// A limit from outside ends a turn before its next request. It receives the usage of the turn
// and its child agents.
func TestALimitFromOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := script.Usage(model.Usage{Input: 90, Output: 10})
		f := newFamily(
			map[string][]script.Step{"root": {script.Turn(spawn("a"), used), script.Turn(script.Text("Done."), used)}},
		)
		f.scripts["a"] = script.New(script.Turn(spawn("none"), used)).Otherwise(script.Turn(script.Text("Done."), used))
		host, store := clan(t, f, func(c *settle.SessionConfig) {
			c.Tasks = &settle.Tasks{MaxDepth: 1}
			c.Limits.Outside = func(spent event.Summary) *event.Cause {
				if spent.Usage.Input < 270 {
					return nil
				}
				return event.AbortLimit(event.LimitTokens, "the budget is spent")
			}
		})
		o, _ := newSession(t, host, "p").Run(t.Context(), "root")
		if o.Cause == nil || o.Cause.Limit != event.LimitTokens || o.Cause.Message != "the budget is spent" {
			t.Errorf("the session ended with %v", o.Cause)
		}
		if spent := closed(t, host, store)[""].Spent(); spent.Usage.Input != 270 {
			t.Errorf("they used %+v", spent.Usage)
		}
	})
}
