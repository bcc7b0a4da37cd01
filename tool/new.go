package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/settle-agent/settle/event"
)

// Option changes a tool that New makes.
type Option func(*definition)

// definition is the declaration of a tool, apart from its function.
type definition struct {
	spec  Spec
	title func(args json.RawMessage) string // nil for the name
}

// ReadOnly declares that a call of the tool changes nothing outside settle.
func ReadOnly() Option { return func(d *definition) { d.spec.ReadOnly = true } }

// WithTimeout bounds each call of the tool.
func WithTimeout(timeout time.Duration) Option {
	return func(d *definition) { d.spec.Timeout = timeout }
}

// WithSchema declares the schema of the arguments as JSON instead of inferring it, for
// limits and enumerations. All tools with the same schema share its text.
func WithSchema(schema string) Option {
	raw := newSchema(schema).raw
	return func(d *definition) { d.spec.Schema = raw }
}

// WithGrammar lets models that have custom tools send free text instead of JSON; see
// [Spec].
func WithGrammar(grammar string) Option {
	return func(d *definition) { d.spec.Grammar = grammar }
}

// WithTitle sets the line that describes a call to people.
func WithTitle[In any](title func(in In) string) Option {
	return func(d *definition) {
		d.title = func(args json.RawMessage) string {
			var in In
			if json.Unmarshal(args, &in) != nil {
				return d.spec.Name
			}
			return title(in)
		}
	}
}

// Must returns the tool of a New that cannot fail. It panics on an error.
func Must(t Tool, err error) Tool {
	if err != nil {
		panic(err)
	}
	return t
}

// New makes a tool of a function. The schema of its arguments is inferred
// from In, a struct: `json` tags name the properties, "omitempty" or
// "omitzero" makes one optional, a `jsonschema` tag describes it.
//
// The model receives the function's result: a string or a [Result] unchanged, any other
// value as JSON. An error means that the call failed. When ctx is cancelled, the function
// must return soon; [context.Cause] is the reason. [CallFrom] returns the call.
//
// New fails if the name is not one that providers accept or if In has no
// schema of type object.
func New[In, Out any](name, doc string, run func(ctx context.Context, in In) (Out, error), opts ...Option) (Tool,
	error,
) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	f := &typed[In, Out]{definition{spec: Spec{Name: name, Description: doc}}, run}
	for _, opt := range opts {
		opt(&f.definition)
	}
	if f.spec.Schema != nil {
		return f, nil
	}
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("cannot infer the schema of tool %q: %w", name, err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("cannot infer the schema of tool %q: its arguments are a %T, want a struct", name,
			*new(In))
	}
	if f.spec.Schema, err = json.Marshal(schema); err != nil {
		return nil, fmt.Errorf("cannot encode the schema of tool %q: %w", name, err)
	}
	return f, nil
}

// typed is a tool that is a function of Go values.
type typed[In, Out any] struct {
	definition
	run func(ctx context.Context, in In) (Out, error)
}

// Spec implements Tool.
func (f *typed[In, Out]) Spec() Spec { return f.spec }

// declared returns the Spec itself, which does not change.
func (d *definition) declared() *Spec { return &d.spec }

// Title implements Titler.
func (f *typed[In, Out]) Title(args json.RawMessage) string {
	if f.title == nil {
		return f.spec.Name
	}
	return f.title(args)
}

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

// CallFrom returns the call of a function given to New: its id, directory and Progress.
func CallFrom(ctx context.Context) (Call, bool) {
	call, ok := ctx.Value(callKey{}).(Call)
	return call, ok
}

func outputText(out any) (string, error) {
	if s, ok := out.(string); ok {
		return s, nil
	}
	b, err := event.AppendJSON(nil, out)
	return string(b), err
}
