package asker_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/question"
)

const everything = `{"type":"object","required":["name","color","ok"],"properties":{
	"name":{"type":"string","title":"Your name","minLength":2},
	"age":{"type":"integer","minimum":0},
	"ratio":{"type":"number","default":0.5},
	"color":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}],"default":"l"},
	"tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]}},
	"ok":{"type":"boolean"}}}`

func TestEntry(t *testing.T) {
	cases := map[string]struct {
		lines string // for the fields in their order
		want  string
		check string
	}{
		"all": {
			"Ada,36,1.5,Green,1,a;c,yes",
			`{"age":36,"color":"g","name":"Ada","ok":true,"ratio":1.5,"size":"s","tags":["a","c"]}`, "",
		},
		"what is required": {"Ada,,,r,,,n", `{"color":"r","name":"Ada","ok":false,"ratio":0.5,"size":"l"}`, ""},
		"what does not fit": {
			"A,1,,r,,,n", `{"age":1,"color":"r","name":"A","ok":false,"ratio":0.5,"size":"l"}`, "minLength",
		},
		"what is too small": {
			"Ada,-1,,r,,,n", `{"age":-1,"color":"r","name":"Ada","ok":false,"ratio":0.5,"size":"l"}`, "minimum",
		},
		"mistakes are said": {
			"Ada,old,36,many,1.5,Blue,Green,9,1,a;x,a,perhaps,,1",
			`{"age":36,"color":"g","name":"Ada","ok":true,"ratio":1.5,"size":"s","tags":["a"]}`, "",
		},
		"a number is an index": {
			"Ada,,,2,2,3,0", `{"color":"g","name":"Ada","ok":false,"ratio":0.5,"size":"l","tags":["c"]}`, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e, err := asker.NewEntry(event.Form{Schema: json.RawMessage(everything)})
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(tc.lines, ",") {
				if e.Prompt() == "" {
					t.Fatalf("it is filled in before %q", line)
				}
				_ = e.Take(strings.ReplaceAll(line, ";", ",")) // a mistake asks for the field once more
			}
			if got := string(e.Content()); e.Prompt() != "" || got != tc.want {
				t.Errorf("got %s, and it asks for %q; want %s", got, e.Prompt(), tc.want)
			}
			if err := e.Check(); (err == nil) != (tc.check == "") ||
				err != nil && !strings.Contains(err.Error(), tc.check) {
				t.Errorf("the check says %v", err)
			}
		})
	}
}

func TestEntryOfAPage(t *testing.T) {
	e, err := asker.NewEntry(event.Form{URL: "https://example.com"})
	if err != nil || e.Prompt() != "" || e.Check() != nil {
		t.Errorf("%q, %v", e.Prompt(), err)
	}
}

func TestReply(t *testing.T) {
	for action, want := range map[string]event.Verdict{
		"accept": event.Approved, "decline": event.Denied, "cancel": event.Denied, "": event.Denied,
	} {
		if got := (asker.Reply{Action: action}).Answer(); got.Verdict != want || want == event.Approved &&
			string(got.Content) != "{}" {
			t.Errorf("%q: %+v", action, got)
		}
	}
}

// Numbers must be options; other text is an answer in own words.
func TestEntryOfQuestions(t *testing.T) {
	options := []event.Choice{{Label: "a"}, {Label: "b"}, {Label: "c"}}
	form := event.Form{Questions: []event.Question{
		{
			Question: "One?",
			Options:  options,
		}, {Question: "Some?", Options: options, MultiSelect: true}, {Question: "Name?"},
	}}
	for lines, want := range map[string]string{
		"33;1, 2;2;1,9;1,3;42": `{"q1":"b","q2":["a","c"],"q3":"42"}`,
		"d;1, and also d;x":    `{"q1_text":"d","q2":["a"],"q2_text":"and also d","q3":"x"}`,
		"b;c;":                 `{"q1":"b","q2":["c"],"q3":""}`,
	} {
		e, err := asker.NewEntry(form)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(lines, ";") {
			_ = e.Take(line) // a mistake asks for the field once more
		}
		got := string(question.Normalize(form, e.Content()))
		if e.Prompt() != "" || got != want {
			t.Errorf("%q: got %s, and it asks for %q; want %s", lines, got, e.Prompt(), want)
		}
	}
}
