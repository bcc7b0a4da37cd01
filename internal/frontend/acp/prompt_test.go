package acp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

func TestPrompt(t *testing.T) {
	c := start(t, script.New(
		script.Turn(
			script.Reasoning("hm"),
			script.Text("I wr", "ite."),
			script.Call("write", `{"path":"a.txt","content":"one\ntwo\n"}`),
		),
		script.Call("edit", `{"path":"a.txt","old_string":"two","new_string":"2"}`),
		script.Call("read", `{"path":"no.txt"}`),
		script.Text("Done."),
	))
	c.choose("allow")
	session := c.open()
	c.Forget()
	if got := wait(c, c.prompt(session, "write")); got != "end_turn" {
		t.Errorf("ended with %q", got)
	}
	c.tells(
		"session_info_update write",
		`agent_thought_chunk "hm"`,
		`agent_message_chunk "I write."`,
		"tool_call i000003 edit pending write",
		"tool_call_update i000003 at a.txt",
		`may it? i000003 edit pending write a.txt at a.txt diff none → "one\ntwo\n" `+"\"```\\nwrite\\n  create a.txt:\\n      --- /dev/null\\n      +++ b/a.txt\\n      @@ -0,0 +1,2 @@\\n      +one\\n      +two\\n\\nAllowing it for the session also allows every later change of this file.\\n```\"",
		"tool_call_update i000003 in_progress write a.txt",
		`tool_call_update i000003 completed at a.txt diff none → "one\ntwo\n"`,
		"tool_call i000004 edit pending edit",
		"tool_call_update i000004 at a.txt",
		`may it? i000004 edit pending edit a.txt at a.txt diff "one\ntwo\n" → "one\n2\n" `+"\"```\\nedit\\n  update a.txt:\\n      --- a/a.txt\\n      +++ b/a.txt\\n      @@ -1,2 +1,2 @@\\n       one\\n      -two\\n      +2\\n\\nAllowing it for the session also allows every later change of this file.\\n```\"",
		"tool_call_update i000004 in_progress edit a.txt",
		`tool_call_update i000004 completed at a.txt diff "one\ntwo\n" → "one\n2\n"`,
		"tool_call i000005 read pending read",
		"tool_call_update i000005 at no.txt",
		"tool_call_update i000005 in_progress read no.txt",
		"tool_call_update i000005 failed \"```\\nthere is no file \\\"no.txt\\\"; there is \\\"a.txt\\\"\\n```\"",
		`agent_message_chunk "Done."`,
		"end: end_turn",
	)
	if got, err := os.ReadFile(filepath.Join(c.Dir, "a.txt")); string(got) != "one\n2\n" {
		t.Errorf("a.txt: %q, %v", got, err)
	}
}

func TestEndsOfTurns(t *testing.T) {
	refused := &model.Error{Kind: model.ErrInvalid, Status: 400, Message: "no such model"}
	tests := []struct {
		name string
		step script.Step
		want string
	}{
		{"completed", script.Text("ok"), "end_turn"},
		{
			"cut again and again",
			script.Turn(script.Text("o"), script.Stop(model.StopMaxTokens)),
			"The turn failed: the model's answer was cut at its output limit 4 times in a row (-32603)",
		},
		{
			"refused by the model",
			script.Turn(script.Text("no"), script.Stop(model.StopRefusal)),
			`The turn failed: the model stopped with "refusal": it or its provider refuses to continue (-32603)`,
		},
		{"failed", script.Fail(refused), "The turn failed: 400 invalid_request: no such model (-32603)"},
		{"limited", script.Call("list", `{}`), "max_turn_requests"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := start(t, script.New().Otherwise(test.step))
			if got := wait(c, c.prompt(c.open(), "go")); got != test.want {
				t.Errorf("ended with %q, want %q\n%s", got, test.want, strings.Join(c.story(), "\n"))
			}
			story := c.story()
			if last := story[len(story)-1]; !strings.HasPrefix(last, "end: ") && !strings.HasPrefix(last, "error: ") {
				t.Errorf("something came after the answer: %q", last)
			}
		})
	}
}

// The error says more for programs.
func TestFailureHasData(t *testing.T) {
	c := start(t, script.New(script.Fail(&model.Error{Kind: model.ErrAuth, Status: 401, Message: "bad key"})))
	_, err := c.Call("session/prompt", object{"sessionId": c.open(), "prompt": text("go")})
	refused, ok := err.(*jsonrpc.Error) //nolint:errorlint // it is answered as it is
	if !ok {
		t.Fatal(err)
	}
	var data struct {
		Turn  string
		Error struct {
			Name   string
			Status int
		}
	}
	if err := json.Unmarshal(refused.Data, &data); err != nil || data.Turn != "t000001" || data.Error.Status != 401 ||
		data.Error.Name == "" {
		t.Errorf("data %s: %v", refused.Data, err)
	}
}

func TestRetryIsShown(t *testing.T) {
	c := start(
		t,
		script.New(
			script.Turn(
				script.Text("Hel"),
				script.Fail(&model.Error{Kind: model.ErrOverloaded, Status: 529, Message: "busy"}),
			),
			script.Text("Hello."),
		),
	)
	if got := wait(c, c.prompt(c.open(), "go")); got != "end_turn" {
		t.Errorf("ended with %q", got)
	}
	if story := strings.Join(c.story(), "\n"); !strings.Contains(story, "[settle] The model's response failed: ") ||
		!strings.Contains(story, "asking again in") {
		t.Error(story)
	}
}

func TestBlocks(t *testing.T) {
	c := start(t, script.New().Otherwise(script.Text("ok")))
	session := c.open()
	send := func(blocks ...object) error {
		_, err := c.Call("session/prompt", object{"sessionId": session, "prompt": blocks})
		return err
	}
	png := object{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="}
	err := send(
		object{"type": "text", "text": "Look:"},
		png,
		object{"type": "resource_link", "name": "a.go", "uri": "file:///w/a.go"},
		object{"type": "resource_link", "name": "the issue", "uri": "https://example.org/1"},
		object{
			"type":     "resource",
			"resource": object{"uri": "file:///w/b.go", "mimeType": "text/x-go", "text": "package b\n"},
		},
		object{"type": "resource", "resource": object{"uri": "x:pic", "mimeType": "image/png", "blob": "iVBORw0KGgo="}},
	)
	if err != nil {
		t.Fatal(err)
	}
	got := c.model.Requests()[0]
	said := fmt.Sprintf("%+v", got)
	for _, want := range []string{"Look:\n\n@/w/a.go\n\n[@the issue](https://example.org/1)\n\n<resource uri=\"file:///w/b.go\">\npackage b\n</resource>"} {
		if !strings.Contains(said, want) {
			t.Errorf("the model was not told %q, but %s", want, said)
		}
	}
	if n := strings.Count(said, "image/png"); n != 2 {
		t.Errorf("%d pictures came, want 2", n)
	}
	for name, bad := range map[string]object{
		"audio":          {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
		"tiff":           {"type": "image", "mimeType": "image/tiff", "data": "AAAA"},
		"nothing":        {"type": "text", "text": " \n"},
		"empty picture":  {"type": "image", "mimeType": "image/png", "data": ""},
		"no resource":    {"type": "resource"},
		"binary":         {"type": "resource", "resource": object{"uri": "x:bin", "mimeType": "application/zip", "blob": "AAAA"}},
		"broken picture": {"type": "image", "mimeType": "image/png", "data": "%"},
	} {
		err, ok := send(bad).(*jsonrpc.Error) //nolint:errorlint // it is answered as it is
		if !ok || err.Code != jsonrpc.CodeInvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
}
