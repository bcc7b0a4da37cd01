package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/question"
	"github.com/settle-agent/settle/tool"
)

// Name is the tool's name.
const Name = "ask_user"

// Arguments are the arguments of the tool.
type Arguments struct {
	Questions []event.Question `json:"questions"`
}

// Detail is the detail of the tool's result.
type Detail struct {
	Ending event.FormEnding `json:"ending"`
	// Answers has a list for each question.
	Answers [][]string `json:"answers,omitempty"`
}

// maxOptions bounds the options of a question: each has a digit as its key.
const maxOptions = 9

// schema is the schema of Claude Code's AskUserQuestion, with a default and with free text. The
// items allow more properties: models that were trained on Codex's request_user_input give an id.
var schema = sync.OnceValue(func() tool.Option {
	return tool.WithSchema(`{
	"type": "object",
	"properties": {
		"questions": {
			"type": "array", "minItems": 1, "maxItems": 4,
			"items": {
				"type": "object",
				"properties": {
					"question": {"type": "string"},
					"header": {"type": "string"},
					"options": {"type": "array", "items": {
						"type": "object",
						"properties": {"label": {"type": "string"}, "description": {"type": "string"}},
						"required": ["label"]
					}},
					"multiSelect": {"type": "boolean"},
					"default": {"type": "string"}
				},
				"required": ["question"]
			}
		}
	},
	"required": ["questions"],
	"additionalProperties": false
}`)
})

// New returns the tool, which all sessions share.
func New() tool.Tool { return shared() }

var shared = sync.OnceValue(func() tool.Tool {
	return tool.Must(
		tool.New(
			Name,
			"Ask the user what only they can decide, never for secrets. No options: free text. "+
				"Put your recommendation first and end its label with "+event.Recommended+".",
			func(ctx context.Context, in Arguments) (tool.Result, error) {
				call, _ := tool.CallFrom(ctx)
				return Put(ctx, call.Ask, in)
			},
			schema(), tool.ReadOnly(), tool.WithTitle(Arguments.Title),
		),
	)
})

// Title describes a call in one line.
func Title(arguments json.RawMessage) string {
	var in Arguments
	_ = json.Unmarshal(arguments, &in) // the tool reports invalid ones
	return in.Title()
}

// Title describes the questions in one line.
func (a Arguments) Title() string {
	if len(a.Questions) == 1 {
		return a.Questions[0].Question
	}
	var headers []string
	for _, q := range a.Questions {
		headers = append(headers, cmp.Or(q.Header, q.Question))
	}
	return "questions: " + strings.Join(headers, ", ")
}

func (a Arguments) check() error {
	for n, q := range a.Questions {
		switch {
		case strings.TrimSpace(q.Question) == "":
			return fmt.Errorf("question %d has no text", n+1)
		case len(q.Options) > maxOptions:
			return fmt.Errorf("question %d has %d options, at most %d are possible", n+1, len(q.Options), maxOptions)
		}
		known := map[string]bool{}
		for _, o := range q.Options {
			if strings.TrimSpace(o.Label) == "" || known[o.Label] {
				return fmt.Errorf("question %d has an option whose label is empty or not unique: %q", n+1, o.Label)
			}
			known[o.Label] = true
		}
	}
	return nil
}

// Put asks the questions and returns the call's result. An interrupted call has no answer.
func Put(
	ctx context.Context, ask func(context.Context, event.Form) (json.RawMessage, error), in Arguments,
) (tool.Result, error) {
	if err := in.check(); err != nil {
		return tool.Result{}, err
	}
	content, err := ask(ctx, event.Form{Questions: in.Questions})
	refusal, refused := errors.AsType[*tool.DeclinedError](err)
	switch {
	case refused && refusal.Policy != "":
		return result(Detail{Ending: event.Unattended}, in.unattended(refusal)), nil
	case refused:
		return result(Detail{Ending: event.Declined}, declined(refusal)), nil
	case ctx.Err() != nil:
		var reason event.Reason
		if cause, ok := errors.AsType[*event.Cause](context.Cause(ctx)); ok {
			reason = cause.Reason
		}
		aborted := result(Detail{Ending: event.FormAborted(reason)}, "")
		aborted.Aborted = true
		return aborted, nil
	case err != nil:
		return tool.Result{}, err
	}
	answers, err := question.Answers(in.Questions, content)
	if err != nil {
		return tool.Result{}, err
	}
	var b strings.Builder
	b.WriteString("The user answered:")
	for n, q := range in.Questions {
		fmt.Fprintf(&b, "\n%q = %s", q.Question, quoted(answers[n]))
	}
	return result(Detail{event.Answered, answers}, b.String()), nil
}

func quoted(answers []string) string {
	if len(answers) == 0 {
		return "no answer"
	}
	return fmt.Sprintf("%q", strings.Join(answers, ", "))
}

func declined(refusal *tool.DeclinedError) string {
	return "The user did not answer: " + strings.TrimSuffix(refusal.Message, ".") +
		". Do not ask the same again. Continue without the answer, or state what you need."
}

// unattended is the result of questions that a policy answered at once.
func (a Arguments) unattended(refusal *tool.DeclinedError) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Nobody answered (policy %q): %s.", refusal.Policy, strings.TrimSuffix(refusal.Message, "."))
	for _, q := range a.Questions {
		if assumed := q.Assumed(); assumed != "" {
			fmt.Fprintf(&b, "\n%q = %q, your default", q.Question, assumed)
		}
	}
	b.WriteString("\nDecide the rest yourself, do not ask again, and state in your final answer what you assumed.")
	return b.String()
}

func result(d Detail, output string) tool.Result {
	raw, _ := json.Marshal(d) // strings have JSON
	return tool.Result{Output: output, Detail: raw}
}
