package web_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// The approval of the agent's questions has the form. Values of names that the form does not have would answer
// nothing: they are refused, and the questions stay open.
func TestAnswersOfUnknownNamesAreRefused(t *testing.T) {
	m := script.New(script.Turn(script.Call("ask_user", `{"questions":[{"question":"Which database?"}]}`))).
		Otherwise(script.Text("Done."))
	b := adjustable(t, "", func(o *assemble.Options) {
		o.Model = model.Config{Provider: m, ProviderName: "script", Name: "m"}
	})
	session := b.session("asks")
	b.input(session, "go")
	path := session + "/approvals/" + presented(b, session)
	list := ask[object](b, "GET", session, nil, 200)["approvals"].([]any)
	questions := list[0].(object)["form"].(object)["questions"].([]any)
	b.diff("the question", "Which database?", questions[0].(object)["question"])
	for _, content := range []object{{"foo": 1}, {"q1": "SQLite", "q2": "x"}} {
		ask[object](b, "POST", path, object{"verdict": "approved", "content": content}, 422)
	}
	ask[object](b, "POST", path, object{"verdict": "approved", "content": object{"q1": "SQLite"}}, 204)
	b.until(session, event.Event.Terminal)
}
