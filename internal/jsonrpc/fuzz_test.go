package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/settle-agent/settle/internal/jsonrpc"
)

// echo answers every request at once, and counts requests and notifications.
type echo struct{ requests, notifications int }

func (e *echo) Handle(_ context.Context, r *jsonrpc.Request) {
	if r.IsNotification() {
		e.notifications++
		return
	}
	e.requests++
	r.Reply(r.Params)
	r.Fail(io.EOF)
}

// fuzzFrame bounds the frames of the fuzzed connection.
const fuzzFrame = 256

// serveFrames runs a connection over an input to its end.
func serveFrames(t *testing.T, d jsonrpc.Dialect, in io.Reader) (*echo, []byte) {
	t.Helper()
	var out bytes.Buffer
	e := &echo{}
	c := jsonrpc.New(jsonrpc.Options{In: in, Out: &out, Dialect: d, Handler: e, MaxFrame: fuzzFrame})
	c.Start(t.Context())
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return e, out.Bytes()
}

// FuzzFrames feeds anything to a connection. Whatever comes in, and in whatever
// pieces: it ends with its input; each line that is not empty is a request that
// is answered once, a notification, an answer, or refused once; and everything
// that goes out is one message of the dialect on a line, which the connection
// itself could read.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{}}` + "\n" + `{"id":"x","method":"n"}`,
		`{"id":1,"result":2}` + "\n\n" + `{"id":null,"error":{"code":1,"message":"m"}}`,
		"[1]\nnull\n{}\n{\"id\":{}}\n\"\xff\"\n",
		`{"id":1,"method":"` + strings.Repeat("m", fuzzFrame) + `"}` + "\n" + `{"id":2,"method":"n"}`,
		`{"result":"` + strings.Repeat("m", fuzzFrame) + `","id":1}` + "\r\n",
		`{"id":"x","method":"fail"}` + "\r\n\r\n" + `{"jsonrpc":"2.0","id":1.5,"method":"a","method":"b"}` + "\n",
		"\xef\xbb\xbf{\"id\":null,\"method\":\"echo\"}\n{\"id\":{},\"error\":{\"code\":1}}\n" + `{"id":2,"method":"` + "\\ud800\xff" + `","params":7}`,
		"{\"id\":1e3,\"method\":\"\u2028\",\"params\":\"\u2029\"}\n{\"id\":-0.0,\"method\":\"m\"}",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, input []byte, bare bool) {
		d := jsonrpc.V2
		if bare {
			d = jsonrpc.Bare
		}
		e, out := serveFrames(t, d, bytes.NewReader(input))
		if _, again := serveFrames(t, d, iotest.OneByteReader(bytes.NewReader(input))); !bytes.Equal(out, again) {
			t.Errorf("in pieces it says\n%s\nnot\n%s", again, out)
		}
		lines := 0
		for line := range bytes.Lines(input) {
			if len(bytes.TrimSpace(line)) > 0 || len(bytes.TrimSuffix(line, []byte("\n"))) > fuzzFrame {
				lines++
			}
		}
		said, results := 0, 0
		for line := range bytes.Lines(out) {
			said++
			if checkFrame(t, d, line) {
				results++
			}
		}
		if results != e.requests || said+e.notifications > lines {
			t.Errorf(
				"%d lines, %d requests, %d notifications: %d answers, %d of them results", lines, e.requests,
				e.notifications, said, results,
			)
		}
		if e2, echoed := serveFrames(t, d, bytes.NewReader(out)); e2.requests+e2.notifications > 0 ||
			len(echoed) > 0 && len(bytes.TrimSpace(out)) < fuzzFrame {
			t.Errorf("its answers were answered: %s", echoed)
		}
	})
}

// checkFrame checks a line that went out, and reports whether it is a result.
func checkFrame(t *testing.T, d jsonrpc.Dialect, line []byte) bool {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(line, &m); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
		t.Fatalf("%q: %v", line, err)
	}
	if _, marked := m["jsonrpc"]; marked != (d == jsonrpc.V2) || m["id"] == nil ||
		bytes.ContainsAny(line, "\u2028\u2029") {
		t.Errorf("not of the dialect: %s", line)
	}
	_, isResult := m["result"]
	_, isError := m["error"]
	if isResult == isError {
		t.Errorf("neither a result nor an error, or both: %s", line)
	}
	return isResult
}
