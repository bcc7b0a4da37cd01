package execserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
)

// fuzzPatience bounds the wait for an answer.
const fuzzPatience = time.Minute

// tape is a client that sends its messages, reads the responses, and leaves when it has as many as
// it expects. It implements carrier.
type tape struct {
	messages [][]byte
	expected int
	enough   chan struct{} // closed when it has them

	mu      sync.Mutex // guards the rest
	answers [][]byte
}

// Read implements carrier.
func (c *tape) Read(ctx context.Context) ([]byte, error) {
	if len(c.messages) > 0 {
		next := c.messages[0]
		c.messages = c.messages[1:]
		return next, nil
	}
	select {
	case <-c.enough:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements carrier.
func (c *tape) Write(_ context.Context, message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers = append(c.answers, bytes.Clone(message)); len(c.answers) == c.expected {
		close(c.enough)
	}
	return nil
}

// Ping implements carrier.
func (c *tape) Ping(context.Context) error { return nil }

// Close implements carrier.
func (c *tape) Close(string) {}

// No message of a client causes a panic, and every request gets one answer or one error, under its
// id. A message that cannot be read gets an error without an id.
func FuzzMessages(f *testing.F) {
	for _, text := range []string{
		`{"id":1,"method":"environment/info"}`, `{"id":"1","method":"environment/status","params":{}}`, "{\"id\":1}\n{}", "[]", "null", `{"id":1.5,"method":"x"}`, `{"id":{},"method":"x"}`,
		`{"id":7,"method":"process/start","params":{"processId":"p","argv":["sh","-c","exit 0"],"cwd":"file:///","tty":true,"pipeStdin":true,"env":{"A":"b"},"envPolicy":{"inherit":"core","exclude":["A*"]}}}`,
		`{"id":7,"method":"process/start","params":{"processId":"p","argv":["x"],"cwd":"file:///a%2Fb","sandbox":{"permissions":{"type":"managed","network":"restricted","file_system":{"type":"restricted","entries":[{"path":{"type":"special","value":{"kind":"project_roots","subpath":"x"}},"access":"write"}]}},"cwd":"file:///w"}}}`,
		`{"id":8,"method":"process/read","params":{"processId":"p","afterSeq":18446744073709551615,"maxBytes":-1,"waitMs":-1}}` + "\n" + `{"id":8,"method":"process/write","params":{"processId":"p","chunk":"eA==","writeId":"1"}}`,
		`{"id":9,"method":"process/signal","params":{"processId":"p","signal":"interrupt"}}` + "\n" + `{"id":9,"method":"process/terminate","params":{"processId":"p"}}`,
		`{"id":1,"method":"fs/writeFile","params":{"path":"file:///a","dataBase64":"eA=="}}` + "\n" + `{"id":2,"method":"fs/open","params":{"path":"file:///a","handleId":"h"}}` + "\n" + `{"id":3,"method":"fs/readBlock","params":{"handleId":"h","offset":9223372036854775807,"len":16777216}}` + "\n" + `{"id":4,"method":"fs/close","params":{"handleId":"h"}}`,
		`{"id":1,"method":"fs/createDirectory","params":{"path":"file:///d/e","recursive":true}}` + "\n" + `{"id":2,"method":"fs/copy","params":{"sourcePath":"file:///d","destinationPath":"file:///d/e/f","recursive":true}}` + "\n" + `{"id":3,"method":"fs/walk","params":{"path":"file:///","options":{"maxDepth":-1,"maxEntries":0}}}` + "\n" + `{"id":4,"method":"fs/remove","params":{"path":"file:///","recursive":true,"force":true}}`,
		`{"id":1,"method":"fs/readDirectory","params":{"path":"file:///"}}` + "\n" + `{"id":2,"method":"fs/getMetadata","params":{"path":"file:///x"}}` + "\n" + `{"id":3,"method":"fs/canonicalize","params":{"path":"file:///x/.."}}` + "\n" + `{"id":4,"method":"fs/readFile","params":{"path":null}}`,
		`{"id":1,"method":"initialize","params":{"clientName":"x","resumeSessionId":"y"}}`, `{"method":"initialized"}`, `{"method":"exit"}`, `{"ID":1,"Method":"environment/status","PARAMS":[]}`, `{"id":"<\u0000","method":""}`,
	} {
		f.Add(text, true)
		f.Add(text, false)
	}
	f.Fuzz(func(t *testing.T, text string, greeted bool) {
		messages, want, breaks := script(text, greeted)
		s := harmless(t)
		c := &tape{messages: messages, enough: make(chan struct{})}
		for _, n := range want {
			c.expected += n
		}
		if c.expected == 0 {
			close(c.enough)
		}
		ctx, cancel := context.WithTimeout(t.Context(), fuzzPatience)
		defer cancel()
		if err := s.serve(ctx, c); err != nil {
			t.Fatalf("%v, with %d of %d answers to %q", err, len(c.answers), c.expected, text)
		}
		got := map[string]int{}
		for _, answer := range c.answers {
			got[answered(t, answer)]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: answers by id (-want +got):\n%s", text, diff)
		}
		if breaks == nil {
			return
		}
		if err := s.serve(ctx, &tape{messages: [][]byte{breaks}, enough: make(chan struct{})}); err == nil ||
			errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%q: %v", breaks, err)
		}
	})
}

// script returns the messages of a text, a line each, with the number of answers that each id must
// get. A message that ends a connection ends the list, and is returned by itself.
func script(text string, greeted bool) (messages [][]byte, want map[string]int, breaks []byte) {
	want = map[string]int{}
	if greeted {
		messages = [][]byte{
			[]byte(`{"id":"hello","method":"initialize","params":{"clientName":"fuzz"}}`),
			[]byte(`{"method":"initialized"}`),
		}
		want["hello"]++
	}
	for _, line := range strings.Split(text, "\n") {
		m, what, err := parse([]byte(line))
		switch {
		case err != nil:
			want[noID]++
		case what == request:
			want[idOf(m.ID)]++
		case what == response || *m.Method != "initialized":
			return messages, want, []byte(line)
		case !greeted: // it may be too early for that
			return messages, want, nil
		}
		messages = append(messages, []byte(line))
	}
	return messages, want, nil
}

// idOf returns the value of an id that is a string or a number.
func idOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var n int64
	_ = json.Unmarshal(raw, &n) // it is one of both
	return fmt.Sprint(n)
}

// answered returns the id that an answer is for.
func answered(t *testing.T, raw []byte) string {
	t.Helper()
	var a struct {
		ID            json.RawMessage
		Result, Error *json.RawMessage
	}
	if err := json.Unmarshal(raw, &a); err != nil || a.ID == nil || (a.Result == nil) == (a.Error == nil) {
		t.Fatalf("%v: the answer %q", err, raw)
	}
	return idOf(a.ID)
}

// harmless returns a server that starts nothing, and has no files except a temporary folder: paths
// lead there, and its own sandbox confines them.
func harmless(t *testing.T) *Server {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Dir: dir, TempDir: dir, ResumeTimeout: -1})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), fuzzPatience)
		defer cancel()
		if err := s.Close(ctx, event.Shutdown, "test"); err != nil {
			t.Error(err)
		}
	})
	var inside *sandboxContext
	text := fmt.Sprintf(
		`{"permissions":{"type":"managed","network":"restricted","file_system":{"type":"restricted","entries":[{"path":{"type":"path","path":%q},"access":"write"}]}}}`,
		dir,
	)
	if err := json.Unmarshal([]byte(text), &inside); err != nil {
		t.Fatal(err)
	}
	confine := func(from **sandboxContext, paths ...*place) {
		_, _ = s.rights(*from) // which is read all the same
		*from = inside
		for _, p := range paths {
			if *p != "" {
				*p = place(filepath.Join(dir, string(*p)))
			}
		}
	}
	files := func(p *fileParams) { confine(&p.Sandbox, &p.Path) }
	for name, m := range map[string]method{
		"fs/readFile":        instead((*conn).readFile, files),
		"fs/getMetadata":     instead((*conn).getMetadata, files),
		"fs/canonicalize":    instead((*conn).canonicalize, files),
		"fs/readDirectory":   instead((*conn).readDirectory, files),
		"fs/writeFile":       instead((*conn).writeFile, func(p *writeFileParams) { files(&p.fileParams) }),
		"fs/open":            instead((*conn).openFile, func(p *openParams) { files(&p.fileParams) }),
		"fs/createDirectory": instead((*conn).createDirectory, func(p *directoryParams) { files(&p.fileParams) }),
		"fs/walk":            instead((*conn).walk, func(p *walkParams) { files(&p.fileParams) }),
		"fs/remove":          instead((*conn).remove, func(p *removeParams) { files(&p.fileParams) }),
		"fs/copy":            instead((*conn).copy, func(p *copyParams) { confine(&p.Sandbox, &p.Source, &p.Destination) }),
		"process/start": instead((*conn).start, func(p *startParams) {
			if len(p.Argv) > 0 && p.Argv[0] != "" {
				p.Argv[0] = filepath.Join(dir, "no", "such", "program")
			}
		}),
	} {
		if s.methods[name] == nil {
			t.Fatalf("there is no %s", name)
		}
		s.methods[name] = m
	}
	return s
}

// instead is a method whose parameters are changed before it does anything.
func instead[P any](do func(c *conn, ctx context.Context, params P) (any, error), change func(*P)) method {
	return of(func(c *conn, ctx context.Context, params P) (any, error) {
		change(&params)
		return do(c, ctx, params)
	})
}
