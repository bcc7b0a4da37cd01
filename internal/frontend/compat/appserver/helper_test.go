package appserver

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/rpc"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/script"
)

// client is a client of a server that runs in the test.
type client struct {
	*clienttest.Peer
	model *script.Model
	stops chan stdio.Stop
	block func() // called wherever settings are read; may be nil
}

// start runs a server on a new data directory, and greets it.
func start(t *testing.T, m *script.Model, change ...func(*Options)) *client {
	t.Helper()
	c := serve(t, m, t.TempDir(), change...)
	c.Must("initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}})
	return c
}

func serve(t *testing.T, m *script.Model, data string, change ...func(*Options)) *client {
	t.Helper()
	c := &client{model: m, stops: make(chan stdio.Stop, 4)}
	p := clienttest.Place{Data: data, Dir: t.TempDir()}
	o := Options{DataDir: data, Options: rpc.Options{
		Sessions: p.Sessions(
			m, "app-server",
		), Dir: p.Dir, Version: "test", Stops: c.stops, CloseTimeout: clienttest.CloseTimeout,
	}}
	settings := o.Sessions.Settings
	o.Sessions.Settings = func(dir string, given map[string]string) (*config.Resolved, error) {
		if c.block != nil {
			c.block()
		}
		return settings(dir, given)
	}
	for _, f := range change {
		f(&o)
	}
	c.Peer = clienttest.Serve(t, p, jsonrpc.Bare, func(in io.Reader, out io.Writer) error {
		o.In, o.Out = in, out
		_, err := Serve(context.Background(), o)
		return err
	})
	c.answer(nil)
	return c
}

// answer has every approval request answered with the decision; nil leaves it open.
func (c *client) answer(decision any) {
	for _, method := range []string{"item/commandExecution/requestApproval", "item/fileChange/requestApproval"} {
		c.Answer(method, func(json.RawMessage) (any, error) {
			if decision == nil {
				return nil, nil
			}
			return map[string]any{"decision": decision}, nil
		})
	}
}

// refuse calls a method that must fail with the code and the words.
func (c *client) refuse(code int, words, method string, params any) {
	c.Helper()
	if said := c.Refused(code, method, params); !strings.Contains(said, words) {
		c.Errorf("%s: %q; want %q", method, said, words)
	}
}

// thread starts a thread in which everything may run, unless more says otherwise.
func (c *client) thread(more ...map[string]any) string {
	c.Helper()
	p := map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"}
	for _, m := range more {
		for name, value := range m {
			p[name] = value
		}
	}
	return field(c, c.Must("thread/start", p), "thread.id").(string)
}

// turn sends an input to the thread, and returns the turn's id.
func (c *client) turn(thread, text string, more ...map[string]any) string {
	c.Helper()
	p := map[string]any{"threadId": thread, "input": say(text)}
	for _, m := range more {
		for name, value := range m {
			p[name] = value
		}
	}
	return field(c, c.Must("turn/start", p), "turn.id").(string)
}

func say(text string) []any { return []any{map[string]any{"type": "text", "text": text}} }

// field returns a field of an answer by its path.
func field(c *client, v any, path string) any {
	c.Helper()
	for name := range strings.SplitSeq(path, ".") {
		m, ok := v.(map[string]any)
		if !ok {
			c.Fatalf("there is no %q in %v", path, v)
		}
		v = m[name]
	}
	return v
}

func (c *client) diff(what string, want, got any) {
	c.Helper()
	if d := cmp.Diff(want, got); d != "" {
		c.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// methods returns, in order, the methods of the received messages that are in the list of.
func (c *client) methods(of ...string) []string {
	var out []string
	for _, line := range c.Lines() {
		var m struct{ Method string }
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.Fatal(err)
		}
		for _, method := range of {
			if m.Method == method {
				out = append(out, m.Method)
			}
		}
	}
	return out
}

// file writes a file into the working directory.
func (c *client) file(name, text string) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
}
