package acp_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model/script"
)

// FuzzClient is a client that says anything: "$S" is the id of a session that is
// open. Each of its requests is answered, once, and the server ends well.
func FuzzClient(f *testing.F) {
	prompt := `{"id":1,"method":"session/prompt","params":{"sessionId":"$S","prompt":[{"type":"text","text":"go"}]}}` + "\n"
	cancel := `{"method":"session/cancel","params":{"sessionId":"$S"}}` + "\n"
	for _, seed := range []string{
		prompt + cancel,
		prompt + strings.ReplaceAll(prompt, `"id":1`, `"id":"b"`) + `{"method":"$/cancel_request","params":{"requestId":"b"}}` + "\n" + cancel,
		`{"id":1,"method":"session/close","params":{"sessionId":"$S"}}` + "\n" + strings.ReplaceAll(prompt, `"id":1`, `"id":2`),
		`{"id":1,"method":"session/load","params":{"sessionId":"$S","cwd":"/","mcpServers":[]}}` + "\n" + `{"id":2,"method":"session/list"}` + "\n" + `{"id":3,"method":"initialize","params":{"clientCapabilities":{"fs":null}}}`,
		`{"id":1,"method":"session/set_mode","params":{"sessionId":"$S","modeId":"allow"}}` + "\n" + `{"id":2,"method":"session/set_config_option","params":{"sessionId":"$S","configId":"effort","value":"low"}}`,
		`{"id":1,"method":"session/new","params":{"cwd":"/nowhere"}}` + "\n" + `{"id":2,"method":"session/prompt","params":{"prompt":[null,{}]}}` + "\n" + `{"id":3,"method":"authenticate"}`,
		strings.ReplaceAll(prompt, `"id":1`, "\"id\":\"\xff\""),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		if len(said) > 4<<10 || namesServers(said) {
			return
		}
		c := start(t, script.New().Otherwise(script.Turn(script.Text("ok"), script.Call("list", `{}`))))
		session := c.open()
		c.Forget()
		said = bytes.ReplaceAll(said, []byte("$S"), []byte(session))
		want := map[string]bool{}
		for line := range bytes.Lines(said) {
			var m map[string]json.RawMessage
			if json.Unmarshal(line, &m) == nil && m["id"] != nil && string(m["id"]) != "null" {
				want[strings.ToValidUTF8(string(m["id"]), "\uFFFD")] = m["method"] != nil // the id as valid text
			}
		}
		if _, err := c.In.Write(append(said, '\n')); err != nil {
			t.Fatal(err)
		}
		c.End()
		answered := map[string]int{}
		for _, line := range c.Lines() {
			var m struct {
				ID     json.RawMessage
				Method string
				Error  *jsonrpc.Error
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			if m.Method == "" && string(m.ID) != "null" {
				answered[string(m.ID)]++
			}
		}
		for id := range answered {
			if _, came := want[id]; !came {
				t.Errorf("there was no request %s:\n%s", id, strings.Join(c.Lines(), "\n"))
			}
		}
		for id, request := range want {
			if request && answered[id] == 0 && bytes.Count(bytes.ToValidUTF8(said, []byte("\uFFFD")), []byte(id)) == 1 {
				t.Errorf("request %s was not answered", id)
			}
		}
	})
}

// namesServers reports whether a request names MCP servers, which may be any
// command.
func namesServers(said []byte) bool {
	for line := range bytes.Lines(said) {
		var m struct {
			Params struct{ MCPServers []json.RawMessage }
		}
		if err := json.Unmarshal(bytes.ToValidUTF8(line, []byte("\uFFFD")), &m); len(m.Params.MCPServers) > 0 ||
			err != nil && bytes.Contains(bytes.ToLower(line), []byte("servers")) {
			return true
		}
	}
	return false
}
