package modeltest

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// recordedMessage is a response of Messages with a signature in two pieces, and
// with all that a stream may have between events.
const recordedMessage = "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\r\n\r\n" +
	": keep-alive\n\n" +
	"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"Ab\"}}\n\n" +
	"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"cd\"}}\n\n" +
	"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
	"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":5}}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n"

func post(t *testing.T, s *Server, path, body string) (int, string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

// A recording is sent byte for byte, faults strike within it, and its signatures can be sent back.
func TestRecorded(t *testing.T) {
	const ask = `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
	s := NewServer(t, Script(
		Recorded([]byte(recordedMessage)),
		Recorded([]byte(recordedMessage)).With(Cut(AfterDelta(2))),
		Recorded([]byte(recordedMessage)).With(NoEnd()),
		Recorded([]byte(recordedMessage)),
		Say("fine"),
	))
	if status, body, err := post(t, s, "/v1/messages", ask); status != 200 || err != nil || body != recordedMessage {
		t.Errorf("%d %v: %s", status, err, cmp.Diff(recordedMessage, body))
	}
	if _, body, err := post(t, s, "/v1/messages", ask); err == nil || !strings.HasPrefix(recordedMessage, body) ||
		!strings.HasSuffix(body, "\"signature\":\"\"}}\n\n") {
		t.Errorf("cut after two events: %v, %q", err, body)
	}
	if _, body, err := post(t, s, "/v1/messages", ask); err != nil || strings.Contains(body, "message_stop") ||
		!strings.Contains(body, "message_delta") {
		t.Errorf("without the end: %v, %q", err, body)
	}
	if status, body, _ := post(t, s, "/v1/messages", strings.Replace(ask, `"stream":true,`, "", 1)); status != 400 ||
		!strings.Contains(body, "recorded stream") {
		t.Errorf("without a stream: %d %s", status, body)
	}
	for signature, want := range map[string]int{"Abcd": 200, "Abce": 400} {
		status, body, _ := post(
			t,
			s,
			"/v1/messages",
			`{"model":"m","stream":true,"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"hi"},`+
				`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"`+signature+`"},{"type":"text","text":"x"}]},{"role":"user","content":"go on"}]}`,
		)
		if status != want {
			t.Errorf("signature %s: %d %s", signature, status, body)
		}
	}
}

func TestEvents(t *testing.T) {
	for stream, want := range map[string][]string{
		"":                           nil,
		": nothing\n\n":              nil,
		"data: a\n\ndata: b\n\n":     {"data: a\n\n", "data: b\n\n"},
		"data: a\n\nerror: b\n\n:":   {"data: a\n\nerror: b\n\n:"},
		"data: a\r\n\r\ndata: b\r\r": {"data: a\r\n\r\n", "data: b\r\r"},
		": c\n\nevent: x\ndata: a\ndata: a\n\nid: 1\n\ndata: b": {": c\n\nevent: x\ndata: a\ndata: a\n\n", "id: 1\n\ndata: b"},
	} {
		var got []string
		for _, e := range events([]byte(stream)) {
			got = append(got, string(e))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", stream, diff)
		}
	}
}

func TestLoad(t *testing.T) {
	folder := fstest.MapFS{"a.sse": {Data: []byte("data: 1\n\n")}, "b.json": {Data: []byte("{}")}}
	for file, says := range map[string]string{
		`{"turns":[{"items":[{"say":"x"}]},{"recording":"a.sse"}]}`: "",
		`{"turns":[{"recording":"gone.sse"}]}`:                      "turn 1",
		`{"turns":[{"recording":"b.json"}]}`:                        "not a stream",
		`{"turns":[{"recording":"../a.sse"}]}`:                      "turn 1",
	} {
		sc, err := ParseScenario([]byte(file))
		if err != nil {
			t.Fatal(err)
		}
		err = sc.Load(folder)
		if (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", file, err, says)
		}
	}
	if _, err := ParseScenario([]byte(`{"turns":[{"recording":"a.sse","items":[{"say":"x"}]}]}`)); err == nil {
		t.Error("a recording with items is taken")
	}
}
