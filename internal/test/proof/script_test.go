package proof

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// A failing script is printed, and must be the same script when it is read again.
func TestScriptsSurvivePrinting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		read, err := Parse(s.String())
		if err != nil {
			t.Fatalf("%v\n%s", err, s)
		}
		if diff := cmp.Diff(s, read); diff != "" {
			t.Fatalf("(-drawn +read):\n%s\n%s", diff, s)
		}
	})
}

func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		`say "a"`:                           "before the first model",
		"model\n  say":                      `line 2: a "text" is missing`,
		"model\n  say \"a":                  "does not end",
		"model\n  call take":                "the time is missing",
		"model\n  call take 2s print \"a\"": "a comma is missing",
		"model\n  call dance":               `cannot "dance"`,
		"model\n  fault explosion":          `no fault "explosion"`,
		"model\n  fault reset at noon":      `no place "noon"`,
		"model\n  fault status status 9":    "9 is no status",
		"model paced fast":                  "is no duration",
		"on 0 interrupt":                    "counts from 1",
		"on 3 clock":                        "how far is missing",
		"on 3 clock 0s":                     "no duration from or to now",
		"on 3 sing":                         `nobody can "sing"`,
		"after 2s interrupt loudly":         `"loudly" is too much`,
		`input " "`:                         "cannot be empty",
		"wire carrier-pigeon":               "no wire",
		"limit fun 3":                       "no limit",
		"answer maybe":                      "is no answer",
		"review doubts":                     "is no review",
		"after 2s held nothing":             "is no answer",
		"reader leaves 0 for 2s":            "counts from 1",
		"dance":                             "is no statement",
	} {
		if _, err := Parse(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", line, err, want)
		}
	}
}

func TestCommentsAndBlanks(t *testing.T) {
	got, err := Parse("# a session\n\nmodel # the first\n\tsay \"a # b\"\n")
	if err != nil {
		t.Fatal(err)
	}
	want := Script{Responses: []Response{{Items: []Item{{Kind: Say, Text: "a # b"}}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(
		"model paced 1s\n  think \"a\"\n  call print \"x\", take 2s\n  fault reset at call 1 first 1\ninput \"go\"\non 3 crash\nreader leaves 2 for 1s",
	)
	f.Add("ask\nplan\nreview after 1s asks\nanswer denied \"no\"\nanswer approved edit \"a\" as allow")
	f.Add("after 2s held denied")
	f.Add("wire chat\nask\nanswer after 2s denied\nlimit steps 3\nafter 2s interrupt input 1")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil {
			t.Fatalf("%v: %q", err, s)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}
