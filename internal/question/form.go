package question

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/settle-agent/settle/event"
)

// Field is a value that a form asks for.
type Field struct {
	Name        string
	Title       string `json:"title"`
	Description string `json:"description"`
	// Type is string, number, integer, boolean or array (of some of the options).
	Type     string `json:"type"`
	Required bool
	Options  []Option
	Default  json.RawMessage `json:"default"`
	// Text, if set, is the name of an answer that is none of the options.
	Text  string `json:"-"`
	words string // that ask for it, if they are a model's
}

// Option is a value that a person can choose.
type Option struct{ Value, Label string }

// choice is a schema's list of options.
type choice struct {
	Enum  []string `json:"enum"`
	Names []string `json:"enumNames"`
	OneOf []titled `json:"oneOf"`
	AnyOf []titled `json:"anyOf"`
}

type titled struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

func (c choice) options() []Option {
	var out []Option
	for n, value := range c.Enum {
		label := value
		if n < len(c.Names) {
			label = c.Names[n]
		}
		out = append(out, Option{value, label})
	}
	for _, t := range slices.Concat(c.OneOf, c.AnyOf) {
		out = append(out, Option{t.Const, cmp.Or(t.Title, t.Const)})
	}
	return out
}

// Fields returns the fields of a form, in the order of its schema.
func Fields(f event.Form) ([]Field, error) {
	switch {
	case f.URL != "":
		return nil, nil
	case len(f.Questions) > 0:
		return questionFields(f.Questions), nil
	}
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(f.Schema, &schema); err != nil {
		return nil, fmt.Errorf("cannot read the form: %w", err)
	}
	if len(schema.Properties) == 0 {
		return nil, nil
	}
	properties, err := fields(string(schema.Properties))
	if err != nil {
		return nil, fmt.Errorf("cannot read the form: %w", err)
	}
	var out []Field
	for _, p := range properties {
		var d struct {
			Field
			choice

			Items choice `json:"items"`
		}
		if err := json.Unmarshal(p.value, &d); err != nil {
			return nil, fmt.Errorf("cannot read the field %q: %w", p.name, err)
		}
		field := d.Field
		field.Name, field.Required, field.Options = p.name, slices.Contains(schema.Required, p.name), slices.Concat(
			d.options(), d.Items.options(),
		)
		out = append(out, field)
	}
	return out, nil
}

// CheckForm returns an error if the content does not fit the form.
func CheckForm(f event.Form, content json.RawMessage) error {
	if f.URL != "" {
		if len(content) > 0 && string(content) != "{}" && string(content) != "null" {
			return errors.New("a page to open takes no values")
		}
		return nil
	}
	var values map[string]any
	if err := json.Unmarshal(content, &values); err != nil || values == nil {
		return errors.New("the values are no JSON object")
	}
	list, err := Fields(f)
	if err != nil {
		return err
	}
	var missing []string
	for _, field := range list {
		if _, ok := values[field.Name]; field.Required && !ok {
			missing = append(missing, field.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing: %s", strings.Join(missing, ", "))
	}
	if unknown := unknownNames(list, values); len(unknown) > 0 {
		return fmt.Errorf("unknown: %s", Line(strings.Join(unknown, ", ")))
	}
	return valid(f.Schema, values)
}

// unknownNames returns the names of values that the form does not ask for, in order. Their answers would be
// lost.
func unknownNames(list []Field, values map[string]any) (names []string) {
	for name := range values {
		if !slices.ContainsFunc(list, func(f Field) bool { return name == f.Name || f.Text != "" && name == f.Text }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// valid validates values against a schema from outside, which may make the library panic.
func valid(raw json.RawMessage, values map[string]any) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("cannot check the values: %v", v)
		}
	}()
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return fmt.Errorf("cannot read the form: %w", err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("cannot read the form: %w", err)
	}
	return resolved.Validate(values)
}

// FormText returns the complete form for a person to read.
func FormText(f event.Form) (string, error) {
	var b strings.Builder
	if len(f.Questions) > 0 {
		if questionsText(&b, f); b.Len() > MaxText {
			return "", tooLong(b.Len())
		}
		return strings.TrimSuffix(b.String(), "\n"), nil
	}
	block(&b, "the MCP server "+f.Server+" asks", f.Message)
	if f.URL != "" {
		fmt.Fprintf(&b, "  to open: %s\n", Line(f.URL))
	}
	list, err := Fields(f)
	if err != nil {
		return "", err
	}
	for _, field := range list {
		fmt.Fprintf(&b, "  %s\n", field.Line())
	}
	if b.Len() > MaxText {
		return "", tooLong(b.Len())
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Line describes the field in one line.
func (f Field) Line() string {
	if f.words != "" {
		return Line(f.words)
	}
	text := Line(f.Name)
	if f.Title != "" && f.Title != f.Name {
		text += " (" + Line(f.Title) + ")"
	}
	text += ": " + Line(cmp.Or(f.Type, "string"))
	if !f.Required {
		text += ", optional"
	}
	if len(f.Options) > 0 {
		var labels []string
		for n, o := range f.Options {
			labels = append(labels, fmt.Sprintf("%d %s", n+1, Line(o.Label)))
		}
		verb := "one of "
		if f.Type == "array" {
			verb = "some of "
		}
		text += ", " + verb + strings.Join(labels, ", ")
	}
	if len(f.Default) > 0 && string(f.Default) != "null" {
		text += ", default " + Line(string(f.Default))
	}
	if f.Description != "" {
		text += ". " + Line(f.Description)
	}
	return text
}
