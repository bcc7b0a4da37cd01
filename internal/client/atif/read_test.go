package atif

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/event/contract"
)

// loaded returns the session of a document, whose log keeps the contract.
func loaded(t *testing.T, doc string) event.State {
	t.Helper()
	events, err := Events([]byte(doc), "new", event.SessionOpened{Settle: "v", Dir: "/work"}, time.Unix(1000, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}
	if err := contract.Check(events); err != nil {
		t.Error(err)
	}
	var s event.State
	for _, e := range events {
		if s, err = event.Fold(s, e); err != nil {
			t.Fatal(err)
		}
	}
	if s.Open || s.Running() != nil {
		t.Error("the session is still open")
	}
	return s
}

// TestRoundTrip: a session that is made of a trajectory has the same content as the source of the
// trajectory.
func TestRoundTrip(t *testing.T) {
	first := Of(session(t), nil)
	raw, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	second := Of(loaded(t, string(raw)), nil)
	if diff := cmp.Diff(textLines(first), textLines(second)); diff != "" {
		t.Errorf("-first +second:\n%s", diff)
	}
	if second.FinalMetrics.Prompt != 0 || second.FinalMetrics.Extra.Requests != 1 {
		t.Errorf("it counts what it did not use: %+v", second.FinalMetrics)
	}
}

// textLines returns the lines of a trajectory.
func textLines(doc Trajectory) (lines []string) {
	for _, s := range doc.Steps {
		lines = append(lines, s.Source+": "+s.Message, "thinks "+s.Reasoning)
		for _, c := range s.ToolCalls {
			arguments, _ := json.Marshal(c.Arguments)
			lines = append(lines, "calls "+c.Name+string(arguments))
		}
		if s.Observation != nil {
			for _, r := range s.Observation.Results {
				lines = append(lines, "sees "+r.Content)
			}
		}
	}
	return lines
}

// The steps are in the forms that agents of Harbor write: results that name no call, of
// parts, with an image; steps that begin with the agent; a system prompt; several
// prompts at once.
const foreign = `{"schema_version":"ATIF-v1.6","session_id":"x","agent":{"name":"terminus-2","version":"2","model_name":"m0"},"steps":[
	{"step_id":1,"source":"system","message":"Be brief."},
	{"step_id":2,"timestamp":"2026-01-02T03:04:05Z","source":"user","message":[{"type":"text","text":"Look"},{"type":"image","source":{"media_type":"image/png","path":"a.png"}}]},
	{"step_id":3,"source":"user","message":"at this."},
	{"step_id":4,"timestamp":"2026-01-02T03:04:06.5+00:00","source":"agent","model_name":"m1","message":"","reasoning_content":"Hm.","tool_calls":[
		{"tool_call_id":"1","function_name":"keys","arguments":{"keys":"ls\n"}},{"tool_call_id":"1","function_name":"keys","arguments":{"keys":"pwd\n"}}],
		"observation":{"results":[{"content":"a b"}]},"extra":"something"},
	{"step_id":5,"source":"agent","message":"No calls.","observation":{"results":[{"source_call_id":null,"content":[{"type":"text","text":"a screen"}]}]}},
	{"step_id":6,"source":"agent","message":"A call.","tool_calls":[{"tool_call_id":"9","function_name":"f","arguments":{}}]},
	{"step_id":7,"source":"agent","message":"Done."},
	{"step_id":8,"source":"user","message":"And then?"}]}`

func TestForeign(t *testing.T) {
	s := loaded(t, foreign)
	want := []string{
		"user: Look\n\n[image that was not imported]", "thinks ",
		"user: at this.", "thinks ",
		"system: Be brief.", "thinks ",
		"agent: ", "thinks Hm.", `calls keys{"keys":"ls\n"}`, `calls keys{"keys":"pwd\n"}`, "sees ", "sees a b",
		"agent: No calls.", "thinks ",
		"system: a screen", "thinks ",
		"agent: A call.", "thinks ", "calls f{}", "sees ",
		"agent: Done.", "thinks ",
		"user: And then?", "thinks ",
	}
	if diff := cmp.Diff(want, textLines(Of(s, nil))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if len(s.Waiting) != 1 || !s.Waiting[0].Held {
		t.Errorf("what waits: %+v", s.Waiting)
	}
	if at := s.Turns[0].Attempts[0].StartedAt; !at.Equal(time.Date(2026, 1, 2, 3, 4, 6, 5e8, time.UTC)) {
		t.Errorf("the request was made at %v", at)
	}
}

// TestCut: a call that was under way when the trajectory ended has unknown effects.
func TestCut(t *testing.T) {
	s := loaded(
		t,
		`{"schema_version":"ATIF-v1.7","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"user","message":"go"},
		{"step_id":2,"source":"agent","message":"","tool_calls":[{"tool_call_id":"1","function_name":"shell","arguments":{"command":"make"}}]}]}`,
	)
	last := s.Turns[0]
	if i := last.Items[0]; i.Status != event.ItemAborted || i.Effects != event.EffectsUnknown ||
		last.Cause.Reason != event.Shutdown {
		t.Errorf("%+v, %+v", i, last.Cause)
	}
}

// endings are trajectories of turns and calls that did not complete, each with how the turn
// ended, and the effects of its call.
var endings = map[string]string{
	"interrupted partial": `{"schema_version":"ATIF-v1.7","agent":{"name":"settle","version":"1"},"steps":[{"source":"user","message":"go"},
		{"source":"agent","message":"","tool_calls":[{"tool_call_id":"1","function_name":"shell","arguments":{}},{"tool_call_id":"2","function_name":"shell","arguments":{}}],"observation":{"results":[{"source_call_id":"1","content":"half"},{"source_call_id":"2","content":""}]},
			"extra":{"calls":{"1":{"status":"aborted","effects":"partial","cause":{"outcome":"aborted","reason":"interrupted","by":"user"}},"2":{"status":"aborted","effects":"none"}},"turn_ended":"interrupted","turn_cause":{"outcome":"aborted","reason":"interrupted","by":"user"}}},
		{"source":"user","message":"more"},{"source":"agent","message":"yes"}]}`,
	"failed: 400 ": `{"schema_version":"ATIF-v1.7","agent":{"name":"settle","version":"1"},"steps":[{"source":"user","message":"go"},
		{"source":"agent","message":"half an ans","extra":{"outcome":"failed","error":"400","turn_ended":"failed: 400","turn_cause":{"outcome":"failed","error":{"name":"ProviderError","message":"400"}}}}]}`,
	"the limit on steps was reached ": `{"schema_version":"ATIF-v1.7","agent":{"name":"settle","version":"1"},"steps":[{"source":"user","message":"go",
			"extra":{"turn_ended":"x","turn_cause":{"outcome":"aborted","reason":"limit","limit":"steps"}}},{"source":"user","message":"more"}]}`,
	"settle was shut down: the trajectory says: odd ": `{"schema_version":"ATIF-v1.7","agent":{"name":"settle","version":"1"},"steps":[{"source":"agent","message":"a","extra":{"turn_ended":"odd","turn_cause":{"outcome":"aborted","reason":"limit"}}}]}`,
	"settle was shut down: the trajectory says: k unknown": `{"schema_version":"ATIF-v1.7","agent":{"name":"settle","version":"1"},"steps":[{"source":"agent","message":"a","tool_calls":[{"tool_call_id":"1"},{"tool_call_id":"2"}],
			"observation":{"results":[{"source_call_id":"2","content":"x"}]},"extra":{"turn_ended":"k","turn_cause":{"outcome":"aborted","reason":"crashed"}}},{"source":"user","message":"more"}]}`,
	"replaced by a new input ": `{"schema_version":"ATIF-v1.7","agent":{"name":"settle","version":"1"},"steps":[{"source":"agent","message":"a","extra":{"outcome":"aborted","turn_ended":"r","turn_cause":{"outcome":"aborted","reason":"replaced"}}},{"source":"user","message":"more"},{"source":"agent","message":"b"}]}`,
}

// TestEndings: turns and calls of the read session have the endings of the trajectory, also after a
// second round.
func TestEndings(t *testing.T) {
	for want, doc := range endings {
		for range 2 {
			s := loaded(t, doc)
			first, effects := s.Turns[0], event.Effects("")
			for _, i := range first.Items {
				if i.Type() == event.ToolCall && effects == "" {
					effects = i.Effects
				}
				if i.Type() == event.Message && strings.Contains(
					doc, `"outcome":"failed"`,
				) && i.Status != event.ItemAborted && i.Status != event.ItemFailed {
					t.Errorf("a message that was cut off is %s", i.Status)
				}
			}
			if got := first.Cause.Error() + " " + string(effects); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			raw, err := json.Marshal(Of(s, nil)) // once more, with its own data
			if err != nil {
				t.Fatal(err)
			}
			doc = string(raw)
		}
	}
}

// TestPromptOnly: a trajectory can be no more than a system prompt, or begin with the agent.
func TestPromptOnly(t *testing.T) {
	s := loaded(
		t,
		`{"schema_version":"ATIF-v1.8","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"system","message":"Be brief."}]}`,
	)
	if len(s.Waiting) != 1 || s.Waiting[0].Text != "Be brief." {
		t.Errorf("what waits: %+v", s.Waiting)
	}
	s = loaded(
		t,
		`{"schema_version":"ATIF-v1.8","agent":{"name":"a","version":"1"},"steps":[{"step_id":1,"source":"agent","message":"Hi."}]}`,
	)
	if got := textLines(Of(s, nil))[0]; got != "user: "+noPrompt {
		t.Errorf("it begins with %q", got)
	}
}

func TestBroken(t *testing.T) {
	for doc, want := range map[string]string{
		`{"schema_version":"ATIF-v2.0","steps":[{}]}`:                                  `its schema_version is "ATIF-v2.0"; settle reads ATIF-v1`,
		`{"schema_version":"ATIF-v1.7","steps":[]}`:                                    "it has no steps",
		`{"schema_version":"ATIF-v1.7","steps":[{"source":"user","message":"a"},{}]}`:  `step 2: its source is ""; it has to be user, agent or system`,
		`{"schema_version":"ATIF-v1.7","steps":[{"source":"user","message":7}]}`:       "it is no trajectory: a message or a result is neither a text nor a list of parts",
		`{"schema_version":"ATIF-v1.7","steps":{}}`:                                    "it is no trajectory: ",
		`{"schema_version":"ATIF-v1.7","steps":[{"source":"user","message":"a"}]} and`: "it is no trajectory: ",
	} {
		if events, err := Events(
			[]byte(doc), "s", event.SessionOpened{}, time.Now(),
		); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %d events and %v, want %q", doc, len(events), err, want)
		}
	}
}

// FuzzEvents: from any document, the log keeps the contract, or there is an error.
func FuzzEvents(f *testing.F) {
	f.Add([]byte(foreign))
	for _, seed := range endings {
		f.Add([]byte(seed))
	}
	f.Add(
		[]byte(
			`{"schema_version":"ATIF-v1.7","steps":[{"source":"agent","tool_calls":[{"tool_call_id":"1"}]},{"source":"system","message":"a"},{"source":"agent","tool_calls":[{}]}]}`,
		),
	)
	f.Fuzz(func(t *testing.T, doc []byte) {
		events, err := Events(doc, "s", event.SessionOpened{Dir: "/w"}, time.Unix(1000, 0))
		if err != nil {
			return
		}
		if err := contract.Check(events); err != nil {
			t.Error(err)
		}
		var s event.State
		for _, e := range events {
			if s, err = event.Fold(s, e); err != nil {
				t.Fatal(err)
			}
		}
		if s.Open {
			t.Error("the session is still open")
		}
	})
}
