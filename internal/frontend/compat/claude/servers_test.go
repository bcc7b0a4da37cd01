package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// answerServer answers the requests to a server that runs in the client, until a message of the
// kind arrives. answers has the response for each method.
func (s *served) answerServer(kind string, answers map[string]string) (out []map[string]any) {
	s.Helper()
	for {
		m, ok := <-s.output
		if !ok {
			s.Fatalf("no %s came; stderr:\n%s", kind, s.errors())
		}
		out = append(out, m)
		request, _ := m["request"].(map[string]any)
		if is(m, kind) && request["subtype"] != "mcp_message" {
			return out
		}
		if request["subtype"] != "mcp_message" {
			continue
		}
		raw, err := json.Marshal(request["message"])
		if err != nil {
			s.Fatal(err)
		}
		var message struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(raw, &message); err != nil {
			s.Fatal(err)
		}
		answer, known := answers[message.Method]
		switch {
		case message.ID == nil:
			answer = `{"jsonrpc":"2.0","result":{},"id":0}` // as the SDK does
		case !known:
			answer = fmt.Sprintf(
				`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, message.ID,
			)
		default:
			answer = strings.ReplaceAll(answer, "ID", string(message.ID))
		}
		s.say(
			fmt.Sprintf(
				`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"mcp_response":%s}}}`,
				m["request_id"], answer,
			),
		)
	}
}

// usual returns the responses of a server with one tool.
func usual() map[string]string {
	return map[string]string{
		"initialize": `{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"mine","version":"1"}}}`,
		"tools/list": `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"add","description":"Adds","inputSchema":{"type":"object"}}]}}`,
		"tools/call": `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"sum 42"}]}}`,
	}
}

// A server that runs in the client is called by messages, and its tools are known to
// the first request. A prompt that comes at once waits for that.
func TestServerInTheClient(t *testing.T) {
	for name, c := range map[string]struct {
		answer, want string
	}{
		"answers":       {usual()["tools/call"], "sum 42"},
		"refuses":       {`{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"two numbers, please"}}`, "two numbers, please"},
		"answers twice": {`[{"jsonrpc":"2.0","id":ID,"result":{"content":[]}},{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}]`, ""},
		"mistakes it":   {`{"jsonrpc":"2.0","id":99999,"result":{"content":[]}}`, "the answer to something else"},
		"is not JSON":   {`"what?"`, "cannot read a message"},
		"says nothing":  {`null`, "cannot read a message"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(
				t,
				func(c *Config) { c.Mode = modeBypass },
				script.Call("mine__add", `{"a":20,"b":22}`),
				script.Text("done"),
			)
			s.say(
				control("1", `{"subtype":"initialize","sdkMcpServers":["mine"]}`),
				user("go", "11111111-1111-4111-8111-111111111111"),
			)
			answers := usual()
			answers["tools/call"] = c.answer
			all := s.answerServer("result", answers)
			text := fmt.Sprint(all)
			for _, want := range []string{"mcp__mine__add", c.want, "connected"} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in what was said: %.3000s", want, text)
				}
			}
		})
	}
}

// Servers that are no client's own come with the same request.
func TestServersOfInitialize(t *testing.T) {
	s := serve(t, nil, script.Text("done"))
	s.say(
		control(
			"1",
			`{"subtype":"initialize","mcpServers":{"here":{"command":"/nowhere/server"},"old":{"type":"sse","url":"https://x"}}}`,
		),
		user("go", "11111111-1111-4111-8111-111111111111"),
	)
	all := fmt.Sprint(s.until("result"))
	for _, want := range []string{"mcp_servers_applied:true", "name:here", "\"old\" is not used", "tool_search"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in what was said: %.3000s", want, all)
		}
	}
	s.say(
		control("2", `{"subtype":"mcp_set_servers","servers":{"late":{"command":"x"}}}`),
		control("3", `{"subtype":"mcp_message","server_name":"none","message":{}}`),
	)
	for _, want := range []string{"keep the MCP servers", `there is no MCP server "none"`} {
		if got := fmt.Sprint(s.until("control_response")); !strings.Contains(got, want) {
			t.Errorf("%q is not in %s", want, got)
		}
	}
}

// A server that does not list its tools costs only its tools, and the end of the input ends the
// wait.
func TestServerInTheClientThatIsSilent(t *testing.T) {
	s := serve(t, nil, script.Text("done"))
	s.say(
		control("1", `{"subtype":"initialize","sdkMcpServers":["mine"]}`),
		user("go", "11111111-1111-4111-8111-111111111111"),
	)
	s.until("control_request")
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint(s.until("result"))
	if !strings.Contains(s.errors(), "did not say which tools it has") || !strings.Contains(all, "done") {
		t.Errorf("stderr %q, and said %s", s.errors(), all)
	}
}

// A server that is disabled is ended, and the next turn has its tools no more; it comes
// back, with a new connection, where it is enabled.
func TestToggleServer(t *testing.T) {
	m := script.New(
		script.Turn(script.Call("mine__add", `{"a":1,"b":2}`)), script.Turn(script.Text("first")),
		script.Turn(script.Call("mine__add", `{"a":1,"b":2}`)), script.Turn(script.Text("second")),
		script.Turn(script.Call("mine__add", `{"a":1,"b":2}`)), script.Turn(script.Text("third")),
	)
	s := serveModel(t, func(c *Config) { c.Mode = modeBypass }, m)
	answers := usual()
	s.say(
		control("1", `{"subtype":"initialize","sdkMcpServers":["mine"]}`),
		user("go", "11111111-1111-4111-8111-111111111111"),
	)
	if all := fmt.Sprint(s.answerServer("result", answers)); !strings.Contains(all, "sum 42") {
		t.Errorf("the first call: %.3000s", all)
	}
	asked := func(id, request, want string) {
		t.Helper()
		s.say(control(id, request))
		all := s.answerServer("control_response", answers)
		if got := fmt.Sprint(all[len(all)-1]); !strings.Contains(got, want) {
			t.Errorf("%s: %s; want %q", request, got, want)
		}
	}
	asked("2", `{"subtype":"mcp_toggle","serverName":"none","enabled":false}`, `there is no MCP server "none"`)
	asked("3", `{"subtype":"mcp_reconnect","serverName":"none"}`, `there is no MCP server "none"`)
	asked("4", `{"subtype":"mcp_toggle","serverName":"mine","enabled":false}`, "subtype:success")
	asked("5", `{"subtype":"mcp_status"}`, "status:disabled")
	asked("6", `{"subtype":"mcp_reconnect","serverName":"mine"}`, "is disabled")
	s.say(user("go", "22222222-2222-4222-8222-222222222222"))
	if all := fmt.Sprint(s.answerServer("result", answers)); !strings.Contains(all, `there is no tool "mine__add"`) {
		t.Errorf("the call while it is disabled: %.3000s", all)
	}
	asked("7", `{"subtype":"mcp_toggle","serverName":"mine","enabled":true}`, "subtype:success")
	asked("8", `{"subtype":"mcp_reconnect","serverName":"mine"}`, "subtype:success")
	asked("9", `{"subtype":"mcp_status"}`, "status:connected")
	s.say(user("go", "33333333-3333-4333-8333-333333333333"))
	if all := fmt.Sprint(s.answerServer("result", answers)); !strings.Contains(all, "sum 42") {
		t.Errorf("the call after that: %.3000s", all)
	}
	answers["initialize"] = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"out of order"}}`
	asked("10", `{"subtype":"mcp_reconnect","serverName":"mine"}`, `cannot start the MCP server "mine"`)

	var offered []bool
	for _, r := range m.Requests() {
		offered = append(
			offered, slices.ContainsFunc(r.Tools, func(spec model.ToolSpec) bool { return spec.Name == "mine__add" }),
		)
	}
	if diff := cmp.Diff([]bool{true, true, false, false, true, true}, offered); diff != "" {
		t.Errorf("requests with its tool (-want +got):\n%s", diff)
	}
}
