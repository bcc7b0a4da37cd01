package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Set is the set of tools that a turn offers, in a fixed order. It is immutable and safe
// for concurrent use.
type Set struct {
	entries []*entry
	byName  map[string]*entry
	// refuse, if set, returns why a call is refused.
	refuse func(name string, args json.RawMessage) error
}

// entry is a tool with its Spec, which is requested once, because a change would break the
// provider's prompt cache.
type entry struct {
	tool   Tool
	spec   *Spec // of the tool, which has only one
	schema *Schema
}

// NewSet returns the set of the tools in the given order. Duplicate names, names that
// providers refuse and schemas that are not JSON objects are errors.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{entries: make([]*entry, 0, len(tools)), byName: make(map[string]*entry, len(tools))}
	for _, t := range tools {
		spec := specOf(t)
		if err := checkSpec(spec); err != nil {
			return nil, err
		}
		if s.byName[spec.Name] != nil {
			return nil, fmt.Errorf("cannot add tool %q: there are two of that name", spec.Name)
		}
		s.add(&entry{tool: t, spec: spec, schema: NewSchema(spec.Schema)})
	}
	return s, nil
}

// specOf returns the Spec of a tool. Tools of [New] need no copy of it.
func specOf(t Tool) *Spec {
	if d, ok := t.(interface{ declared() *Spec }); ok {
		return d.declared()
	}
	spec := t.Spec()
	return &spec
}

func (s *Set) add(e *entry) {
	s.entries = append(s.entries, e)
	s.byName[e.spec.Name] = e
}

const maxName = 64

func checkSpec(spec *Spec) error {
	if err := checkName(spec.Name); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(spec.Schema, &fields); err != nil || fields == nil {
		return fmt.Errorf("cannot add tool %q: its schema is not a JSON object", spec.Name)
	}
	if string(fields["type"]) != `"object"` {
		return fmt.Errorf("cannot add tool %q: its schema is of type %s, want \"object\"", spec.Name,
			orNone(fields["type"]))
	}
	return nil
}

func orNone(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "none"
	}
	return string(raw)
}

func checkName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("cannot name a tool %q: a name has 1 to %d characters", clip(name), maxName)
	}
	for _, r := range name {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", r) {
			return fmt.Errorf("cannot name a tool %q: %q is not one of a-z, A-Z, 0-9, _ and -", name, r)
		}
	}
	return nil
}

// Names returns the tools' names in order.
func (s *Set) Names() []string {
	names := make([]string, len(s.entries))
	for i, e := range s.entries {
		names[i] = e.spec.Name
	}
	return names
}

// Specs returns the tools' specs in order.
func (s *Set) Specs() []Spec {
	specs := make([]Spec, len(s.entries))
	for i, e := range s.entries {
		specs[i] = *e.spec
	}
	return specs
}

// Lookup returns the tool of that name.
func (s *Set) Lookup(name string) (Tool, bool) {
	e, ok := s.byName[name]
	if !ok {
		return nil, false
	}
	return e.tool, true
}

// Offered reports whether models are offered the tool now; see [Occasional].
func (s *Set) Offered(name string) bool {
	e := s.byName[name]
	if e == nil {
		return true
	}
	o, ok := e.tool.(Occasional)
	return !ok || o.Offered()
}

// Only returns the set of the named tools in the order of s, offered to every model. An
// unknown name is an error that lists the choices.
func (s *Set) Only(names ...string) (*Set, error) {
	for _, name := range names {
		if s.byName[name] == nil {
			return nil, s.unknown(name)
		}
	}
	only := &Set{byName: make(map[string]*entry, len(names)), refuse: s.refuse}
	for _, e := range s.entries {
		if slices.Contains(names, e.spec.Name) {
			spec := *e.spec
			spec.Deferred = ""
			only.add(&entry{tool: e.tool, spec: &spec, schema: e.schema})
		}
	}
	return only, nil
}

// Keep returns the set of the tools with the names, in the order of s. Unlike in [Set.Only],
// deferred tools remain deferred.
func (s *Set) Keep(names ...string) *Set {
	kept := &Set{byName: make(map[string]*entry, len(names)), refuse: s.refuse}
	for _, e := range s.entries {
		if slices.Contains(names, e.spec.Name) {
			kept.add(e)
		}
	}
	return kept
}

// Refusing returns the set of the same tools that refuses the calls for which refuse returns
// an error, such as calls of a tool that calls other tools.
func (s *Set) Refusing(refuse func(name string, args json.RawMessage) error) *Set {
	c := *s
	c.refuse = refuse
	return &c
}

func (s *Set) unknown(name string) error {
	if len(s.entries) == 0 {
		return fmt.Errorf("there is no tool %q: no tools are offered", clip(name))
	}
	var names []string
	for _, e := range s.entries {
		if e.spec.Deferred == "" && s.Offered(e.spec.Name) { // there are many deferred tools
			names = append(names, e.spec.Name)
		}
	}
	return fmt.Errorf("there is no tool %q; the tools are %s", clip(name), strings.Join(names, ", "))
}

// Check returns nil for a valid call, or an error for the model about the tool's name or
// its arguments. It has no effect.
func (s *Set) Check(name string, args json.RawMessage) error {
	e := s.byName[name]
	if e == nil {
		return s.unknown(name)
	}
	if s.refuse != nil {
		if err := s.refuse(name, args); err != nil {
			return err
		}
	}
	return e.check(args)
}

func (e *entry) check(args json.RawMessage) error {
	if err := e.schema.Check(args); err != nil {
		return fmt.Errorf("cannot call %q: %w", e.spec.Name, err)
	}
	return nil
}

const maxTitle = 200

// Starts returns the programs of clients that a call would start.
func (s *Set) Starts(name string, args json.RawMessage) []Program {
	e := s.byName[name]
	if e == nil {
		return nil
	}
	starter, ok := e.tool.(Starter)
	if !ok || e.check(args) != nil {
		return nil
	}
	return starter.Starts(orEmpty(args))
}

// Title describes a call in one line for people, also with invalid arguments.
func (s *Set) Title(name string, args json.RawMessage) (title string) {
	e := s.byName[name]
	if e == nil {
		return clip(name)
	}
	titler, ok := e.tool.(Titler)
	if !ok || e.check(args) != nil {
		return name
	}
	defer func() {
		if recover() != nil { // a title is not worth a failed turn
			title = name
		}
	}()
	title = strings.Join(strings.Fields(strings.ToValidUTF8(titler.Title(orEmpty(args)), "\uFFFD")), " ")
	if title == "" {
		return name
	}
	return clipTo(title, maxTitle)
}

// Run checks the call and runs its tool. Every failure is an error for the model; a panic
// of the tool is a [*PanicError]. An error of a tool whose context was cancelled becomes a
// Result with Aborted set. A call with a cancelled context does not start.
func (s *Set) Run(ctx context.Context, call Call) (Result, error) {
	if err := s.Check(call.Name, call.Args); err != nil {
		return Result{}, err
	}
	e := s.byName[call.Name]
	if ctx.Err() != nil {
		return Result{Aborted: true}, nil
	}
	call.Args = orEmpty(call.Args)
	if call.Progress == nil {
		call.Progress = func(string) {}
	}
	if call.Notice == nil {
		call.Notice = func(string) {}
	}
	result, err := run(ctx, e.tool, call)
	return settle(ctx, result, err)
}

// settle completes a tool's result to the guarantees of Result.
func settle(ctx context.Context, result Result, err error) (Result, error) {
	var panicked *PanicError
	if err != nil && ctx.Err() != nil && !errors.As(err, &panicked) {
		if result.Output == "" && !errors.Is(err, ctx.Err()) && !errors.Is(err, context.Cause(ctx)) {
			result.Output = err.Error()
		}
		result.Aborted, err = true, nil
	}
	result.Output = strings.ToValidUTF8(result.Output, "\uFFFD")
	if len(result.Detail) > 0 && !json.Valid(result.Detail) {
		result.Detail = nil // the log could not store it
	}
	if err != nil && !utf8.ValidString(err.Error()) {
		err = validError{err}
	}
	return result, err
}

// validError is an error whose text is valid UTF-8.
type validError struct{ err error }

func (e validError) Error() string { return strings.ToValidUTF8(e.err.Error(), "\uFFFD") }
func (e validError) Unwrap() error { return e.err }
