package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/tool"
)

func ExampleNew() {
	type In struct {
		City string `json:"city" jsonschema:"name of the city"`
		Days int    `json:"days,omitempty" jsonschema:"days to look ahead, 1 by default"`
	}
	forecast := func(_ context.Context, in In) (string, error) {
		return fmt.Sprintf("%s: sun for %d days", in.City, max(in.Days, 1)), nil
	}
	weather, err := tool.New("weather", "Says what the weather will be.", forecast, tool.ReadOnly())
	if err != nil {
		panic(err)
	}
	set, err := tool.NewSet(weather)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	result, err := set.Run(ctx, tool.Call{Name: "weather", Args: json.RawMessage(`{"city": "Lima", "days": 3}`)})
	fmt.Println(result.Output, err)
	_, err = set.Run(ctx, tool.Call{Name: "weather", Args: json.RawMessage(`{"city": "Lima", "days": "three"}`)})
	fmt.Println(err)
	// Output:
	// Lima: sun for 3 days <nil>
	// cannot call "weather": the argument "days" must be an integer, got the string "three"
}

type point struct {
	X int      `json:"x"`
	Y *float64 `json:"y,omitempty" jsonschema:"height"`
	T []string `json:"t,omitempty"`
}

func TestNewInfersSchema(t *testing.T) {
	p, err := tool.New("p", "doc", func(_ context.Context, in point) (point, error) { return in, nil })
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":["null","number"],"description":"height"},` +
		`"t":{"type":["null","array"],"items":{"type":"string"}}},"required":["x"],"additionalProperties":false}`
	if diff := cmp.Diff(want, string(p.Spec().Schema)); diff != "" {
		t.Error(diff)
	}
	result, err := newSet(t, p).Run(t.Context(), tool.Call{Name: "p", Args: json.RawMessage(`{"x":1,"t":["<&>"]}`)})
	if err != nil || result.Output != `{"x":1,"t":["<&>"]}` {
		t.Errorf("got %q, %v", result.Output, err)
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := tool.New("p q", "", func(context.Context, point) (string, error) { return "", nil }); err == nil {
		t.Error("accepted a name with a space")
	}
	if _, err := tool.New("p", "", func(context.Context, string) (string, error) { return "", nil }); err == nil {
		t.Error("accepted a string as arguments")
	}
	if _, err := tool.New("p", "",
		func(context.Context, struct{ F func() }) (string, error) { return "", nil }); err == nil {
		t.Error("accepted a function as an argument")
	}
}

func TestNewPassesResultErrorAndCall(t *testing.T) {
	boom := errors.New("boom")
	p, err := tool.New("p", "", func(ctx context.Context, in point) (tool.Result, error) {
		if in.X == 0 {
			return tool.Result{}, boom
		}
		call, ok := tool.CallFrom(ctx)
		return tool.Result{Output: call.ID, Failed: ok}, nil
	}, tool.ReadOnly())
	if err != nil {
		t.Fatal(err)
	}
	set := newSet(t, p)
	if !set.Specs()[0].ReadOnly {
		t.Error("not read-only")
	}
	if _, err := set.Run(t.Context(), tool.Call{Name: "p", Args: json.RawMessage(`{"x":0}`)}); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	result, err := set.Run(t.Context(), tool.Call{ID: "call-1", Name: "p", Args: json.RawMessage(`{"x":1}`)})
	if diff := cmp.Diff(tool.Result{Output: "call-1", Failed: true}, result); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

// Each session has tools of its own, with equal schemas, and a caller's change of its text changes no session.
func TestEqualSchemasAreShared(t *testing.T) {
	of := func(schema string) json.RawMessage {
		run := func(context.Context, struct{}) (string, error) { return "", nil }
		p, err := tool.New("p", "", run, tool.WithSchema(schema))
		if err != nil {
			t.Fatal(err)
		}
		return newSet(t, p).Specs()[0].Schema
	}
	const schema = `{"type":"object","properties":{"shared":{"type":"string"}}}`
	if first, second := of(schema), of(schema); &first[0] != &second[0] || string(first) != schema {
		t.Errorf("two tools have a schema each: %s and %s", first, second)
	}
	text := []byte(`{"type":"object","properties":{"mine":{"type":"string"}},"additionalProperties":false}`)
	mine := tool.NewSchema(text)
	copy(text, `{"type":"string"}`)
	if err := mine.Check([]byte(`{"mine":"text"}`)); err != nil {
		t.Error(err)
	}
}

// Calls of several sessions check their arguments at the same time, with one schema.
func TestSharedSchemaChecksCallsOfSeveralSessions(t *testing.T) {
	const schema = `{"type":"object","properties":{"at_once":{"type":"integer"}},"required":["at_once"]}`
	var sessions sync.WaitGroup
	for range 8 {
		sessions.Go(func() {
			s := tool.NewSchema([]byte(schema))
			if err := s.Check([]byte(`{"at_once":1}`)); err != nil {
				t.Error(err)
			}
			if err := s.Check([]byte(`{"at_once":"now"}`)); err == nil {
				t.Error("accepted a text as an integer")
			}
		})
	}
	sessions.Wait()
}
