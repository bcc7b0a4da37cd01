package assemble_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/modeltest"
	"github.com/settle-agent/settle/tool"
)

// searching is a text that only a search request contains.
const searching = "Search the web for the query."

// stream is a recorded response with these events.
func stream(events ...string) []byte {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return []byte(b.String())
}

// pagesFound are the providers' answers to a search.
func pagesFound() map[string][]modeltest.Turn {
	page := `{"type":"web_search_result","url":"https://go.dev/","title":"Go","encrypted_content":"EqEncrypted","page_age":null}`
	use := func(id, then, stop string) []byte {
		return stream(
			`{"type":"message_start","message":{"id":"msg_s`+id+
				`","type":"message","role":"assistant","content":[],"usage":{"input_tokens":40,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_`+id+
				`","name":"web_search","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"go\"}"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_`+id+`","content":[`+page+`]}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"`+then+`"}}`,
			`{"type":"content_block_stop","index":2}`,
			`{"type":"message_delta","delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":5}}`,
			`{"type":"message_stop"}`,
		)
	}
	return map[string][]modeltest.Turn{
		"anthropic/claude-opus-5-5": { // pauses, and requires its results in the next request
			modeltest.Recorded(use("1", "I look on. ", "pause_turn")).For(searching),
			modeltest.Recorded(use("2", "Go 1.27.", "end_turn")).For(searching),
		},
		"openai/gpt-5.2": {modeltest.Recorded(stream(
			`{"type":"response.created","response":{"id":"resp_s","status":"in_progress","output":[]}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress","action":{"type":"search"}}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"go"}}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"id":"msg_s","type":"message","role":"assistant","content":[]}}`,
			`{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Go 1.27."}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"id":"msg_s","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Go 1.27.","annotations":[{"type":"url_citation","url":"https://go.dev/","title":"Go","start_index":0,"end_index":2}]}]}}`,
			`{"type":"response.completed","response":{"id":"resp_s","status":"completed","output":[],"usage":{"input_tokens":40,"output_tokens":5,"total_tokens":45}}}`,
		)).For(searching)},
		"gemini/gemini-2.5-flash": {modeltest.Recorded(stream(
			`{"candidates":[{"content":{"parts":[{"text":"Go 1.27."}],"role":"model"},"finishReason":"STOP","index":0,"groundingMetadata":{"webSearchQueries":["go"],"groundingChunks":[{"web":{"uri":"https://go.dev/","title":"Go"}}]}}],` +
				`"usageMetadata":{"promptTokenCount":40,"candidatesTokenCount":5,"totalTokenCount":45}}`,
		)).For(searching)},
	}
}

// searchCall returns the session's call that searched.
func searchCall(t *testing.T, s *assemble.Opened) (event.Status, event.Content) {
	t.Helper()
	for _, turn := range s.State().Turns {
		for _, i := range turn.Items {
			if c := i.Content(); c.Type == event.ToolCall && c.Name == "web_search" {
				return i.Status, c
			}
		}
	}
	t.Fatal("no call searched")
	return "", event.Content{}
}

// The model's own provider searches, in a request of its own. The results are the output of
// a call, for every later model of the session; no request is refused, before and after a
// change of model, and after the session is opened again.
func TestProviderSearch(t *testing.T) {
	for name, found := range pagesFound() {
		t.Run(name, func(t *testing.T) {
			called := "web_search"
			if strings.HasPrefix(name, "anthropic/") {
				called = "WebSearch"
			}
			turns := []modeltest.Turn{modeltest.Reply(modeltest.Call(called, `{"query":"newest go"}`))}
			turns = append(append(turns, found...), modeltest.Say("It is 1.27."), modeltest.Say("And on."),
				modeltest.Say("Once more."))
			server, s := families(t, map[string]string{"model": name, "web.search": "provider"}, turns...)
			prompt(t, s, "which go?")
			status, call := searchCall(t, s)
			if status != event.ItemCompleted || !strings.Contains(call.Output, "Go 1.27.") ||
				!strings.Contains(call.Output, "https://go.dev/") ||
				!strings.Contains(string(call.Detail), `"input_tokens":`) {
				t.Errorf("%s: %q, %s", status, call.Output, call.Detail)
			}
			other := "anthropic/claude-sonnet-5"
			if called == "WebSearch" {
				other = "openai/gpt-5.2"
			}
			if err := s.Choose(t.Context(), map[string]string{"model": other}); err != nil {
				t.Fatal(err)
			}
			prompt(t, s, "go on")
			if err := s.Choose(t.Context(), map[string]string{"model": name}); err != nil {
				t.Fatal(err)
			}
			prompt(t, s, "and back")
			if refused := server.Refusals(); len(refused) > 0 {
				t.Errorf("refused: %q", refused)
			}
			for n, x := range server.Exchanges() {
				body := string(x.Body)
				if search := strings.Contains(body, searching); search &&
					(strings.Contains(body, "which go?") || strings.Contains(body, "apply_patch")) {
					t.Errorf("request %d searches, and has the conversation: %s", n, body)
				} else if !search && strings.Contains(body, "EqEncrypted") {
					t.Errorf("request %d has what only the search needs", n)
				}
			}
		})
	}
}

// The model receives the error of an unavailable search, and the turn continues.
func TestSearchWithout(t *testing.T) {
	server, s := families(t, map[string]string{"model": "local/qwen", "web.search": "provider"},
		modeltest.Reply(modeltest.Call("web_search", `{"query":"x"}`)), modeltest.Say("I cannot."))
	prompt(t, s, "go")
	if status, call := searchCall(t, s); status != event.ItemFailed ||
		!strings.Contains(call.Output, "no search that settle can use") {
		t.Errorf("%s: %q", status, call.Output)
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("%q", refused)
	}
	server, s = families(t, map[string]string{"model": "openai/gpt-5.2", "web.search": "provider"},
		modeltest.Reply(modeltest.Call("web_search", `{"query":"x"}`)),
		modeltest.Fail(modeltest.Status(403)).For(searching), modeltest.Say("I cannot."))
	prompt(t, s, "go")
	if status, call := searchCall(t, s); status != event.ItemFailed || !strings.Contains(call.Output, "403") {
		t.Errorf("%s: %q", status, call.Output)
	}
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("%q", refused)
	}
}

// A turn that is interrupted during a search ends soon, with an honest end of the call.
func TestSearchInterrupted(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	found := pagesFound()["openai/gpt-5.2"][0].With(modeltest.Hold(modeltest.AfterDelta(2), release))
	server, s := families(t, map[string]string{"model": "openai/gpt-5.2", "web.search": "provider"},
		modeltest.Reply(modeltest.Call("web_search", `{"query":"x"}`)), found, modeltest.Say("Fine."))
	turn, err := s.Submit(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.WaitDeltas(t.Context(), 2, 2); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Interrupt(t.Context(), settle.Interruption{}); err != nil {
		t.Fatal(err)
	}
	if end, _ := turn.Wait(t.Context()); end.Completed() {
		t.Fatalf("%+v, %v", end, err)
	}
	if status, call := searchCall(t, s); status != event.ItemAborted ||
		!strings.Contains(call.Output, "may have been sent") {
		t.Errorf("%s: %q", status, call.Output)
	}
	prompt(t, s, "go on")
	if refused := server.Refusals(); len(refused) > 0 {
		t.Errorf("%q", refused)
	}
}

// The web is not searched without a configured service.
func TestSearchIsOff(t *testing.T) {
	server, s := families(t, map[string]string{"model": "openai/gpt-5.2"}, modeltest.Say("hello"))
	prompt(t, s, "go")
	if strings.Contains(string(server.Exchanges()[0].Body), "web_search") {
		t.Error("web_search is offered")
	}
	hosts := newHosts(t)
	for _, settings := range []map[string]string{
		{"web.search": "command"},
		{"tools": "web_search"},
		{"web.search": "always"},
	} {
		if s, err := hosts.Open(t.Context(), "",
			assemble.SessionSpec{Dir: t.TempDir(), Settings: settings}); err == nil {
			t.Errorf("%v: opened %s", settings, s.ID())
		}
	}
}

// With the search on, the first request stays within its limit.
func TestFirstRequestWithSearch(t *testing.T) {
	for family, name := range firstModels() {
		server, s := families(t, map[string]string{"model": name, "web.search": "provider"}, modeltest.Say("hello"))
		prompt(t, s, "go")
		body := server.Exchanges()[0].Body
		if n := len(body); n > maxFirst || !strings.Contains(strings.ToLower(string(body)), "search the web") {
			t.Errorf("%s: the first request has %d bytes, want at most %d, with the search", family, n, maxFirst)
		}
	}
}

// A command searches: it receives the query as JSON, and runs outside the project.
func TestSearchCommand(t *testing.T) {
	script := filepath.Join(t.TempDir(), "search")
	const text = "#!/bin/sh\nread -r query\ncase $query in *fail*) echo no luck >&2; exit 3;; *flood*) while :; do echo 0123456789012345678901234567890123456789; done;; esac\n" +
		`printf '{"text":"%s","results":[{"title":"Go","url":"https://go.dev/"}]}' "$(pwd)"` + "\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	hosts := newHosts(t)
	s, err := hosts.Open(t.Context(), "", assemble.SessionSpec{
		Dir:      t.TempDir(),
		Settings: map[string]string{"web.search": "command", "web.search_command": "/bin/sh," + script},
	})
	if err != nil {
		t.Fatal(err)
	}
	kit, err := s.Agent.Session.Toolbox(settle.SessionInfo{ID: "s", WorkDir: s.Spec.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := kit.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	set, err := tool.NewSet(kit.Tools...)
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"go":   "Sources:\n- Go https://go.dev/",
		"fail": "ended with code 3: no luck", "flood": fmt.Sprint("more than ", 256<<10),
	} {
		args, err := json.Marshal(map[string]string{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		got, err := set.Run(t.Context(), tool.Call{ID: "c", Name: "web_search", Dir: s.Spec.Dir, Args: args})
		if err != nil || !strings.Contains(got.Output, want) || strings.Contains(got.Output, s.Spec.Dir) ||
			got.Failed == (query == "go") {
			t.Errorf("%s: %+v, %v", query, got, err)
		}
	}
}
