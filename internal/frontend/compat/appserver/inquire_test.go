package appserver

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool/ask"
)

// The model's questions go to the client as Codex sends them.
func TestModelQuestions(t *testing.T) {
	const questions = `{"questions":[{"question":"Which?","header":"DB","options":[{"label":"a"},{"label":"b"}]},` +
		`{"question":"Name?"}]}`
	c := start(t, script.New(script.Turn(script.Call(ask.Name, questions)), script.Text("done")))
	requests := make(chan string, 10)
	c.Answer("item/tool/requestUserInput", func(params json.RawMessage) (any, error) {
		requests <- string(params)
		return json.RawMessage(`{"answers":{"q1":{"answers":["b","user_note: later"]},"q2":{"answers":[]}}}`), nil
	})
	c.turn(c.thread(), "go")
	c.Seen("turn/completed", 1)
	if len(requests) != 1 {
		t.Fatalf("asked %d times", len(requests))
	}
	said := <-requests
	for _, part := range []string{
		`{"header":"DB","id":"q1","isOther":true,"isSecret":false,"options":[{"description":"","label":"a"}`,
		`{"header":"","id":"q2","isOther":false,"isSecret":false,"options":null,"question":"Name?"}`,
		`"isBlocking":true`, `"itemId":`, `"threadId":`, `"turnId":`,
	} {
		if !strings.Contains(said, part) {
			t.Errorf("%s is not in %s", part, said)
		}
	}
	story := strings.ReplaceAll(strings.Join(c.Lines(), "\n"), `\`, "")
	if !strings.Contains(story, `"Which?" = "b, later"n"Name?" = no answer`) {
		t.Errorf("the model has not received the answers:\n%s", story)
	}
}
