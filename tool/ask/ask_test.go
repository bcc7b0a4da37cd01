package ask_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/ask"
)

const arguments = `{"questions":[{"question":"Which database?","header":"Database","id":"db",
	"options":[{"label":"SQLite (Recommended)"},{"label":"Postgres"}]},{"question":"Which name?","default":"app"}]}`

func TestResult(t *testing.T) {
	ended, end := context.WithCancelCause(t.Context())
	end(event.Abort(event.Interrupted, "user"))
	for name, tt := range map[string]struct {
		ctx     context.Context // of the case
		content string
		err     error
		output  string
		ending  event.FormEnding
	}{
		"answered": {
			content: `{"q1":"Postgres","q2":""}`,
			output: "The user answered:\n" +
				"\"Which database?\" = \"Postgres\"\n\"Which name?\" = no answer",
			ending: event.Answered,
		},
		"declined": {
			err:    &tool.DeclinedError{Message: "later"},
			output: "The user did not answer: later. Do not ask the same again.", ending: event.Declined,
		},
		"unattended": {
			err: &tool.DeclinedError{Message: "no person can be asked", Policy: "nobody to ask"},
			output: "Nobody answered (policy \"nobody to ask\"): no person can be asked.\n" +
				"\"Which database?\" = \"SQLite (Recommended)\", your default\n" +
				"\"Which name?\" = \"app\", your default\n" +
				"Decide the rest",
			ending: event.Unattended,
		},
		"interrupted": {ctx: ended, err: context.Canceled, ending: event.Withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.ctx == nil {
				tt.ctx = t.Context()
			}
			answer := func(_ context.Context, f event.Form) (json.RawMessage, error) {
				if len(f.Questions) != 2 || f.Questions[0].Header != "Database" {
					t.Errorf("asked %+v", f)
				}
				return json.RawMessage(tt.content), tt.err
			}
			got, err := ask.New().Run(tt.ctx, tool.Call{Args: json.RawMessage(arguments), Ask: answer})
			if err != nil || !strings.HasPrefix(got.Output, tt.output) || got.Failed ||
				got.Aborted != (tt.ctx == ended) {
				t.Fatalf("%v: %+v", err, got)
			}
			var d ask.Detail
			if tt.ending != "" && (json.Unmarshal(got.Detail, &d) != nil || d.Ending != tt.ending) {
				t.Errorf("the detail is %s", got.Detail)
			}
		})
	}
}

func TestQuestionsThatCannotBeAsked(t *testing.T) {
	set, err := tool.NewSet(ask.New())
	if err != nil {
		t.Fatal(err)
	}
	for name, arguments := range map[string]string{
		"none":       `{"questions":[]}`,
		"five":       `{"questions":[` + strings.Repeat(`{"question":"q"},`, 4) + `{"question":"q"}]}`,
		"no text":    `{"questions":[{"question":" "}]}`,
		"two labels": `{"questions":[{"question":"q","options":[{"label":"a"},{"label":"a"}]}]}`,
		"too many": `{"questions":[{"question":"q","options":[` +
			strings.Repeat(`{"label":"a"},`, 9) + `{"label":"b"}]}]}`,
	} {
		err := set.Check(ask.Name, json.RawMessage(arguments))
		if err == nil {
			answer := func(context.Context, event.Form) (json.RawMessage, error) { return nil, errors.New("asked") }
			_, err = ask.New().Run(t.Context(), tool.Call{Args: json.RawMessage(arguments), Ask: answer})
		}
		if err == nil || err.Error() == "asked" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
