package family

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool"
)

// Offer selects the tools of a set that a model is offered.
type Offer string

// The offers.
const (
	Suitable Offer = ""    // the tools that suit its family
	Every    Offer = "all" // all tools, because the user or the program chose them
)

// View is a set of tools in the form of a family of models.
type View struct {
	family Family
	set    *tool.Set
	specs  []tool.Spec
	forms  map[string]*form        // by the family's name
	checks map[string]*tool.Schema // of the forms' arguments
}

// New returns the view of the set.
func New(f Family, offer Offer, set *tool.Set) *View {
	v := &View{family: f, set: set, forms: map[string]*form{}, checks: map[string]*tool.Schema{}}
	settles := set.Specs()
	has := func(name string) bool {
		return slices.ContainsFunc(settles, func(s tool.Spec) bool { return s.Name == name })
	}
	hidden := f.hidden()
	for _, spec := range settles {
		if by := hidden[spec.Name]; by != "" && has(by) && offer != Every {
			continue
		}
		form := f.offer(spec.Name)
		if form == nil || !form.suits(spec) || has(form.name) {
			v.specs = append(v.specs, f.brief(spec))
			continue
		}
		formed := form.spec(spec)
		v.specs, v.forms[form.name], v.checks[form.name] = append(v.specs, f.brief(formed)), form,
			tool.NewSchema(formed.Schema)
		if form.beside {
			v.specs = append(v.specs, f.brief(spec))
		}
	}
	return v
}

// brief omits the parts of a schema that models do not need and that are checked anyway,
// because every session pays for them.
func (f Family) brief(spec tool.Spec) tool.Spec {
	if f != None {
		spec.Schema = shared("", spec.Schema, func() []byte { return briefSchema(spec.Schema) })
	}
	return spec
}

func briefSchema(text []byte) []byte {
	schema, ok := parse(string(text))
	if !ok || schema.text("type") != "object" {
		return text
	}
	if m := schema.find("additionalProperties"); m != nil && m.value == "false" {
		schema.drop("additionalProperties")
	}
	if properties, ok := schema.properties(); ok {
		for n := range properties.members {
			if p, ok := parse(properties.members[n].value); ok {
				p.drop("minLength", "minimum")
				properties.members[n].value = p.String()
			}
		}
		schema.find("properties").value = properties.String()
	}
	return []byte(schema.String())
}

// offer returns the form in which the family is offered a tool; nil for settle's own.
func (f Family) offer(name string) *form {
	for _, x := range f.forms() {
		if x.tool == name && x.offered {
			return x
		}
	}
	return nil
}

// Specs returns the offered tools in the order of the set.
func (v *View) Specs() []tool.Spec { return v.specs }

// Name returns settle's name of a tool that the model names.
func (v *View) Name(name string) string {
	if f := v.form(name); f != nil {
		return f.tool
	}
	return name
}

// form returns the form with the name; nil for a tool of the set, or an unknown name.
func (v *View) form(name string) *form {
	if f := v.forms[name]; f != nil {
		return f
	}
	if _, ok := v.set.Lookup(name); ok {
		return nil
	}
	f := v.family.named(name)
	if f == nil {
		return nil
	}
	for _, spec := range v.set.Specs() {
		if f.suits(spec) {
			return f
		}
	}
	return nil
}

// Call is a call in settle's form.
type Call struct {
	Name, Arguments string
	// Sent is the model's form; nil if it is the same.
	Sent *event.Sent
	// Err is the model's error for a call that cannot be made; nil for a valid call.
	Err error
}

// Read converts a call to settle's form.
func (v *View) Read(name, arguments string) Call {
	f := v.form(name)
	if f == nil {
		c := Call{Name: name, Arguments: arguments}
		if _, ok := v.set.Lookup(name); !ok && v.family != None {
			c.Err = v.unknown(name)
		}
		return c
	}
	as := func(tool, text string) Call {
		c := Call{Name: tool, Arguments: text, Sent: &event.Sent{Name: name}}
		if restored, ok := restore(f, text); !ok || restored != arguments {
			c.Sent.Arguments = arguments
		} else if tool == name {
			c.Sent = nil
		}
		return c
	}
	given, isObject := parse(arguments)
	if !isObject {
		return as(f.tool, arguments) // the tool reports the errors in them
	}
	given.drop(f.ignored...)
	v.dropOptional(f, given)
	if check := v.checks[name]; check != nil {
		if err := check.Check([]byte(given.String())); err != nil {
			if v.set.Check(f.tool, json.RawMessage(arguments)) == nil {
				return as(f.tool, arguments) // already in settle's form
			}
			c := as(f.tool, arguments)
			c.Err = fmt.Errorf("cannot call %q: %w", name, err)
			return c
		}
	}
	settles, err := f.settles(given)
	if err != nil {
		c := as(f.tool, arguments)
		c.Err = fmt.Errorf("cannot call %q: %w", name, err)
		return c
	}
	return as(settles, given.String())
}

// plainAgent is Claude Code's name for a child agent without a definition.
const plainAgent = "general-purpose"

// dropOptional drops the arguments that the session's tool does not have.
func (v *View) dropOptional(f *form, given *object) {
	for _, key := range f.optional {
		theirs := key
		for _, r := range f.renames {
			if r[0] == key {
				theirs = r[1]
			}
		}
		choices, there := v.argument(f.tool, key)
		if !there || given.text(theirs) == plainAgent && !slices.Contains(choices, plainAgent) {
			given.drop(theirs)
		}
	}
}

// argument reports whether one of the session's tools has an argument, and its choices.
func (v *View) argument(name, argument string) (choices []string, there bool) {
	t, ok := v.set.Lookup(name)
	if !ok {
		return nil, false
	}
	var schema struct {
		Properties map[string]struct {
			Enum []any `json:"enum"`
		} `json:"properties"`
	}
	if json.Unmarshal(t.Spec().Schema, &schema) != nil {
		return nil, false
	}
	property, there := schema.Properties[argument]
	for _, choice := range property.Enum {
		if text, ok := choice.(string); ok {
			choices = append(choices, text)
		}
	}
	return choices, there
}

func (v *View) unknown(name string) error {
	if len(v.specs) == 0 {
		return nil // the set reports it
	}
	var offered []string
	for _, s := range v.specs {
		if s.Deferred == "" {
			offered = append(offered, s.Name)
		}
	}
	if len(name) > 64 {
		name = strings.ToValidUTF8(name[:64], "") + "…"
	}
	return fmt.Errorf("there is no tool %q; the tools are %s", name, strings.Join(offered, ", "))
}

// restore converts arguments back to the family's form.
func restore(f *form, settles string) (string, bool) {
	o, ok := parse(settles)
	if !ok || !f.families(o) {
		return settles, false
	}
	return o.String(), true
}

// Replay returns a call in the form of the model that made it.
func Replay(name, arguments string, sent *event.Sent) (string, string) {
	switch {
	case sent == nil:
		return name, arguments
	case sent.Arguments != "":
		return sent.Name, sent.Arguments
	}
	for _, f := range All() {
		for _, x := range f.forms() {
			if x.name == sent.Name {
				arguments, _ = restore(x, arguments)
				return sent.Name, arguments
			}
		}
	}
	return sent.Name, arguments
}

// Write converts a call from settle's form to the family's.
func Write(f Family, name, arguments string) (string, string) {
	x := f.offer(name)
	if x == nil {
		return name, arguments
	}
	o, ok := parse(arguments)
	if !ok {
		return x.name, arguments
	}
	if !x.families(o) {
		return name, arguments
	}
	return x.name, o.String()
}
