package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool/ask"
)

// The model's questions go to canUseTool as Claude Code's AskUserQuestion, and the answers come
// back in updatedInput.
func TestModelQuestions(t *testing.T) {
	const questions = `{"questions":[{"question":"Which?","header":"DB","options":[{"label":"a"},{"label":"b"}],` +
		`"multiSelect":true},{"question":"Name?"}]}`
	for _, tt := range []struct{ answer, want string }{
		{
			`{"behavior":"allow","updatedInput":{"answers":{"Which?":"a, b","Name?":"app"}}}`,
			`"Which?" = "a, b"n"Name?" = "app"`,
		},
		{
			`{"behavior":"allow","updatedInput":{"answers":{"Which?":["b","c"]}}}`,
			`"Which?" = "b, c"n"Name?" = no answer`,
		},
		{`{"behavior":"allow","updatedInput":{"questions":[]}}`, `Nobody answered (policy "the client's callback")`},
		{`{"behavior":"deny","message":"not now"}`, `The user did not answer: not now.`},
	} {
		calls := script.Turn(script.Call(ask.Name, questions))
		s := serve(t, func(o *Config) { o.Asks = true }, calls, script.Text("done"))
		s.say(user("go", "00000000-0000-4000-8000-000000000001"))
		var story strings.Builder
		requests := 0
		for over := false; !over; {
			m := <-s.output
			raw, _ := json.Marshal(m)
			story.Write(raw)
			switch m["type"] {
			case "control_request":
				requests++
				for part := range strings.SplitSeq(`"can_use_tool" "AskUserQuestion" "multiSelect":true`, " ") {
					if !strings.Contains(string(raw), part) {
						t.Errorf("%s is not in %s", part, raw)
					}
				}
				const reply = `{"type":"control_response","response":` +
					`{"subtype":"success","request_id":%q,"response":%s}}`
				s.say(fmt.Sprintf(reply, m["request_id"], tt.answer))
			case "result", nil:
				over = true
			}
		}
		if requests != 1 || !strings.Contains(strings.ReplaceAll(story.String(), `\`, ""), tt.want) {
			t.Errorf("asked %d times; want %s in\n%s", requests, tt.want, story.String())
		}
	}
}
