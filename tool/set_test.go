package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/tool"
)

var update = flag.Bool("update", false, "write the goldens anew")

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// fake is a tool with a given function.
type fake struct {
	name   string
	schema string
	run    func(ctx context.Context, call tool.Call) (tool.Result, error)
	title  func(args json.RawMessage) string
}

func (f fake) Spec() tool.Spec {
	return tool.Spec{Name: f.name, Description: "A fake.", Schema: json.RawMessage(f.schema)}
}

func (f fake) Run(ctx context.Context, call tool.Call) (tool.Result, error) { return f.run(ctx, call) }

func (f fake) Title(args json.RawMessage) string { return f.title(args) }

const searchSchema = `{
	"type": "object",
	"properties": {
		"query": {"type": "string", "minLength": 1},
		"limit": {"type": "integer", "minimum": 1, "maximum": 50},
		"mode": {"type": "string", "enum": ["fast", "deep"]},
		"paths": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
		"range": {"type": "object", "properties": {"from": {"type": "number"}}, "required": ["from"], "additionalProperties": false},
		"word": {"type": "string", "pattern": "^[a-z]+$"}
	},
	"required": ["query"],
	"additionalProperties": false
}`

func newSet(t *testing.T, tools ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func echo(name, schema string) fake {
	return fake{name: name, schema: schema, run: func(_ context.Context, call tool.Call) (tool.Result, error) {
		return tool.Result{Output: string(call.Args)}, nil
	}}
}

func TestNewSetRefuses(t *testing.T) {
	object := `{"type":"object"}`
	for _, tt := range []struct {
		name  string
		tools []tool.Tool
		want  string
	}{
		{
			"duplicate",
			[]tool.Tool{echo("a", object), echo("a", object)},
			`cannot add tool "a": there are two of that name`,
		},
		{"empty name", []tool.Tool{echo("", object)}, `cannot name a tool "": a name has 1 to 64 characters`},
		{"long name", []tool.Tool{echo(strings.Repeat("a", 65), object)}, `a name has 1 to 64 characters`},
		{"dot", []tool.Tool{echo("a.b", object)}, `'.' is not one of a-z`},
		{"no schema", []tool.Tool{echo("a", "")}, `cannot add tool "a": its schema is not a JSON object`},
		{"null schema", []tool.Tool{echo("a", "null")}, `its schema is not a JSON object`},
		{"array schema", []tool.Tool{echo("a", `{"type":"array"}`)}, `its schema is of type "array", want "object"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tool.NewSet(tt.tools...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestSetKeepsOrder(t *testing.T) {
	set := newSet(t, echo("c", searchSchema), echo("a", searchSchema), echo("b", searchSchema))
	if diff := cmp.Diff([]string{"c", "a", "b"}, set.Names()); diff != "" {
		t.Error(diff)
	}
	only, err := set.Only("b", "c")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"c", "b"}, only.Names()); diff != "" {
		t.Error(diff)
	}
	if got := only.Specs()[1].Name; got != "b" {
		t.Errorf("second spec is %q", got)
	}
	if _, ok := only.Lookup("a"); ok {
		t.Error("a is still there")
	}
	if _, ok := set.Lookup("a"); !ok {
		t.Error("Only changed the set it was called on")
	}
	_, err = set.Only("b", "nope")
	if err == nil || err.Error() != `there is no tool "nope"; the tools are c, a, b` {
		t.Errorf("got %v", err)
	}
}

type deferred struct{ fake }

func (d deferred) Spec() tool.Spec {
	spec := d.fake.Spec()
	spec.Deferred = "server"
	return spec
}

// A child agent that receives a deferred tool by its name can use it with any model.
func TestOnlyOffersDeferredTools(t *testing.T) {
	set := newSet(t, echo("a", searchSchema), deferred{echo("b", searchSchema)}, deferred{echo("c", searchSchema)})
	only, err := set.Only("b")
	if err != nil {
		t.Fatal(err)
	}
	if got := only.Specs(); len(got) != 1 || got[0].Name != "b" || got[0].Deferred != "" {
		t.Errorf("got %+v", got)
	}
	if got := set.Specs()[1]; got.Deferred == "" {
		t.Errorf("Only changed the set it was called on: %+v", got)
	}
	if _, err := set.Only("nope"); err == nil || err.Error() != `there is no tool "nope"; the tools are a` {
		t.Errorf("got %v", err)
	}
}

func TestCheck(t *testing.T) {
	set := newSet(t, echo("search", searchSchema),
		echo("now", `{"type":"object","properties":{"zone":{"type":"string"}}}`))
	var b strings.Builder
	for _, tt := range []struct{ name, tool, args string }{
		{"fine", "search", `{"query":"x","limit":5,"mode":"deep","paths":["a"],"range":{"from":1.5}}`},
		{"integral float", "search", `{"query":"x","limit":5.0}`},
		{"unknown tool", "grepp", `{}`},
		{"unknown tool, long", strings.Repeat("n", 500), `{}`},
		{"empty, nothing required", "now", ""},
		{"blank, nothing required", "now", " \n"},
		{"empty, required", "search", ""},
		{"missing", "search", `{"limit":3}`},
		{"wrong type", "search", `{"query":"x","limit":"three"}`},
		{"wrong type, long value", "search", `{"query":"x","limit":"` + strings.Repeat("é", 500) + `"}`},
		{"null", "search", `{"query":null}`},
		{"fraction", "search", `{"query":"x","limit":2.5}`},
		{"too small", "search", `{"query":"x","limit":0}`},
		{"too large", "search", `{"query":"x","limit":51}`},
		{"empty string", "search", `{"query":""}`},
		{"enum", "search", `{"query":"x","mode":"slow"}`},
		{"item", "search", `{"query":"x","paths":["a",1]}`},
		{"too many items", "search", `{"query":"x","paths":["a","b","c"]}`},
		{"nested missing", "search", `{"query":"x","range":{}}`},
		{"nested unknown", "search", `{"query":"x","range":{"from":1,"to":2}}`},
		{"unknown argument", "search", `{"query":"x","max":2}`},
		{"other case", "search", `{"Query":"x","query":"y"}`},
		{"keyword without words", "search", `{"query":"x","word":"A1"}`},
		{"array", "search", `["x"]`},
		{"string", "search", `"{\"query\":\"x\"}"`},
		{"null as a whole", "search", `null`},
		{"trailing garbage", "search", `{"query":"x"} and more`},
		{"two objects", "search", `{"query":"x"}{"query":"y"}`},
		{"cut", "search", `{"query":"x`},
		{"cut after a comma", "search", `{"query":"x",`},
		{"cut within an escape", "search", `{"query":"x\u00`},
		{"single quotes", "search", `{'query':'x'}`},
		{"trailing comma", "search", `{"query":"x",}`},
		{"raw newline", "search", "{\"query\":\"a\nb\"}"},
		{"duplicate", "search", `{"query":"x","query":"y"}`},
		{"duplicate by escape", "search", `{"query":"x","qu\u0065ry":"y"}`},
		{"nested duplicate", "search", `{"query":"x","paths":[{"a":1,"a":2}]}`},
		{"invalid UTF-8", "search", "{\"query\":\"a\xffb\"}"},
		{"lone high surrogate", "search", `{"query":"a\ud83d"}`},
		{"lone low surrogate", "search", `{"query":"\ude00"}`},
		{"two high surrogates", "search", `{"query":"\ud83d\ud83d"}`},
		{"pair", "search", `{"query":"\ud83d\ude00"}`},
		{"escaped backslash", "search", `{"query":"\\ud83d"}`},
		{"huge number", "search", `{"query":"x","limit":1e999}`},
		{"too deep", "search", `{"query":` + strings.Repeat("[", 20_000)},
	} {
		err := set.Check(tt.tool, json.RawMessage(tt.args))
		if err == nil {
			err = errors.New("ok")
		}
		if len(err.Error()) > 500 || !utf8.ValidString(err.Error()) {
			t.Errorf("%s: error of %d bytes is too long or not UTF-8", tt.name, len(err.Error()))
		}
		fmt.Fprintf(&b, "%s: %v\n", tt.name, err)
	}
	golden(t, "check.golden", b.String())
}

func TestRunNeverRunsWhatCheckRefuses(t *testing.T) {
	ran := false
	set := newSet(t, fake{name: "x", schema: searchSchema, run: func(context.Context, tool.Call) (tool.Result, error) {
		ran = true
		return tool.Result{}, nil
	}})
	for _, args := range []string{`{"query":"x"`, `{"query":1}`, ""} {
		if _, err := set.Run(t.Context(), tool.Call{Name: "x", Args: json.RawMessage(args)}); err == nil || ran {
			t.Errorf("%s: got %v, ran %t", args, err, ran)
		}
	}
	if _, err := set.Run(t.Context(), tool.Call{Name: "y"}); err == nil {
		t.Error("an unknown tool ran")
	}
}

func TestRunGivesEmptyArgumentsAsObject(t *testing.T) {
	set := newSet(t, echo("x", `{"type":"object"}`))
	result, err := set.Run(t.Context(), tool.Call{Name: "x"})
	if err != nil || result.Output != "{}" {
		t.Errorf("got %q, %v", result.Output, err)
	}
}

func TestRunPanic(t *testing.T) {
	cause := errors.New("boom")
	set := newSet(t, fake{
		name: "x", schema: `{"type":"object"}`,
		run: func(context.Context, tool.Call) (tool.Result, error) {
			panic(cause)
		},
	})
	_, err := set.Run(t.Context(), tool.Call{Name: "x"})
	var panicked *tool.PanicError
	if !errors.As(err, &panicked) || !errors.Is(err, cause) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(panicked.Stack, "TestRunPanic") || panicked.Tool != "x" {
		t.Errorf("the stack does not name the place:\n%s", panicked.Stack)
	}
	if want := `the tool "x" has a defect: panic: boom`; err.Error() != want {
		t.Errorf("got %q", err)
	}
}

func TestRunMakesResultsValid(t *testing.T) {
	set := newSet(t,
		fake{
			name: "output", schema: `{"type":"object"}`,
			run: func(_ context.Context, call tool.Call) (tool.Result, error) {
				call.Progress("never nil")
				return tool.Result{Output: "a\xff\xfeb", Detail: json.RawMessage(`{"broken`)}, nil
			},
		},
		fake{name: "error", schema: `{"type":"object"}`, run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, fmt.Errorf("no file \xff: %w", os.ErrNotExist)
		}})
	result, err := set.Run(t.Context(), tool.Call{Name: "output"})
	if err != nil || result.Output != "a\uFFFDb" || result.Detail != nil {
		t.Errorf("got %+v, %v", result, err)
	}
	_, err = set.Run(t.Context(), tool.Call{Name: "error"})
	if err == nil || !utf8.ValidString(err.Error()) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestRunCancelled(t *testing.T) {
	cause := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	started := 0
	set := newSet(t, fake{
		name: "x", schema: `{"type":"object"}`,
		run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			started++
			cancel(cause)
			<-ctx.Done()
			return tool.Result{Output: "half"}, context.Cause(ctx)
		},
	})
	result, err := set.Run(ctx, tool.Call{Name: "x"})
	if diff := cmp.Diff(tool.Result{Output: "half", Aborted: true}, result); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	// C5: a call that has not started by the time of the interrupt does not start.
	if result, err = set.Run(ctx, tool.Call{Name: "x"}); !result.Aborted || err != nil || started != 1 {
		t.Errorf("got %+v, %v, started %d times", result, err, started)
	}
}

func TestTitle(t *testing.T) {
	set := newSet(t, fake{
		name: "x", schema: `{"type":"object","properties":{"a":{"type":"string"}}}`,
		title: func(args json.RawMessage) string {
			if string(args) == `{"a":"panic"}` {
				panic("no title")
			}
			return "look at\n" + string(args)
		},
	})
	for _, tt := range []struct{ tool, args, want string }{
		{"x", `{"a":"b"}`, `look at {"a":"b"}`},
		{"x", `{"a":"panic"}`, "x"},
		{"x", `{"a":1}`, "x"},
		{"x", ``, "look at {}"},
		{"nope", `{}`, "nope"},
	} {
		if got := set.Title(tt.tool, json.RawMessage(tt.args)); got != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.tool, tt.args, got, tt.want)
		}
	}
	if got := set.Title("x", json.RawMessage(`{"a":"`+strings.Repeat("é", 300)+`"}`)); len(got) > 210 ||
		!utf8.ValidString(got) {
		t.Errorf("a title of %d bytes", len(got))
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"query":"x"}`, `{"query":"\ud83d\ude00","limit":3}`, `{"a":[{}],"a":1}`,
		"{\"\xff\":1}", `\u`, `{"q":"\ud8`,
	} {
		f.Add([]byte(seed))
	}
	set, err := tool.NewSet(echo("search", searchSchema))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		err := set.Check("search", args)
		if err != nil {
			if len(err.Error()) > 500 || !utf8.ValidString(err.Error()) {
				t.Fatalf("error of %d bytes is too long or not UTF-8: %q", len(err.Error()), err)
			}
			return
		}
		var in struct{ Query string }
		if err := json.Unmarshal(args, &in); err != nil || in.Query == "" {
			t.Fatalf("accepted %q: %v", args, err)
		}
	})
}

// A child agent from which tools are taken away keeps deferred tools deferred.
func TestKeepLeavesToolsDeferred(t *testing.T) {
	set := newSet(t, echo("a", searchSchema), deferred{echo("b", searchSchema)})
	if got := set.Keep("b").Specs(); len(got) != 1 || got[0].Deferred == "" {
		t.Errorf("got %+v", got)
	}
}

func TestRefusing(t *testing.T) {
	refused := errors.New("refused")
	set := newSet(t, echo("a", searchSchema), echo("b", searchSchema)).Refusing(
		func(name string, _ json.RawMessage) error {
			if name == "b" {
				return refused
			}
			return nil
		},
	)
	for name, want := range map[string]bool{"a": false, "b": true} {
		_, err := set.Keep("a", "b").Run(t.Context(), tool.Call{Name: name, Args: json.RawMessage(`{"query":"x"}`)})
		if errors.Is(err, refused) != want || errors.Is(set.Check(name, nil), refused) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
