package atif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
)

// folded returns the state after events, a second apart.
func folded(t *testing.T, session string, events []event.Event) event.State {
	t.Helper()
	var s event.State
	for n, e := range events {
		e.V, e.Session, e.Seq, e.At = event.Version, session, uint64(n+1), time.Date(2026, 11, 22, 12, 0, n, 0, time.UTC)
		var err error
		if s, err = event.Fold(s, e); err != nil {
			t.Fatalf("event %d: %v", n+1, err)
		}
	}
	return s
}

func itemEnded(attempt, item string, status event.Status, c event.Content) event.Event {
	d := event.ItemEnded{Status: status, Content: c}
	if status == event.ItemAborted {
		d.Cause = &event.Cause{Outcome: event.Aborted, Reason: event.Interrupted, By: "user"}
	}
	if status == event.ItemAborted && c.Type == event.ToolCall {
		d.Effects = event.EffectsPartial
	}
	return event.Event{Turn: "t1", Attempt: attempt, Item: item, Data: d}
}

// session returns a session with all kinds of entities: thoughts, parallel calls, a failed attempt
// whose text was repeated, a note, an input that steers, arguments that are not an object, an
// interrupt.
func session(t *testing.T) event.State {
	in := func(attempt, item string, d event.Data) event.Event {
		return event.Event{Turn: "t1", Attempt: attempt, Item: item, Data: d}
	}
	zero, cost := 0, 0.25
	call := func(item, id, args string) []event.Event {
		return []event.Event{
			in("a2", item, event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: id}),
			in("a2", item, event.CallReady{Name: "shell", CallID: id, Arguments: args}),
			in("a2", item, event.CallStarted{}),
		}
	}
	return folded(t, "s", slices.Concat([]event.Event{
		{Data: event.SessionOpened{Settle: "v1", Dir: "/work", Frontend: "run", PID: 1}},
		{Data: event.InputAccepted{Input: "n1", Text: "go"}},
		in("", "", event.TurnStarted{Inputs: []string{"n1"}, Provider: "p", Model: "m", Effort: "low"}),
		in("a1", "", event.AttemptStarted{Step: 1, N: 1, Provider: "p", Model: "m"}),
		in("a1", "i1", event.ItemStarted{Type: event.Message}),
		itemEnded("a1", "i1", event.ItemCompleted, event.Content{Type: event.Message, Text: "said tw"}),
		in("a1", "", event.AttemptEnded{Outcome: event.Failed, Failure: &event.Failure{Kind: "truncated", Message: "cut"}, Discarded: []string{"i1"}, Usage: event.Usage{Input: 5}}),
		in("a2", "", event.AttemptStarted{Step: 1, N: 2, Provider: "p", Model: "m2"}),
		in("a2", "i2", event.ItemStarted{Type: event.Reasoning}),
		itemEnded("a2", "i2", event.ItemCompleted, event.Content{Type: event.Reasoning, Text: "I think"}),
		in("a2", "i3", event.ItemStarted{Type: event.Message}),
		itemEnded("a2", "i3", event.ItemCompleted, event.Content{Type: event.Message, Text: "said"}),
	}, call("i4", "c1", `{"command":"ls"}`), call("i5", "c2", `[1]`), []event.Event{
		in("a2", "", event.AttemptEnded{Outcome: event.Completed, Usage: event.Usage{Input: 100, CacheRead: 60, Output: 7}, Cost: &cost, Tokens: &event.Tokens{Prompt: []int32{5, 6}, Completion: []int32{7}, Logprobs: []float64{-0.5}}}),
		itemEnded("a2", "i4", event.ItemCompleted, event.Content{Type: event.ToolCall, Name: "shell", CallID: "c1", Arguments: `{"command":"ls"}`, Output: "file", ExitCode: &zero}),
		itemEnded("a2", "i5", event.ItemAborted, event.Content{Type: event.ToolCall, Name: "shell", CallID: "c2", Arguments: `[1]`, Output: "half"}),
		in("", "i6", event.ItemStarted{Type: event.Note}),
		itemEnded("", "i6", event.ItemCompleted, event.Content{Type: event.Note, Text: "a note"}),
		{Turn: "t1", By: "user", Data: event.TurnAborted{Reason: event.Interrupted, Summary: event.Summary{Steps: 1, Attempts: 2, Calls: 2}}},
	}))
}

func TestTrajectory(t *testing.T) {
	got := Of(session(t), nil)
	data, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults(data) {
		t.Error(fault)
	}
	for n := range got.Steps {
		got.Steps[n].Timestamp = nil
	}
	cost, stopped := 0.25, event.Abort(event.Interrupted, "user")
	want := []Step{
		{ID: 1, Source: "user", Message: "go"},
		{
			ID: 2, Source: "agent", Message: "said", ModelName: "m2", Effort: "low", Reasoning: "I think",
			ToolCalls: []ToolCall{
				{"i4", "shell", map[string]any{"command": "ls"}},
				{"i5", "shell", map[string]any{"input": "[1]"}},
			},
			Observation: &Observation{[]Result{{"i4", "file"}, {"i5", "half"}}},
			Metrics:     &Metrics{Prompt: 100, Completion: 7, Cached: 60, Cost: &cost, PromptIDs: []int32{5, 6}, CompletionIDs: []int32{7}, Logprobs: []float64{-0.5}},
			Extra:       &StepExtra{Calls: map[string]CallExtra{"i5": {Status: "aborted", Effects: "partial", Cause: stopped}}},
		},
		{ID: 3, Source: "system", Message: "a note", Extra: &StepExtra{Ended: "interrupted", Cause: stopped}},
	}
	if diff := cmp.Diff(want, got.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	final := FinalMetrics{Prompt: 105, Completion: 7, Cached: 60, Steps: 3, Extra: Sums{Requests: 2, Calls: 2, Outcome: "aborted", Cause: "interrupted"}}
	got.FinalMetrics.Cost = nil
	if diff := cmp.Diff(final, got.FinalMetrics); diff != "" {
		t.Errorf("final metrics (-want +got):\n%s", diff)
	}
}

// A call that a person changed has both arguments: the model's arguments, and the arguments that it
// ran with.
func TestTrajectoryOfChangedCall(t *testing.T) {
	in := func(item string, d event.Data) event.Event {
		return event.Event{Turn: "t1", Attempt: "a1", Item: item, Data: d}
	}
	content := event.Content{
		Type: event.ToolCall, Name: "shell", CallID: "c1", Output: "done",
		Arguments: `{"command":"old"}`, Effective: `{"command":"new"}`,
	}
	got := Of(folded(t, "s", []event.Event{
		{Data: event.SessionOpened{Dir: "/work", Frontend: "run", PID: 1}},
		{Data: event.InputAccepted{Input: "n1", Text: "go"}},
		{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}}},
		{Turn: "t1", Attempt: "a1", Data: event.AttemptStarted{Step: 1, N: 1}},
		in("i1", event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: "c1"}),
		in("i1", event.CallReady{Name: "shell", CallID: "c1", Arguments: content.Arguments}),
		{Turn: "t1", Item: "i1", Data: event.ApprovalRequested{Approval: "p1", Tool: "shell"}},
		{Turn: "t1", Item: "i1", Data: event.ApprovalEnded{
			Approval: "p1", Verdict: event.Approved, Arguments: content.Effective,
		}},
		in("i1", event.CallStarted{Arguments: content.Effective}),
		itemEnded("a1", "i1", event.ItemCompleted, content),
	}), nil)
	step := got.Steps[len(got.Steps)-1]
	want := map[string]CallExtra{"i1": {Status: "completed", Ran: content.Effective, ChangedBy: "user"}}
	if step.Extra == nil || cmp.Diff(want, step.Extra.Calls) != "" ||
		cmp.Diff(any(map[string]any{"command": "old"}), step.ToolCalls[0].Arguments) != "" {
		t.Errorf("%+v, %+v", step.ToolCalls, step.Extra)
	}
	data, err := json.Marshal(got)
	if err != nil || len(faults(data)) > 0 {
		t.Fatal(err, faults(data))
	}
	back := loaded(t, string(data)).Turns[0].Items[0].Content()
	told := strings.Contains(back.Output, `with these arguments: {"command":"new"}]`)
	if back.Arguments != content.Arguments || !told {
		t.Errorf("imported: %+v", back)
	}
}

// At every event the trajectory so far is one: it is written also when a run is killed.
func TestTrajectoryAtEveryEvent(t *testing.T) {
	whole := session(t)
	if len(whole.Turns) != 1 {
		t.Fatal(whole)
	}
	open := folded(t, "s", []event.Event{
		{Data: event.SessionOpened{Dir: "/work", Frontend: "run", PID: 1}},
		{Data: event.InputAccepted{Input: "n1", Text: "go"}},
		{Turn: "t1", Data: event.TurnStarted{Inputs: []string{"n1"}}},
		{Turn: "t1", Attempt: "a1", Data: event.AttemptStarted{Step: 1, N: 1}},
		{Turn: "t1", Attempt: "a1", Item: "i1", Data: event.ItemStarted{Type: event.ToolCall, Name: "shell", CallID: "c1"}},
		{Turn: "t1", Attempt: "a1", Item: "i1", Data: event.CallReady{Name: "shell", CallID: "c1", Arguments: "{}"}},
	})
	data, err := json.Marshal(Of(open, nil))
	if err != nil {
		t.Fatal(err)
	}
	if found := faults(data); len(found) > 0 || !bytes.Contains(data, []byte(`"outcome":"running"`)) {
		t.Errorf("%v: %s", found, data)
	}
}

// Children stand below; one that cannot be read is named.
func TestChildren(t *testing.T) {
	s := session(t)
	s.Children = []*event.Child{{ChildStarted: event.ChildStarted{Session: "kid"}}, {ChildStarted: event.ChildStarted{Session: "lost"}}}
	got := Of(s, func(session string) (event.State, error) {
		if session == "lost" {
			return event.State{}, errors.New("no such session")
		}
		return folded(t, session, []event.Event{{Data: event.SessionOpened{Dir: "/work", Parent: "s"}}, {Data: event.InputAccepted{Input: "n1", Text: "help"}}}), nil
	})
	if len(got.Children) != 1 || got.Children[0].TrajectoryID != "kid" || got.Notes != "not here: child agents lost (no such session)" {
		t.Errorf("%+v, %q", got.Children, got.Notes)
	}
}

// faults returns the rules of the format that a document breaks: the rules that Harbor's own
// validator enforces on version 1.7.
func faults(data []byte) (found []string) {
	fault := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	only := func(where string, object map[string]any, names ...string) {
		for name := range object {
			if !slices.Contains(names, name) {
				fault("%s.%s: extra field", where, name)
			}
		}
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return []string{err.Error()}
	}
	only("trajectory", doc, "schema_version", "session_id", "trajectory_id", "agent", "steps", "notes", "final_metrics", "extra", "subagent_trajectories")
	if doc["schema_version"] != "ATIF-v1.7" {
		fault("schema_version")
	}
	agent := doc["agent"].(map[string]any)
	only("agent", agent, "name", "version", "model_name", "tool_definitions", "extra")
	if agent["name"] == "" || agent["version"] == "" {
		fault("agent: name and version are required")
	}
	steps, _ := doc["steps"].([]any)
	if len(steps) == 0 {
		fault("steps: required")
	}
	for n, each := range steps {
		step, where := each.(map[string]any), fmt.Sprintf("steps[%d]", n)
		only(where, step, "step_id", "timestamp", "source", "message", "model_name", "reasoning_effort", "reasoning_content", "tool_calls", "observation", "metrics", "extra")
		if step["step_id"] != float64(n+1) {
			fault("%s.step_id: %v", where, step["step_id"])
		}
		if _, isText := step["message"].(string); !isText {
			fault("%s.message: required", where)
		}
		if _, err := time.Parse(time.RFC3339, fmt.Sprint(step["timestamp"])); step["timestamp"] != nil && err != nil {
			fault("%s.timestamp: %v", where, err)
		}
		switch step["source"] {
		case "agent":
		case "user", "system":
			for _, name := range []string{"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"} {
				if step[name] != nil {
					fault("%s.%s: agent-only", where, name)
				}
			}
		default:
			fault("%s.source: %v", where, step["source"])
		}
		if metrics, ok := step["metrics"].(map[string]any); ok {
			only(where+".metrics", metrics, "prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "prompt_token_ids", "completion_token_ids", "logprobs")
		}
		ids := map[any]bool{}
		calls, _ := step["tool_calls"].([]any)
		for _, each := range calls {
			call := each.(map[string]any)
			only(where+".tool_calls", call, "tool_call_id", "function_name", "arguments")
			if _, isObject := call["arguments"].(map[string]any); !isObject || call["function_name"] == "" || ids[call["tool_call_id"]] {
				fault("%s: %v", where, call)
			}
			ids[call["tool_call_id"]] = true
		}
		if observation, ok := step["observation"].(map[string]any); ok {
			for _, each := range observation["results"].([]any) {
				result := each.(map[string]any)
				only(where+".observation", result, "source_call_id", "content")
				if !ids[result["source_call_id"]] {
					fault("%s: %v is not in this step's tool_calls", where, result["source_call_id"])
				}
			}
		}
	}
	return found
}
