package question_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/question"
)

func questions() []event.Question {
	return []event.Question{
		{
			Question: "Which database?", Header: "Database",
			Options: []event.Choice{{Label: "SQLite (Recommended)", Description: "a file"}, {Label: "Postgres"}},
		},
		{
			Question: "Which features?", Options: []event.Choice{{Label: "a"}, {Label: "b"}, {Label: "c"}},
			MultiSelect: true, Default: "b",
		},
		{Question: "Which name?", Default: "app"},
	}
}

func TestQuestionsText(t *testing.T) {
	got, err := question.FormText(event.Form{Message: "The plan.", Questions: questions()})
	want := `  about:
      The plan.
  question 1 (Database):
      Which database?
      1 SQLite (Recommended): a file
      2 Postgres
  default: SQLite (Recommended)
  question 2:
      Which features?
      1 a
      2 b
      3 c
  choose any; default: b
  question 3:
      Which name?
  default: app
  your answers go to the model and into the log`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	long := []event.Question{{Question: strings.Repeat("x", question.MaxText)}}
	if _, err := question.FormText(event.Form{Questions: long}); err == nil {
		t.Error("a question that is too long to be shown is shown")
	}
}

// The schema accepts the content of all answers, and Answers returns them.
func TestContentOfAnswers(t *testing.T) {
	form := event.Form{Questions: questions()}
	form.Schema = question.Schema(form.Questions)
	for name, tt := range map[string]struct {
		answers [][]string
		content string
		read    [][]string
	}{
		"options": {
			[][]string{{"Postgres"}, {"a", "c"}, {"x"}}, `{"q1":"Postgres","q2":["a","c"],"q3":"x"}`, nil,
		},
		"own words": {
			[][]string{{"MySQL"}, {"a", "more"}, {" "}},
			`{"q1_text":"MySQL","q2":["a"],"q2_text":"more","q3":""}`,
			[][]string{{"MySQL"}, {"a", "more"}, nil},
		},
		"several of one": {
			[][]string{{"Postgres", "SQLite (Recommended)"}},
			`{"q1_text":"Postgres\nSQLite (Recommended)"}`,
			[][]string{{"Postgres\nSQLite (Recommended)"}, nil, nil},
		},
		"none": {nil, `{}`, [][]string{nil, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			got := question.Content(form.Questions, tt.answers)
			if string(got) != tt.content {
				t.Errorf("got %s, want %s", got, tt.content)
			}
			if err := question.CheckForm(form, got); err != nil {
				t.Error(err)
			}
			read, err := question.Answers(form.Questions, got)
			if tt.read == nil {
				tt.read = tt.answers
			}
			if diff := cmp.Diff(tt.read, read); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if err := question.CheckForm(form, json.RawMessage(`{"q1":"Oracle"}`)); err == nil {
		t.Error("an answer that is no option is accepted as one")
	}
	for content, want := range map[string]string{
		`{"foo":1,"bar":"x"}`:    "unknown: bar, foo",
		`{"q1":"SQLite","q9":1}`: "unknown: q9",
	} {
		content := question.Normalize(form, json.RawMessage(content))
		if err := question.CheckForm(form, content); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func TestSchemaOfQuestions(t *testing.T) {
	const want = `{"type":"object","properties":{` +
		`"q1":{"type":"string","title":"Database","description":"Which database?","oneOf":[` +
		`{"const":"SQLite (Recommended)","title":"SQLite (Recommended): a file"},` +
		`{"const":"Postgres","title":"Postgres"}],` +
		`"default":"SQLite (Recommended)"},"q1_text":{"type":"string","title":"Database, in your own words"},` +
		`"q2":{"type":"array","title":"Which features?","items":{"anyOf":[{"const":"a","title":"a"},` +
		`{"const":"b","title":"b"},{"const":"c","title":"c"}]}},` +
		`"q2_text":{"type":"string","title":"Which features?, in your own words"},` +
		`"q3":{"type":"string","title":"Which name?","default":"app"}}}`
	if diff := cmp.Diff(want, string(question.Schema(questions()))); diff != "" {
		t.Error(diff)
	}
}

// Own words replace the default that a client has left in its field.
func TestOwnWordsReplaceDefault(t *testing.T) {
	got, err := question.Answers(questions(), json.RawMessage(
		`{"q1":"SQLite (Recommended)","q1_text":"MySQL","q2":["a"],"q2_text":"more"}`,
	))
	if diff := cmp.Diff([][]string{{"MySQL"}, {"a", "more"}, nil}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestNormalize(t *testing.T) {
	form := event.Form{Questions: questions()}
	for content, want := range map[string]string{
		`{"q1":"MySQL","q2":["a","x"]}`: `{"q1_text":"MySQL","q2":["a"],"q2_text":"x","q3":""}`,
		`{"q1":"","q3":"x"}`:            `{"q3":"x"}`,
		`{"q1":7}`:                      `{"q1":7}`,
		`7`:                             `7`,
	} {
		if got := question.Normalize(form, json.RawMessage(content)); string(got) != want {
			t.Errorf("%s: got %s, want %s", content, got, want)
		}
	}
}
