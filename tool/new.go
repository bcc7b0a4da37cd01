package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Option changes a tool that New makes.
type Option func(*Spec)

// ReadOnly says that a call of the tool changes nothing outside settle.
func ReadOnly() Option { return func(s *Spec) { s.ReadOnly = true } }

// New makes a tool of a function. The schema of its arguments is inferred
// from In, a struct: `json` tags name the properties, "omitempty" or
// "omitzero" makes one optional, a `jsonschema` tag describes it.
//
// What the function returns is told to the model: a string as it is, a
// [Result] as it is, anything else as JSON. An error means that the call
// failed. When ctx is cancelled the function is to return soon;
// [context.Cause] says why, and [CallFrom] which call it is.
//
// New fails if the name is not one that providers accept or if In has no
// schema of type object.
func New[In, Out any](name, doc string, run func(ctx context.Context, in In) (Out, error), opts ...Option) (Tool, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("cannot infer the schema of tool %q: %w", name, err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("cannot infer the schema of tool %q: its arguments are a %T, want a struct", name, *new(In))
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the schema of tool %q: %w", name, err)
	}
	f := &typed[In, Out]{spec: Spec{Name: name, Description: doc, Schema: raw}, run: run}
	for _, opt := range opts {
		opt(&f.spec)
	}
	return f, nil
}

// typed is a tool that is a function of Go values.
type typed[In, Out any] struct {
	spec Spec
	run  func(ctx context.Context, in In) (Out, error)
}

// Spec implements Tool.
func (f *typed[In, Out]) Spec() Spec { return f.spec }

// Run implements Tool.
func (f *typed[In, Out]) Run(ctx context.Context, call Call) (Result, error) {
	var in In
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return Result{}, fmt.Errorf("cannot read the arguments of %q: %w", f.spec.Name, err)
	}
	out, err := f.run(context.WithValue(ctx, callKey{}, call), in)
	if result, ok := any(out).(Result); ok {
		return result, err
	}
	if err != nil {
		return Result{}, err
	}
	text, err := outputText(out)
	if err != nil {
		return Result{}, fmt.Errorf("cannot encode the output of %q: %w", f.spec.Name, err)
	}
	return Result{Output: text}, nil
}

type callKey struct{}

// CallFrom returns the call that a function given to New is run for: its id,
// directory and Progress.
func CallFrom(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}

func outputText(out any) (string, error) {
	if s, ok := out.(string); ok {
		return s, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // The model reads it, no browser.
	if err := enc.Encode(out); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
