package modeltest_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/modeltest"
)

const document = "../docs/reference/scenarios.md"

// documented returns the scenarios of the documentation.
func documented(t *testing.T) []modeltest.Scenario {
	t.Helper()
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var out []modeltest.Scenario
	for part := range strings.SplitSeq(string(raw), "```json\n") {
		example, _, found := strings.Cut(part, "```")
		if !found || !strings.HasPrefix(example, "{") {
			continue
		}
		sc, err := modeltest.ParseScenario([]byte(example))
		if err != nil {
			t.Fatalf("%v in %s", err, example)
		}
		out = append(out, sc)
	}
	return out
}

func TestDocumentedScenarios(t *testing.T) {
	scenarios := documented(t)
	want := []modeltest.Scenario{
		modeltest.Script(
			modeltest.Reply(
				modeltest.Think("The user wants the tests fixed. I look first."),
				modeltest.Text("Let me look."),
				modeltest.Call("shell", `{"command":"go test ./..."}`),
				modeltest.Call("read", `{"path":"go.mod"}`),
			).Using(modeltest.Usage{Input: 1200, CacheRead: 800, Output: 60, Reasoning: 20}),
			modeltest.Say("All tests pass now."),
		),
		modeltest.Script(
			modeltest.Reply(modeltest.Text("One moment."), modeltest.Call("shell", `{"command":"make"}`)).With(
				modeltest.Status(429, modeltest.RetrySeconds(2)).First(2),
				modeltest.Reset(modeltest.WithinArguments(1)).First(3),
			),
			modeltest.Say("This is going well, until it is not going at all.").
				With(modeltest.Silence(modeltest.AfterDelta(2))),
		),
		{
			Rules: modeltest.Rules{
				Keys: []string{
					"sk-test",
				}, Models: []modeltest.Model{{ID: "tiny", MaxOutput: 1024, Window: 8192}}, AllowRepeatedRoles: true,
			},
			Loop: true,
			Turns: []modeltest.Turn{
				modeltest.Say("Sunny.").For("weather"),
				modeltest.Reply(modeltest.Flood(50000)),
				modeltest.Fail(modeltest.Status(503, modeltest.RetryDate(30*time.Second))),
			},
		},
	}
	if diff := cmp.Diff(want, scenarios); diff != "" {
		t.Error(diff)
	}
}

// The bad day of the documentation, as it says.
func TestDocumentedBadDay(t *testing.T) {
	srv := modeltest.NewServer(t, documented(t)[1])
	var got []string
	for range 4 {
		a := ask(t.Context(), srv, dialects[1].path, dialects[1].body)
		switch {
		case a.status == 429:
			got = append(got, "429 after "+a.header.Get("Retry-After"))
		case a.err != nil:
			got = append(got, "cut")
		case strings.Contains(a.body, "message_stop"):
			got = append(got, "whole")
		}
	}
	if diff := cmp.Diff([]string{"429 after 2", "429 after 2", "cut", "whole"}, got); diff != "" {
		t.Error(diff)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends when the server has sent two deltas, or with the test
		defer cancel()
		if _, err := srv.WaitDeltas(t.Context(), 5, 2); err != nil {
			t.Error(err)
		}
	}()
	if a := ask(ctx, srv, dialects[1].path, dialects[1].body); a.err == nil {
		t.Errorf("the silent turn ended: %s", a.body)
	}
}

func TestEveryFaultIsDocumented(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range modeltest.FaultKinds() {
		if !strings.Contains(string(raw), "`"+string(kind)+"`") {
			t.Errorf("%s does not say what %q is", document, kind)
		}
	}
}

func TestBadScenarios(t *testing.T) {
	tests := []struct{ text, want string }{
		{"{\n\"turns\": [,]}", "line 2: invalid character"},
		{`{"turn": []}`, `unknown field "turn"`},
		{"{\n\n\"loop\": 1}", "line 3: json: cannot unmarshal number"},
		{`{} {}`, "there is something after its end"},
		{
			`{"turns": [{}, {"items": [{}]}]}`,
			`turn 2: item 1 has none of "say", "think", "call", "find_tools" and "refuse"`,
		},
		{`{"turns": [{"stop": "tired"}]}`, `turn 1: there is no stop reason "tired"`},
		{`{"turns": [{"pace": "fast"}]}`, `invalid duration "fast"`},
		{`{"turns": [{"faults": [{"fault": "explode"}]}]}`, `turn 1: fault 1: there is no fault "explode"`},
		{`{"turns": [{"faults": [{"fault": "reset", "at": "delta"}]}]}`, `there is no place "delta" in a response`},
		{`{"turns": [{"faults": [{"fault": "reset", "at": "delta 0"}]}]}`, `there is no place "delta 0" in a response`},
		{`{"turns": [{"faults": [{"fault": "reset", "times": -2}]}]}`, `it cannot strike -2 times`},
		{`{"turns": [{"faults": [{"fault": "status", "status": 42}]}]}`, `42 is no HTTP status`},
		{`{"turns": [{"faults": [{"fault": "oversized"}]}]}`, `an oversized event needs its "bytes"`},
		{`{"turns": [{"faults": [{"fault": "foreign"}]}]}`, `it needs a "content_type"`},
	}
	for _, test := range tests {
		if _, err := modeltest.ParseScenario([]byte(test.text)); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.text, err, test.want)
		}
	}
}

func TestArgumentsInScenarios(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": [1, 2]}`:  `{"a":[1,2]}`,
		`"{\"broken"`:    `{"broken`,
		`"\"a string\""`: `"a string"`,
	} {
		sc, err := modeltest.ParseScenario([]byte(`{"turns": [{"items": [{"call": "x", "arguments": ` + text + `}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(sc.Turns[0].Items[0].Arguments); got != want {
			t.Errorf("%s is read as %s", text, got)
		}
		raw, err := sc.Turns[0].Items[0].Arguments.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var back modeltest.Arguments
		if err := back.UnmarshalJSON(raw); err != nil || string(back) != want {
			t.Errorf("%s is written as %s (%v)", want, raw, err)
		}
	}
}

func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- modeltest.Serve(ctx, modeltest.Script(modeltest.Say("hi")), l) }() // ends with ctx
	srv := modeltest.New(modeltest.Scenario{})
	srv.URL = "http://" + l.Addr().String()
	if a := ask(ctx, srv, dialects[0].path, dialects[0].body); a.status != 200 {
		t.Errorf("answer %+v", a)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("it still listens")
	}
}

func FuzzParseScenario(f *testing.F) {
	f.Add(
		[]byte(
			`{"turns":[{"items":[{"say":"x"},{"call":"y","arguments":{}}],"faults":[{"fault":"reset","at":"call 1","for":"1s"}]}]}`,
		),
	)
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = modeltest.ParseScenario(raw)
	})
}
