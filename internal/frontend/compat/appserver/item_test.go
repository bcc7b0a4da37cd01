package appserver

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
)

// itemsSaid are the items that were shown, as clients read them.
func itemsSaid(t *testing.T, notes []note) (out []string) {
	t.Helper()
	for _, n := range notes {
		raw, err := json.Marshal(n.Params)
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			Item    json.RawMessage
			Message string
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, n.Method+" "+string(p.Item)+p.Message)
	}
	return out
}

// A call of an MCP server's tool names both, also when it goes through tool_call, and
// has exactly the fields of the protocol's item.
func TestServerTools(t *testing.T) {
	fields := func(more string) string {
		return `{"appContext":null,"arguments":{"q":1},` + more + `,"mcpAppUi":null,"pluginId":null,"readOnlyHint":null,`
	}
	for name, c := range map[string]struct {
		tool, arguments string
		ended           event.ItemEnded
		want            string
	}{
		"direct": {
			"db__find__one", `{"q":1}`,
			event.ItemEnded{Status: event.ItemCompleted, Content: event.Content{Output: "found"}},
			fields(`"durationMs":2,"error":null,"id":"i000001"`) + `"result":{"_meta":null,"content":[{"text":"found","type":"text"}],"structuredContent":null},"server":"db","status":"completed","tool":"find__one","type":"mcpToolCall"}`,
		},
		"through tool_call": {
			"tool_call", `{"name":"db__find__one","arguments":{"q":1}}`,
			event.ItemEnded{Status: event.ItemFailed, Content: event.Content{Output: "no such row"}},
			fields(`"durationMs":2,"error":{"message":"no such row"},"id":"i000001"`) + `"result":null,"server":"db","status":"failed","tool":"find__one","type":"mcpToolCall"}`,
		},
		"cut": {
			"db__find__one", `{"q":1}`,
			event.ItemEnded{Status: event.ItemAborted, Effects: event.EffectsUnknown, Cause: event.Abort(event.Interrupted, "client")},
			fields(`"durationMs":2,"error":{"message":"interrupted"},"id":"i000001"`) + `"result":null,"server":"db","status":"failed","tool":"find__one","type":"mcpToolCall"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newEventLog(t)
			b.attempt()
			b.write(of("i000001", event.ItemStarted{Type: event.ToolCall, Name: c.tool, CallID: "i000001"}))
			c.ended.Type, c.ended.Name, c.ended.CallID, c.ended.Arguments = event.ToolCall, c.tool, "i000001", c.arguments
			var notes []note
			for _, e := range []event.Data{
				event.CallReady{Name: c.tool, CallID: "i000001", Arguments: c.arguments},
				event.CallStarted{},
				event.ItemDelta{Stream: event.Output, Text: "1/2 half\n"},
				c.ended,
			} {
				notes = append(notes, b.step(of("i000001", e))...)
			}
			want := []string{
				"item/started " + fields(
					`"durationMs":null,"error":null,"id":"i000001"`,
				) + `"result":null,"server":"db","status":"inProgress","tool":"find__one","type":"mcpToolCall"}`,
				"item/mcpToolCall/progress 1/2 half",
				"item/completed " + c.want,
			}
			if diff := cmp.Diff(want, itemsSaid(t, notes)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A hook's text for the model is an item of the protocol, with the run of the hook; other notes of
// settle for the model are none.
func TestHookPrompts(t *testing.T) {
	b := newEventLog(t)
	note := func(id, text string) []note {
		started := b.step(event.Event{Turn: "t000001", Item: id, Data: event.ItemStarted{Type: event.Note}})
		return append(started, b.step(event.Event{Turn: "t000001", Item: id, Data: event.ItemEnded{
			Status: event.ItemCompleted, Content: event.Content{Type: event.Note, Text: text},
		}})...)
	}
	b.step(event.Event{Turn: "t000001", Data: event.HookStarted{Hook: "h1", Event: event.HookStop, Command: "x"}})
	b.step(event.Event{Turn: "t000001", Data: event.HookEnded{
		Hook: "h1", Outcome: event.Completed, Decision: event.Deny, Reason: "Run the tests.",
	}})
	got := itemsSaid(t, append(
		note("i000001", hooks.NotePrefix+"Run the tests."), note("i000002", "You have called read 3 times.")...,
	))
	item := `{"fragments":[{"hookRunId":"h1","text":"Run the tests."}],"id":"i000001","type":"hookPrompt"}`
	if diff := cmp.Diff([]string{"item/started " + item, "item/completed " + item}, got); diff != "" {
		t.Error(diff)
	}
	all := view{"/w", b.tr.state().Turn("t000001")}.all()
	if raw, err := json.Marshal(all[len(all)-1]); err != nil || string(raw) != item {
		t.Errorf("the history has %s, %v", raw, err)
	}
}
