//go:build recordings

package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// stage serves one recording after the other: each as the answer to the first request, and a short
// answer to all further requests.
type stage struct {
	mu       sync.Mutex
	rec      recording
	requests [][]byte
}

func (s *stage) play(rec recording) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rec, s.requests = rec, nil
}

func (s *stage) sent() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost { // the window of a model that is not known
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, body)
	answer := s.rec.body
	if len(s.requests) > 1 {
		answer = []byte(fine[s.rec.Wire])
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(answer) // the client may have gone
}

// fine is a short answer on each wire.
var fine = map[string]string{
	"responses": `data: {"type":"response.created","response":{"id":"resp_fine"}}

data: {"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"fine"}]}}

data: {"type":"response.completed","response":{"id":"resp_fine","usage":{"input_tokens":1,"output_tokens":1}}}

`,
	"messages": `data: {"type":"message_start","message":{"id":"msg_fine","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}

data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"fine"}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}

data: {"type":"message_stop"}

`,
	"gemini": `data: {"candidates":[{"content":{"parts":[{"text":"fine"}],"role":"model"},"finishReason":"STOP"}]}

`,
	"chat": `data: {"choices":[{"index":0,"delta":{"content":"fine"},"finish_reason":"stop"}]}

data: [DONE]

`,
}

// binary is settle as it is built.
type binary struct {
	path, home, url string
}

func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "settle")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../../../cmd/settle").CombinedOutput(); err != nil {
		t.Fatalf("cannot build settle: %v\n%s", err, out)
	}
	return path
}

var providers = map[string]string{
	"responses": "openai/gpt-6.1-sol",
	"messages":  "anthropic/claude-opus-5-5",
	"chat":      "chat/m",
	"gemini":    "gemini/gemini-3.8-flash",
}

// run prompts settle in the session and returns the items that ended. There are no tools: the calls
// of a recording must not run.
func (b binary) run(t *testing.T, rec recording, session, prompt string) []object {
	t.Helper()
	url := b.url
	if rec.Wire != "messages" {
		url += "/v1"
	}
	cmd := exec.CommandContext(
		t.Context(), b.path, "run", "--json", "--tools", "", "--session", session, "--retries", "0", "--timeout", "30s",
		"--model", providers[rec.Wire], "--base-url", url, prompt,
	)
	cmd.Dir = b.home
	cmd.Env = []string{
		"HOME=" + b.home,
		"PATH=" + os.Getenv("PATH"),
		"OPENAI_API_KEY=key",
		"ANTHROPIC_API_KEY=key",
		"SETTLE_API_KEY=key",
		"GEMINI_API_KEY=key",
	}
	out, _ := cmd.Output() // a recorded error ends the turn, and the exit code says so
	var items []object
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e object
		if json.Unmarshal(lines.Bytes(), &e) == nil && str(e["kind"]) == "item.ended" {
			items = append(items, obj(e["data"]))
		}
	}
	return items
}

// TestBinary plays each recording to the built binary. It compares the events with the independent
// reading, and the next request also with the recorded client's next request.
func TestBinary(t *testing.T) {
	s := &stage{}
	server := httptest.NewServer(s)
	defer server.Close()
	b := binary{build(t), t.TempDir(), server.URL}
	begin := time.Now()
	all := recordings(t)
	for n, rec := range all {
		t.Run(rec.ID, func(t *testing.T) {
			s.play(rec)
			want := rec.read()
			session := fmt.Sprintf("replay-%d", n)
			got := b.run(t, rec, session, "What is the weather in Paris?")
			if len(want.Calls) == 0 || want.Stop != "tools" {
				b.run(t, rec, session, "And in Rome?")
			}
			requests := s.sent()
			if len(requests) < 2 {
				t.Fatalf("%d requests, so that nothing came back", len(requests))
			}
			if want.Stop == "" { // it failed or was cut: the session must continue
				return
			}
			eventsOf(t, got, want)
			comesBack(t, rec, want, requests[1])
		})
	}
	t.Logf("%d recordings in %v", len(all), time.Since(begin))
}

// eventsOf compares the items that settle reports with the content of the response.
func eventsOf(t *testing.T, items []object, want reading) {
	t.Helper()
	var got reading
	for _, item := range items {
		switch str(item["type"]) {
		case "message":
			if text := str(item["text"]); text != "fine" || want.Text == "fine" {
				got.Text += text
			}
		case "reasoning":
			got.Thinking += str(item["text"])
		case "tool_call":
			if str(item["status"]) != "aborted" { // else it was cut
				got.Calls = append(
					got.Calls, call{str(item["call_id"]), str(item["name"]), arguments(str(item["arguments"]))},
				)
			}
		}
	}
	byID := cmpopts.SortSlices(func(a, b call) bool { return a.ID < b.ID }) // calls end in any order
	if diff := cmp.Diff(reading{Text: want.Text, Thinking: want.Thinking, Calls: want.Calls}, got, byID, cmp.FilterPath(unexported, cmp.Ignore())); diff != "" {
		t.Errorf("the events (-read +said):\n%s", diff)
	}
}

// comesBack checks that the next request has the content of the response: its calls as the provider
// made them, and the fields that the provider added to them.
func comesBack(t *testing.T, rec recording, want reading, request []byte) {
	t.Helper()
	body := normal(t, request)
	has := func(what, value string) {
		if !strings.Contains(body, value) {
			t.Errorf("the next request does not have the %s %s", what, value)
		}
	}
	for _, c := range want.Calls {
		if rec.Wire == "gemini" { // where ids are often ours, and none goes back
			has("call", `"name":`+encode(c.Name))
		} else {
			has("call", encode(c.ID))
		}
		if args, ok := c.Arguments.(object); ok && (rec.Wire == "messages" || rec.Wire == "gemini") {
			has("arguments", encode(args))
		}
	}
	for _, signature := range want.signatures {
		has("seal", encode(signature))
	}
	for _, phase := range want.phases {
		has("phase", `"phase":`+encode(phase))
	}
	for _, members := range want.members {
		has("members", members)
	}
	if rec.next == nil {
		return
	}
	for _, kept := range backOf(rec, want) {
		has("part that the recorded client sent back", kept)
	}
}

// normal is the JSON as encoding/json writes it, so that parts of it can be compared.
func normal(t *testing.T, body []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("the request is not JSON: %v", err)
	}
	return encode(v)
}

// backOf returns the relevant parts of the response that the recorded client sent back: the ids of
// calls, reasoning, and opaque data.
func backOf(rec recording, want reading) []string {
	var next object
	if json.Unmarshal(rec.next, &next) != nil {
		return nil
	}
	ours := map[string]bool{}
	for _, c := range want.Calls {
		ours[c.ID] = true
	}
	var parts []string
	keep := func(id any) {
		if s := str(id); ours[s] {
			parts = append(parts, encode(s))
		}
	}
	for _, item := range list(next["input"]) {
		keep(item["call_id"])
	}
	for _, m := range list(next["messages"]) {
		calls := list(m["tool_calls"])
		for _, c := range calls {
			keep(c["id"])
			if ours[str(c["id"])] && c["extra_content"] != nil {
				parts = append(parts, encode(c["extra_content"]))
			}
		}
		for _, block := range list(m["content"]) {
			keep(block["id"])
		}
		if len(calls) > 0 && ours[str(calls[0]["id"])] && str(m["reasoning_content"]) != "" {
			parts = append(parts, encode(str(m["reasoning_content"])))
		}
	}
	return parts
}
