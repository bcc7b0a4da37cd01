package modeltest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/modeltest"
)

// TestStopReasons: the stop reasons of each dialect, streamed and whole.
func TestStopReasons(t *testing.T) {
	refusal := modeltest.Reply(modeltest.Item{Refusal: "I cannot help with that."})
	calling := modeltest.Reply(modeltest.Call("shell", ""))
	tests := []struct {
		turn modeltest.Turn
		want [3]string // in the order of dialects
	}{
		{modeltest.Say("x"), [3]string{`"status":"completed"`, `"stop_reason":"end_turn"`, `"finish_reason":"stop"`}},
		{calling, [3]string{`"status":"completed"`, `"stop_reason":"tool_use"`, `"finish_reason":"tool_calls"`}},
		{
			modeltest.Say("x").Stop(modeltest.StopMaxTokens),
			[3]string{
				`"incomplete_details":{"reason":"max_output_tokens"}`,
				`"stop_reason":"max_tokens"`,
				`"finish_reason":"length"`,
			},
		},
		{
			modeltest.Say("x").Stop(modeltest.StopFilter),
			[3]string{
				`"incomplete_details":{"reason":"content_filter"}`,
				`"stop_reason":"refusal"`,
				`"finish_reason":"content_filter"`,
			},
		},
		{
			modeltest.Say("x").Stop(modeltest.StopPause),
			[3]string{`"status":"completed"`, `"stop_reason":"pause_turn"`, `"finish_reason":"stop"`},
		},
		{refusal, [3]string{`"refusal":"I cannot help with that."`, `"stop_reason":"refusal"`, `"refusal":"`}},
	}
	for _, test := range tests {
		for i, d := range dialects {
			srv := modeltest.NewServer(t, modeltest.Script(test.turn, test.turn))
			for _, body := range []string{d.body, strings.Replace(d.body, `"stream":true`, `"stream":false`, 1)} {
				if a := ask(t.Context(), srv, d.path, body); a.err != nil || !strings.Contains(a.body, test.want[i]) {
					t.Errorf("%s: want %s in %s (%v)", d.name, test.want[i], a.body, a.err)
				}
			}
		}
	}
}

// A stream and its deltas have the same text, for any characters.
func TestDeltasAreTheText(t *testing.T) {
	text := "plain \"quoted\" \\ back\nline\t日本語 😀 <b>&amp;</b> \x7f\u2028 end"
	arguments := `{"text":"ünïcödé \"x\" 😀"}`
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(
		modeltest.Item{Text: text, ChunkSize: 1}, modeltest.Call("shell", arguments))))
	a := ask(t.Context(), srv, dialects[0].path, dialects[0].body)
	got := map[string]string{}
	last := -1
	for _, line := range dataLines(a.body, "\n") {
		var e struct {
			Type     string
			Delta    string
			Sequence int `json:"sequence_number"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if e.Sequence != last+1 {
			t.Errorf("sequence %d follows %d", e.Sequence, last)
		}
		last = e.Sequence
		got[e.Type] += e.Delta
	}
	if diff := cmp.Diff(text, got["response.output_text.delta"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(arguments, got["response.function_call_arguments.delta"]); diff != "" {
		t.Error(diff)
	}
}

func TestCustomTools(t *testing.T) {
	patch := modeltest.Item{Call: "apply_patch", Input: "*** Begin Patch", Arguments: `{"patch":"*** Begin Patch"}`}
	srv := modeltest.NewServer(t, modeltest.Script(modeltest.Reply(patch), modeltest.Reply(patch)))
	custom := strings.Replace(
		dialects[0].body, `"stream"`, `"tools":[{"type":"custom","name":"apply_patch"}],"stream"`, 1,
	)
	a := ask(t.Context(), srv, dialects[0].path, custom)
	for _, want := range []string{`"type":"custom_tool_call"`, `"input":"*** Begin Patch"`, "response.custom_tool_call_input.delta", `"id":"ctc_`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("no %s in %s", want, a.body)
		}
	}
	a = ask(t.Context(), srv, dialects[0].path, dialects[0].body)
	if !strings.Contains(a.body, `"arguments":"{\"patch\":\"*** Begin Patch\"}"`) ||
		strings.Contains(a.body, "custom") {
		t.Errorf("not offered as custom, and called so: %s", a.body)
	}
}

func TestDripTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := modeltest.NewMemoryServer(t, modeltest.Script(modeltest.Say("x").With(modeltest.Drip(time.Second))))
		start := time.Now()
		a := ask(t.Context(), srv, dialects[2].path, dialects[2].body)
		if took := time.Since(start); a.err != nil || took != time.Duration(len(a.body))*time.Second {
			t.Errorf("%d bytes in %v (%v)", len(a.body), took, a.err)
		}
	})
}

// Without "store": false the server has stored its responses.
func TestStoredReasoningNeedsNoContent(t *testing.T) {
	srv := modeltest.NewServer(
		t, modeltest.Script(modeltest.Reply(modeltest.Think("hm"), modeltest.Text("x")), modeltest.Say("fine")),
	)
	stored := func(items ...string) string {
		return strings.Replace(responsesBody(items...), `"store":false,`, "", 1)
	}
	output := unstreamed(t, srv, "/v1/responses", stored(user))["output"].([]any)
	reasoning := output[0].(map[string]any)
	delete(reasoning, "encrypted_content")
	if a := ask(t.Context(), srv, "/v1/responses", stored(user, asJSON(t, reasoning), asJSON(t, output[1]), user)); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	reasoning["id"] = "rs_unknown"
	if a := ask(t.Context(), srv, "/v1/responses", stored(user, asJSON(t, reasoning), assistant, user)); a.status != 404 ||
		!strings.Contains(a.body, "Item with id 'rs_unknown' not found.") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
