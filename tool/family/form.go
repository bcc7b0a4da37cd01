package family

import (
	"slices"

	"github.com/settle-agent/settle/tool"
)

// form is how a family knows one of settle's tools.
type form struct {
	name string // the family's
	tool string // settle's
	// offered says that the form stands for the tool; beside, that the tool is offered
	// as well. Others are only understood.
	offered, beside bool
	// description of the tool; "" for settle's own.
	description func(settles string) string
	// schema of the arguments; "" for settle's own, with the names changed and
	// without what is omitted.
	schema string
	// renames are names of arguments, the family's by settle's.
	renames [][2]string
	// omitted are arguments of settle's that the family does not have.
	omitted []string
	// ignored are arguments that models of the family may send, and that mean
	// nothing here.
	ignored []string
	// read brings arguments into settle's words, after the names were changed and
	// what is ignored left out. It may choose another tool.
	read func(o *object) (tool string, err error)
	// write is the inverse, before the names are changed; it reports whether the
	// call can be said so.
	write func(o *object) bool
}

// suits reports whether the tool is the one that the form is of, and not
// somebody's own of that name.
func (f *form) suits(spec tool.Spec) bool {
	schema, ok := parse(string(spec.Schema))
	if !ok || spec.Name != f.tool {
		return false
	}
	properties, ok := schema.child("properties")
	return ok && (len(f.renames) == 0 || properties.has(f.renames[0][0])) // others may be missing, such as what is for a sandbox
}

// spec is the tool as the family knows it.
func (f *form) spec(of tool.Spec) tool.Spec {
	of.Name = f.name
	if f.description != nil {
		of.Description = f.description(of.Description)
	}
	if f.schema != "" {
		of.Schema = []byte(f.schema)
		return of
	}
	schema, ok := parse(string(of.Schema))
	if !ok {
		return of
	}
	properties, ok := schema.child("properties")
	if !ok {
		return of
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
	of.Schema = []byte(schema.String())
	return of
}

// child is a member that is an object.
func (o *object) child(key string) (*object, bool) {
	m := o.find(key)
	if m == nil {
		return nil, false
	}
	return parse(m.value)
}

// settles brings the family's arguments into settle's words.
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

// families is the inverse; false if the call cannot be said so.
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
