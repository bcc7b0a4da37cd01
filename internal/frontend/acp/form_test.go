package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/clienttest"
	"github.com/settle-agent/settle/model/script"
)

// A server's form goes to clients that take forms; for others it is declined.
func TestForms(t *testing.T) {
	form := object{"form": object{}}
	tests := map[string]struct {
		can       object
		answer    object
		want      string
		questions int
	}{
		"filled in": {form, object{"action": "accept", "content": object{"name": "users"}}, `"name":"users"`, 1},
		"misfit":    {form, object{"action": "accept", "content": object{"name": 1}}, `"action":"decline"`, 1},
		"declined":  {form, object{"action": "decline"}, `"action":"decline"`, 1},
		"no forms":  {object{"url": object{}}, nil, `"action":"decline"`, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := clienttest.NewPlace(t)
			clienttest.Inquirer(t, p.Dir)
			m := script.New(script.Turn(script.Call("tool_call", clienttest.Inquire)), script.Text("done"))
			c := startIn(t, m, p)
			c.Must("initialize", object{"protocolVersion": 1, "clientCapabilities": object{"elicitation": test.can}})
			asked := make(chan string, 10)
			c.Answer("elicitation/create", func(params json.RawMessage) (any, error) {
				asked <- string(params)
				return test.answer, nil
			})
			if got := wait(c, c.prompt(c.open(), "go")); got != "end_turn" {
				t.Errorf("ended with %q", got)
			}
			if len(asked) != test.questions {
				t.Errorf("asked %d times, want %d", len(asked), test.questions)
			} else if test.questions > 0 {
				said := <-asked
				parts := []string{`"mode":"form"`, `"requestedSchema":{`, "Which table?", `"sessionId":`, `"toolCallId":`}
				for _, part := range parts {
					if !strings.Contains(said, part) {
						t.Errorf("%s is not in %s", part, said)
					}
				}
			}
			if story := strings.Join(c.Lines(), "\n"); !strings.Contains(
				strings.ReplaceAll(story, `\`, ""), test.want,
			) {
				t.Errorf("the server was not given %s:\n%s", test.want, story)
			}
		})
	}
}

// The model's questions are a form for clients that take forms; for others, a policy answers.
func TestModelQuestions(t *testing.T) {
	form := object{"form": object{}}
	const questions = `{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}]}`
	for name, test := range map[string]struct {
		can    object
		answer object
		want   string
	}{
		"answered": {form, object{"action": "accept", "content": object{"q1": "b"}}, `"Which?" = "b"`},
		"words":    {form, object{"action": "accept", "content": object{"q1_text": "c"}}, `"Which?" = "c"`},
		"declined": {form, object{"action": "decline"}, "The user did not answer"},
		"no forms": {object{}, nil, `Nobody answered (policy "no forms")`},
	} {
		t.Run(name, func(t *testing.T) {
			m := script.New(script.Turn(script.Call("ask_user", questions)), script.Text("done"))
			c := startIn(t, m, clienttest.NewPlace(t))
			c.Must("initialize", object{"protocolVersion": 1, "clientCapabilities": object{"elicitation": test.can}})
			c.Answer("elicitation/create", func(params json.RawMessage) (any, error) {
				parts := []string{`"message":"The agent asks you"`, `"oneOf":[{"const":"a","title":"a"}`, `"q1_text":`}
				for _, part := range parts {
					if !strings.Contains(string(params), part) {
						t.Errorf("%s is not in %s", part, params)
					}
				}
				return test.answer, nil
			})
			if got := wait(c, c.prompt(c.open(), "go")); got != "end_turn" {
				t.Errorf("ended with %q", got)
			}
			story := strings.ReplaceAll(strings.Join(c.Lines(), "\n"), `\`, "")
			if !strings.Contains(story, test.want) {
				t.Errorf("the model has not received %s:\n%s", test.want, story)
			}
		})
	}
}
