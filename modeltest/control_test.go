package modeltest

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// requestControl sends a request to the server and returns status and body.
func requestControl(t *testing.T, s *Server, method, path, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer somebody's-key")
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), "somebody's-key") {
		t.Errorf("%s %s shows a key: %s", method, path, raw)
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil && strings.HasPrefix(path, "/control/") {
		t.Fatalf("%s %s: %v in %s", method, path, err, raw)
	}
	return resp.StatusCode, out
}

const smallRequest = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`

func TestControl(t *testing.T) {
	s := NewServer(t, Script(Say("one"), Say("two")))
	requestControl(t, s, "POST", "/v1/chat/completions", smallRequest)
	requestControl(t, s, "POST", "/v1/chat/completions", `{"model":"m","messages":[]}`) // refused

	_, seen := requestControl(t, s, "GET", "/control/exchanges?wait=2&ended=true", "")
	exchanges, _ := seen["exchanges"].([]any)
	if len(exchanges) != 2 {
		t.Fatalf("%d exchanges", len(exchanges))
	}
	first, _ := exchanges[0].(map[string]any)
	var want any
	if err := json.Unmarshal([]byte(smallRequest), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, first["body"]); diff != "" {
		t.Error(diff)
	}
	if first["ended"] != "sent" || first["dialect"] != "chat" || first["turn"] != 0.0 || first["ended_at"] == nil {
		t.Errorf("the first exchange is %v", first)
	}

	status, state := requestControl(t, s, "POST", "/control/turns", `[{"items":[{"say":"three"}]}]`)
	if refusals, _ := state["refusals"].([]any); status != 200 || state["turns_left"] != 2.0 ||
		state["requests"] != 2.0 ||
		len(refusals) != 1 {
		t.Errorf("%d %v", status, state)
	}
	if _, after := requestControl(t, s, "GET", "/control/state", ""); after["turns_left"] != 2.0 {
		t.Errorf("state %v", after)
	}
	if s.Left() != 2 {
		t.Errorf("%d turns are left", s.Left())
	}
}

func TestControlRefuses(t *testing.T) {
	s := NewServer(t, Script(Say("one")))
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/control/exchanges?wait=1&timeout=1ms", "", http.StatusRequestTimeout, "0 came"},
		{"GET", "/control/exchanges?wait=soon", "", 400, "soon"},
		{"GET", "/control/exchanges?wait=-1", "", 400, "negative"},
		{"GET", "/control/exchanges?timeout=1h", "", 400, "10m0s"},
		{"GET", "/control/exchanges?until=3", "", 400, `no "until"`},
		{"GET", "/control/nothing", "", 404, "docs/reference/scenarios.md"},
		{"POST", "/control/turns", `[{"items":[{"sya":"x"}]}]`, 400, "sya"},
		{"POST", "/control/turns", `[{"recording":"x.sse"}]`, 400, "scenario file"},
		{"POST", "/control/turns", `[],"loop":true`, 400, "cannot read the turns"},
	} {
		status, body := requestControl(t, s, c.method, c.path, c.body)
		said, _ := body["error"].(string)
		if status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%s %s: %d %q, want %d with %q", c.method, c.path, status, said, c.status, c.says)
		}
	}
	if st := s.State(); st.TurnsLeft != 1 || st.Requests != 0 || len(st.Refusals) != 0 {
		t.Errorf("state %+v", st)
	}
}
