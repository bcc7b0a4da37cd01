package mcp

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/tool"
)

// Every message of a server is read or refused, and affects no session.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"$ref":"#/y"}}}}],"nextCursor":"c"}}`,
		`{"jsonrpc":"2.0","id":"1","result":{"content":[{"type":"text","text":"x"},{"type":"image","data":"AA==","mimeType":"image/png"},{"type":"resource","resource":{"uri":"a:b","blob":"!"}}],"isError":true}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"1","progress":1e400,"total":0}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`[{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"no"}},{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{}}]`,
		`[]`, `[[]]`, `null`, `{"jsonrpc":"1.0"}`, `{"id":null,"jsonrpc":"2.0"}`, `"x"`,
		`{"jsonrpc":"2.0","id":1.5,"result":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if len(line) == 0 {
			return // skipped earlier
		}
		messages, err := decode(line)
		if err == nil && len(messages) == 0 {
			t.Fatal("nothing was read, and nothing is wrong")
		}
		var guard filter
		guard.onProgress(func(p *sdk.ProgressNotificationParams) { (&client{}).progressed(p) })
		for _, m := range messages {
			if _, err := guard.admit(m); err != nil {
				return
			}
			if answer, ok := m.(*jsonrpc.Response); ok {
				render(answer.Result)
			}
		}
		r := NewRelay(nil)
		c := r.connect()
		r.Deliver(line)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// render interprets an answer as a list of tools, and as the result of a call.
func render(raw json.RawMessage) {
	var list sdk.ListToolsResult
	if json.Unmarshal(raw, &list) == nil {
		for _, t := range list.Tools {
			if t != nil {
				schema, _ := offeredSchema(toolOf(t).Schema)
				_ = plainNames(schema)
			}
		}
	}
	var result sdk.CallToolResult
	if json.Unmarshal(raw, &result) == nil {
		_, _ = (&Servers{}).rendered(tool.Call{ID: "c"}, &result)
	}
}
