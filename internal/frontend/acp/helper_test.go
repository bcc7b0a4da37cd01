package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/internal/client/rpc"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/frontend/acp"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/script"
)

// client is a client of a server that runs in the test.
type client struct {
	*clienttest.Peer
	hosts *assemble.Sessions
	model *script.Model
	stops chan stdio.Stop
	notes []string // to the person who started it
}

// start runs a server on a new data directory.
func start(t *testing.T, m *script.Model) *client {
	t.Helper()
	return startIn(t, m, clienttest.NewPlace(t))
}

func startIn(t *testing.T, m *script.Model, p clienttest.Place) *client {
	t.Helper()
	c := &client{model: m, hosts: p.Sessions(m, "acp"), stops: make(chan stdio.Stop, 4)}
	c.Peer = clienttest.Serve(t, p, jsonrpc.V2, func(in io.Reader, out io.Writer) error {
		return acp.Serve(context.Background(), rpc.Options{
			In: in, Out: out, Sessions: c.hosts, Dir: p.Dir, Version: "test", Stops: c.stops, CloseTimeout: clienttest.CloseTimeout,
			Say: func(err error) { c.notes = append(c.notes, err.Error()) },
		})
	})
	return c
}

func wait[T any](c *client, ch <-chan T) T {
	c.Helper()
	return clienttest.Wait(c.Peer, ch)
}

// seen waits for a line that contains the text.
func (c *client) seen(text string) {
	c.Helper()
	c.Seen(text, 1)
}

type object = map[string]any

func text(s string) []object { return []object{{"type": "text", "text": s}} }

// open makes a session.
func (c *client) open() string {
	c.Helper()
	return c.Must("session/new", object{"cwd": c.Dir, "mcpServers": []any{}})["sessionId"].(string)
}

// prompt sends a prompt; the channel gets its stop reason, or the error.
func (c *client) prompt(session, words string) <-chan string {
	c.Helper()
	return c.outcome(c.Send("session/prompt", object{"sessionId": session, "prompt": text(words)}))
}

func (c *client) outcome(sent *jsonrpc.Outgoing) <-chan string {
	ended := make(chan string, 1)
	go func() { // ends with the connection
		var got struct{ StopReason string }
		if err := sent.Wait(context.Background(), &got); err != nil {
			ended <- err.Error()
			return
		}
		ended <- got.StopReason
	}()
	return ended
}

// accepted waits until the session has so many inputs.
func (c *client) accepted(session string, n int) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), clienttest.Patience)
	defer cancel()
	for e, err := range c.hosts.Get(session).Events(ctx, 0) {
		if err != nil {
			c.Fatal(err)
		}
		if _, ok := e.Data.(event.InputAccepted); ok {
			n--
		}
		if n == 0 {
			return
		}
	}
	c.Fatal("the session ended")
}

func (c *client) cancel(session string) {
	c.Helper()
	c.Notify("session/cancel", object{"sessionId": session})
}

// choose answers every request for permission with an option.
func (c *client) choose(option string) {
	c.Answer("session/request_permission", func(json.RawMessage) (any, error) {
		return object{"outcome": object{"outcome": "selected", "optionId": option}}, nil
	})
}

// story returns the messages that the client received, as short lines, without the commands that
// each session has.
func (c *client) story() (out []string) {
	c.Helper()
	for _, line := range c.Lines() {
		var m struct {
			ID     *int
			Method string
			Params struct {
				Update   map[string]any
				ToolCall map[string]any
				Path     string
				Content  string
			}
			Result map[string]any
			Error  map[string]any
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			c.Fatalf("%s: %v", line, err)
		}
		switch {
		case m.Params.Update["sessionUpdate"] == "available_commands_update":
		case m.Method == "session/update":
			out = append(out, tell(m.Params.Update))
			out = joined(out)
		case m.Method == "session/request_permission":
			out = append(out, "may it? "+tell(m.Params.ToolCall))
		case m.Method != "":
			out = append(out, m.Method+" "+filepath.Base(m.Params.Path)+" "+m.Params.Content)
		case m.Error != nil:
			out = append(out, fmt.Sprintf("error: %v", m.Error["message"]))
		case m.Result["stopReason"] != nil:
			out = append(out, fmt.Sprintf("end: %v", m.Result["stopReason"]))
		}
	}
	return out
}

// joined puts the last two lines together if they are pieces of one text.
func joined(lines []string) []string {
	n := len(lines)
	if n < 2 {
		return lines
	}
	before, after := strings.TrimSuffix(lines[n-2], `"`), lines[n-1]
	kind, text, _ := strings.Cut(after, ` "`)
	if !strings.HasSuffix(kind, "_chunk") || !strings.HasPrefix(before, kind+` "`) {
		return lines
	}
	return append(lines[:n-2], before+text)
}

// tell is an update in a short line.
func tell(u map[string]any) string {
	words := []string{}
	for _, key := range []string{"sessionUpdate", "toolCallId", "kind", "status", "title", "currentModeId"} {
		if word, ok := u[key].(string); ok {
			words = append(words, word)
		}
	}
	for _, l := range list(u["locations"]) {
		words = append(words, "at "+filepath.Base(fmt.Sprint(l["path"])))
	}
	for _, e := range list(u["entries"]) {
		words = append(words, fmt.Sprintf("%v %q", e["status"], e["content"]))
	}
	contents := list(u["content"])
	if one, ok := u["content"].(map[string]any); ok {
		contents = []map[string]any{one}
	}
	for _, b := range contents {
		if inner, ok := b["content"].(map[string]any); ok {
			b = inner
		}
		switch b["type"] {
		case "diff":
			old := "none"
			if b["oldText"] != nil {
				old = fmt.Sprintf("%q", b["oldText"])
			}
			words = append(words, fmt.Sprintf("diff %s → %q", old, b["newText"]))
		case "terminal":
			words = append(words, fmt.Sprintf("terminal %v", b["terminalId"]))
		default:
			words = append(words, fmt.Sprintf("%q", b["text"]))
		}
	}
	return strings.Join(words, " ")
}

func list(v any) (out []map[string]any) {
	all, _ := v.([]any)
	for _, one := range all {
		if m, ok := one.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// tells compares the story with the expected one.
func (c *client) tells(want ...string) {
	c.Helper()
	if diff := cmp.Diff(want, c.story()); diff != "" {
		c.Errorf("(-want +got):\n%s", diff)
	}
}
