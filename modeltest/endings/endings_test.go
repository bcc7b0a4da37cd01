package endings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name, log string
		want      []string
	}{
		{"whole", `
{"start":"t","kind":"turn"}
{"start":"c","kind":"call","in":"t"}
{"start":"j","kind":"process"}
{"end":"c","cause":"completed"}
{"end":"t","cause":"completed"}
{"end":"j","cause":"exit 0"}`, nil},
		{"open", `{"start":"t","kind":"turn"}`, []string{"at the end: turn t, which started on line 1, never ended"}},
		{"twice", `{"start":"t"}
{"end":"t","cause":"x"}
{"end":"t","cause":"x"}`, []string{"line 3: thing t has ended before, on line 2"}},
		{"never started", `{"end":"t","cause":"x"}`, []string{"line 1: t ends and did not start"}},
		{"started twice", `{"start":"c","kind":"call"}
{"start":"c","kind":"call"}
{"end":"c","cause":"x"}`, []string{"line 2: call c started before, on line 1"}},
		{"no cause", `{"start":"t","kind":"turn"}
{"end":"t"}`, []string{"line 2: turn t ends without a cause"}},
		{"outlives", `{"start":"t","kind":"turn"}
{"start":"c","kind":"call","in":"t"}
{"end":"t","cause":"x"}
{"end":"c","cause":"x"}`, []string{"line 3: turn t ends, and its call c, which started on line 2, has not"}},
		{"late", `{"start":"t","kind":"turn"}
{"end":"t","cause":"x"}
{"start":"c","kind":"call","in":"t"}
{"end":"c","cause":"x"}`, []string{"line 3: call c starts after the turn t it belongs to ended, on line 2"}},
		{"nobody's", `{"start":"c","kind":"call","in":"t"}
{"end":"c","cause":"x"}`, []string{"line 1: call c belongs to t, which did not start"}},
		{"its own", `{"start":"c","kind":"call","in":"c"}
{"end":"c","cause":"x"}`, []string{"line 1: call c belongs to c, which did not start"}},
		{"slow", `{"start":"t","kind":"turn"}
{"interrupt":"t","at":"2026-01-01T10:00:00Z"}
{"interrupt":"t","at":"2026-01-01T10:00:02Z"}
{"end":"t","cause":"interrupted","at":"2026-01-01T10:00:03Z"}`, []string{"line 4: turn t ended 3s after it was interrupted, more than 1s"}},
		{"in time", `{"start":"t","kind":"turn"}
{"interrupt":"t","at":"2026-01-01T10:00:00Z"}
{"end":"t","cause":"interrupted","at":"2026-01-01T10:00:01Z"}
{"interrupt":"t","at":"2026-01-01T10:00:02Z"}`, nil},
		{"interrupts nothing", `{"interrupt":"t"}`, []string{"line 1: t is interrupted and did not start"}},
	} {
		records, err := Read(strings.NewReader(strings.TrimPrefix(c.log, "\n")), Records)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, v := range (Checker{InterruptBound: time.Second}).Check(records) {
			got = append(got, v.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if left := (Checker{Unfinished: true}).Check(records); c.name == "open" && len(left) > 0 {
			t.Errorf("unfinished: %v", left)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		format Format
		log    string
		says   string
	}{
		{"yaml", "", `there is no format "yaml"; there are claude, codex, records, settle`},
		{Records, "{\"start\":\"a\"}\n{", "line 2"},
		{Records, `{"start":"a","end":"a"}`, "exactly one"},
		{Records, `{"start":"a","reason":"x"}`, "reason"},
		{Settle, `{"start":"a"}`, "not an event of settle's"},
		{Codex, `{"start":"a"}`, "not an event of Codex's"},
		{Claude, `[]`, "line 1"},
	} {
		if _, err := Read(strings.NewReader(c.log), c.format); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %v, want %q", c.format, c.log, err, c.says)
		}
	}
}

// Logs of other agents, valid and invalid.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		format Format
		name   string
		log    string
		want   []string
	}{
		{Codex, "a turn", `{"type":"thread.started","thread_id":"x"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"ls","status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"ls","status":"completed","exit_code":0}}
{"type":"turn.completed","usage":{}}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"hi"}}
{"type":"turn.completed","usage":{}}`, nil},
		{Codex, "a command that runs on, and no end of the turn", `{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_1","type":"command_execution"}}`, []string{
			"at the end: turn /turn 1, which started on line 1, never ended",
			"at the end: command_execution /turn 1/item_1, which started on line 2, never ended",
		}},
		{Codex, "a second end", `{"type":"turn.started"}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message"}}
{"type":"item.completed","item":{"id":"item_0","type":"agent_message"}}
{"type":"turn.failed","error":{"message":"x"}}
{"type":"turn.failed","error":{"message":"x"}}`, []string{
			"line 3: agent_message /turn 1/item_0 has ended before, on line 2",
			"line 5: a turn ends and did not start",
		}},
		{Claude, "a turn", `{"type":"system","subtype":"init","session_id":"s"}
{"type":"assistant","message":{"content":[{"type":"text","text":"x"},{"type":"tool_use","id":"c1","name":"Task"}]},"parent_tool_use_id":null}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c2","name":"Bash"}]},"parent_tool_use_id":"c1"}
{"type":"stream_event","event":{}}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c2","content":"x","is_error":true}]},"parent_tool_use_id":"c1"}
{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}}
{"type":"result","subtype":"success"}
{"type":"user","message":{"content":"again"}}
{"type":"result","subtype":"error_during_execution"}`, nil},
		{Claude, "a call without a result", `{"type":"system","subtype":"init"}
{"type":"assistant","message":{"content":[{"type":"tool_use","id":"c1"}]}}
{"type":"result","subtype":"success"}`, []string{
			"line 3: turn turn 1 ends, and its call c1, which started on line 2, has not",
			"at the end: call c1, which started on line 2, never ended",
		}},
		{Settle, "a turn", `{"v":1,"session":"s","seq":1,"kind":"session.opened","data":{}}
{"v":1,"session":"s","seq":2,"turn":"t","kind":"turn.started","data":{}}
{"v":1,"session":"s","seq":3,"turn":"t","attempt":"a","kind":"attempt.started","data":{}}
{"v":1,"session":"s","seq":4,"turn":"t","attempt":"a","item":"i","kind":"item.started","data":{"type":"tool_call"}}
{"v":1,"session":"s","seq":5,"turn":"t","attempt":"a","kind":"attempt.ended","data":{"outcome":"completed"}}
{"v":1,"session":"s","seq":6,"turn":"t","item":"i","kind":"approval.requested","data":{"approval":"p"}}
{"v":1,"session":"s","seq":7,"turn":"t","kind":"interrupt.requested","data":{"reason":"interrupted"}}
{"v":1,"session":"s","seq":8,"turn":"t","item":"i","kind":"approval.ended","data":{"approval":"p","verdict":"expired"}}
{"v":1,"session":"s","seq":9,"turn":"t","item":"i","kind":"item.ended","data":{"status":"aborted"}}
{"v":1,"session":"s","seq":10,"turn":"t","kind":"turn.aborted","data":{"reason":"interrupted"}}`, nil},
	} {
		records, err := Read(strings.NewReader(c.log), c.format)
		if err != nil {
			t.Fatalf("%s, %s: %v", c.format, c.name, err)
		}
		var got []string
		for _, v := range (Checker{}).Check(records) {
			got = append(got, v.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, %s: %s", c.format, c.name, diff)
		}
	}
}

func TestEnded(t *testing.T) {
	records, err := Read(
		strings.NewReader(
			"{\"start\":\"a\",\"kind\":\"turn\"}\n{\"end\":\"a\",\"cause\":\"x\"}\n{\"start\":\"b\",\"kind\":\"turn\"}\n{\"end\":\"b\"}\n{\"start\":\"c\",\"kind\":\"call\"}",
		),
		Records,
	)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"no cause: 1", "x: 1"}, Ended(records, "turn")); diff != "" {
		t.Error(diff)
	}
}

func Example() {
	log := `{"start":"turn 1","kind":"turn"}
{"start":"call 1","kind":"call","in":"turn 1"}
{"end":"turn 1","cause":"interrupted"}`
	records, err := Read(strings.NewReader(log), Records)
	if err != nil {
		panic(err)
	}
	for _, v := range (Checker{}).Check(records) {
		fmt.Println(v)
	}
	// Output:
	// line 3: turn turn 1 ends, and its call call 1, which started on line 2, has not
	// at the end: call call 1, which started on line 2, never ended
}
