package settletest_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/settletest"
)

const document = "../docs/scenarios.md"

// documented returns the scenarios of the documentation.
func documented(t *testing.T) []settletest.Scenario {
	t.Helper()
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var out []settletest.Scenario
	for part := range strings.SplitSeq(string(raw), "```json\n") {
		example, _, found := strings.Cut(part, "```")
		if !found || !strings.HasPrefix(example, "{") {
			continue
		}
		sc, err := settletest.ParseScenario([]byte(example))
		if err != nil {
			t.Fatalf("%v in %s", err, example)
		}
		out = append(out, sc)
	}
	return out
}

func TestDocumentedScenarios(t *testing.T) {
	scenarios := documented(t)
	want := []settletest.Scenario{
		settletest.Script(
			settletest.Reply(
				settletest.Think("The user wants the tests fixed. I look first."),
				settletest.Text("Let me look."),
				settletest.Call("shell", `{"command":"go test ./..."}`),
				settletest.Call("read", `{"path":"go.mod"}`),
			).Using(settletest.Usage{Input: 1200, CacheRead: 800, Output: 60, Reasoning: 20}),
			settletest.Say("All tests pass now."),
		),
		settletest.Script(
			settletest.Reply(settletest.Text("One moment."), settletest.Call("shell", `{"command":"make"}`)).With(
				settletest.Status(429, settletest.RetrySeconds(2)).First(2),
				settletest.Reset(settletest.WithinArguments(1)).First(3),
			),
			settletest.Say("This is going well, until it is not going at all.").With(settletest.Silence(settletest.AfterDelta(2))),
		),
		{
			Rules: settletest.Rules{
				Keys: []string{"sk-test"}, Models: []settletest.Model{{ID: "tiny", MaxOutput: 1024, Window: 8192}}, AllowRepeatedRoles: true,
			},
			Loop: true,
			Turns: []settletest.Turn{
				settletest.Say("Sunny.").For("weather"),
				settletest.Reply(settletest.Flood(50000)),
				settletest.Fail(settletest.Status(503, settletest.RetryDate(30*time.Second))),
			},
		},
	}
	if diff := cmp.Diff(want, scenarios); diff != "" {
		t.Error(diff)
	}
}

// The bad day of the documentation, as it says.
func TestDocumentedBadDay(t *testing.T) {
	srv := settletest.NewServer(t, documented(t)[1])
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
	for _, kind := range settletest.FaultKinds() {
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
		{`{"turns": [{}, {"items": [{}]}]}`, `turn 2: item 1 has none of "say", "think", "call" and "refuse"`},
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
		if _, err := settletest.ParseScenario([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
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
		sc, err := settletest.ParseScenario([]byte(`{"turns": [{"items": [{"call": "x", "arguments": ` + text + `}]}]}`))
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
		var back settletest.Arguments
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
	go func() { ended <- settletest.Serve(ctx, settletest.Script(settletest.Say("hi")), l) }() // ends with ctx
	srv := settletest.New(settletest.Scenario{})
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
	f.Add([]byte(`{"turns":[{"items":[{"say":"x"},{"call":"y","arguments":{}}],"faults":[{"fault":"reset","at":"call 1","for":"1s"}]}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = settletest.ParseScenario(raw)
	})
}
