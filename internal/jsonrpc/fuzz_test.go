package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"testing/iotest"
	"time"

	"github.com/settle-agent/settle/internal/jsonrpc"
)

// echo answers every request with its parameters, or fails it.
type echo struct {
	t        *testing.T
	requests int
}

func (e *echo) Handle(_ context.Context, r *jsonrpc.Request) {
	if r.Method == "" {
		e.t.Error("a request without a method was handed on")
	}
	if !r.IsNotification() {
		e.requests++
	}
	if r.Method == "fail" {
		r.Fail(jsonrpc.Errorf(1, "%s", r.Method))
		return
	}
	r.Reply(r.Params)
}

// Whatever the other side writes, in whatever pieces, the connection ends when
// its input does, each request is answered once, and each line that goes out is
// one message that a client can read.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":[1,"é",null]}}` + "\n" + `{"jsonrpc":"2.0","method":"tell"}` + "\n",
		`{"id":"x","method":"fail"}` + "\r\n\r\n" + `{"id":"x","result":1}`,
		`[{"jsonrpc":"2.0","id":1,"method":"echo"}]` + "\n" + `{"jsonrpc":"2.0","id":1.5,"method":"echo","method":"fail"}` + "\n",
		"\xef\xbb\xbf{\"id\":null,\"method\":\"echo\"}\nnonsense\n{\"id\":{},\"error\":{\"code\":1}}\n",
		`{"jsonrpc":"2.0","id":2,"method":"` + "\\ud800\xff" + `","params":7}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, in []byte, bare bool) {
		dialect := jsonrpc.V2
		if bare {
			dialect = jsonrpc.Bare
		}
		var out bytes.Buffer
		h := &echo{t: t}
		c := jsonrpc.New(jsonrpc.Options{In: iotest.HalfReader(bytes.NewReader(in)), Out: &out, Dialect: dialect, Handler: h, MaxFrame: 256})
		c.Start(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Wait(ctx); err != nil {
			t.Fatalf("the input ended, and the connection did not: %v", err)
		}
		answers := 0
		for line := range bytes.Lines(out.Bytes()) {
			var m map[string]json.RawMessage
			if err := json.Unmarshal(line, &m); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
				t.Fatalf("%q is no message: %v", line, err)
			}
			if version, marked := m["jsonrpc"]; marked == bare || marked && string(version) != `"2.0"` {
				t.Errorf("%q is marked %s", line, version)
			}
			if m["id"] == nil {
				t.Errorf("%q answers to nothing", line)
			}
			if m["result"] != nil || string(m["error"]) == `{"code":1,"message":"fail"}` {
				answers++
			}
		}
		if answers != h.requests {
			t.Errorf("%d answers to %d requests: %q", answers, h.requests, out.Bytes())
		}
	})
}
