package modeltest_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// Any request of a client gets an answer or one of the provider's errors.
func FuzzRequests(f *testing.F) {
	scenario := modeltest.Scenario{
		Rules:  modeltest.Rules{Models: []modeltest.Model{{ID: "m", MaxOutput: 1000, Window: window}}},
		Answer: func(modeltest.Request) modeltest.Turn { return words() },
	}
	for i, d := range dialects {
		f.Add(i, d.body)
	}
	f.Add(
		0,
		responsesBody(user, `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAAA.x"}`, assistant),
	)
	f.Add(1, messagesBody(user+","+msg("assistant", toolUse)+","+msg("user", result)))
	f.Add(
		2,
		chatBody(
			user, `{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"b","arguments":"{}"}}]}`,
			`{"role":"tool","tool_call_id":"a","content":""}`,
		),
	)
	f.Fuzz(func(t *testing.T, dialect int, body string) {
		d := dialects[uint(dialect)%uint(len(dialects))]
		w := httptest.NewRecorder()
		modeltest.New(scenario).
			Handler().
			ServeHTTP(w, httptest.NewRequest(http.MethodPost, d.path, strings.NewReader(body)))
		if !slices.Contains([]int{200, 400, 404}, w.Code) {
			t.Errorf("status %d for %s", w.Code, body)
		}
	})
}
