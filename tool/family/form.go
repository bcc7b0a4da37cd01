package family

import (
	"slices"

	"github.com/settle-agent/settle/tool"
)

// form is a family's form of one of settle's tools.
type form struct {
	name string // the family's name
	tool string // settle's name
	// offered reports that the model is offered this form instead of the tool; beside, that
	// it is offered both. Other forms are only accepted in calls.
	offered, beside bool
	// description of the tool; "" for settle's own.
	description func(settles string) string
	// schema of the arguments; "" for settle's own with renamed and without omitted
	// arguments.
	schema string
	// renames are pairs of argument names: the family's and settle's.
	renames [][2]string
	// omitted are settle's arguments that the family does not have.
	omitted []string
	// optional are settle's arguments that the tool does not have in every session, where
	// they have no meaning.
	optional []string
	// ignored are arguments without a meaning in settle that models of the family can send.
	ignored []string
	// read converts arguments to settle's form, after renames and without ignored
	// arguments. It can choose another tool.
	read func(o *object) (tool string, err error)
	// write is the inverse, before renames; it reports whether the call has an equivalent.
	write func(o *object) bool
}

// suits reports whether the tool is settle's tool, and not a program's own tool of that
// name.
func (f *form) suits(spec tool.Spec) bool {
	schema, ok := parse(string(spec.Schema))
	if !ok || spec.Name != f.tool {
		return false
	}
	properties, ok := schema.properties()
	// others can be missing, such as arguments for a sandbox
	return ok && (len(f.renames) == 0 || properties.has(f.renames[0][0]))
}

// spec returns the tool in the family's form.
func (f *form) spec(of tool.Spec) tool.Spec {
	of.Name = f.name
	if f.description != nil {
		of.Description = f.description(of.Description)
	}
	of.Schema = shared(f.name+" "+f.tool, of.Schema, func() []byte { return f.schemaOf(of.Schema) })
	return of
}

// schemaOf returns the family's schema of the arguments, from settle's.
func (f *form) schemaOf(settles []byte) []byte {
	if f.schema != "" {
		return []byte(f.schema)
	}
	schema, ok := parse(string(settles))
	if !ok {
		return settles
	}
	properties, ok := schema.properties()
	if !ok {
		return settles
	}
	properties.drop(f.omitted...)
	required := names(schema, "required")
	for _, r := range f.renames {
		properties.rename(r[0], r[1])
		if n := slices.Index(required, r[0]); n >= 0 {
			required[n] = r[1]
		}
	}
	schema.find("properties").value = properties.String()
	if len(required) > 0 {
		schema.set("required", required)
	}
	return []byte(schema.String())
}

// properties returns the properties of a schema.
func (o *object) properties() (*object, bool) {
	m := o.find("properties")
	if m == nil {
		return nil, false
	}
	return parse(m.value)
}

// settles converts the family's arguments to settle's form.
func (f *form) settles(o *object) (name string, err error) {
	for _, r := range f.renames {
		o.rename(r[1], r[0])
	}
	name = f.tool
	if f.read != nil {
		if chosen, err := f.read(o); err != nil || chosen != "" {
			return chosen, err
		}
	}
	return name, nil
}

// families is the inverse; false if the call has no equivalent.
func (f *form) families(o *object) bool {
	if f.write != nil && !f.write(o) {
		return false
	}
	o.drop(f.omitted...)
	for _, r := range f.renames {
		o.rename(r[0], r[1])
	}
	return true
}
