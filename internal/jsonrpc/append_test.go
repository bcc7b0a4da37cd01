package jsonrpc_test

import (
	"encoding/json"
	"testing"

	"github.com/settle-agent/settle/internal/jsonrpc"
)

func TestAppend(t *testing.T) {
	for want, value := range map[string]any{
		`{"a":"<b> & \u2028"}`:      map[string]string{"a": "<b> & \u2028"},
		`["\u2028","\u2029\u202a"]`: json.RawMessage("[\"\u2028\", \"\u2029\\u202a\"]"),
		`"é\u2027"`:                 json.RawMessage(`"é\u2027"`),
	} {
		got, err := jsonrpc.Append([]byte("before\n"), value)
		if err != nil || string(got) != "before\n"+want+"\n" {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	}
	if got, err := jsonrpc.Append([]byte("x"), json.RawMessage("{")); err == nil || string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
}
