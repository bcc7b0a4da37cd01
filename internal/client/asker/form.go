package asker

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/question"
)

// Reply is the response to a form, with the fields that protocols use.
type Reply struct {
	Action  string          `json:"action"` // accept, decline or cancel
	Content json.RawMessage `json:"content"`
}

// Answer converts the reply. A protocol error is an answer by policy, not by a person.
func (r Reply) Answer() Answer {
	switch r.Action {
	case "accept":
		if len(r.Content) == 0 || string(r.Content) == "null" {
			r.Content = json.RawMessage("{}")
		}
		return Answer{Verdict: event.Approved, Content: r.Content}
	case "cancel":
		return Answer{Verdict: event.Denied, Message: "the user closed the form"}
	}
	return Answer{Verdict: event.Denied}
}

// Filled converts a client's reply to a form.
func Filled(r Reply, err error) (Answer, error) {
	if err != nil {
		return Answer{
			Verdict: event.Denied,
			Policy:  policyForms,
			Message: "the client could not ask: " + err.Error(),
		}, nil
	}
	return r.Answer(), nil
}

// Mode is the protocols' name for the kind of form.
func Mode(f event.Form) string {
	if f.URL != "" {
		return "url"
	}
	return "form"
}

// Entry is a form that is filled in line by line.
type Entry struct {
	form   event.Form
	fields []question.Field
	values map[string]any
}

// NewEntry begins to fill in a form.
func NewEntry(f event.Form) (*Entry, error) {
	fields, err := question.Fields(f)
	return &Entry{f, fields, map[string]any{}}, err
}

// Prompt describes the next field; "" if all fields have values.
func (e *Entry) Prompt() string {
	if len(e.fields) == 0 {
		return ""
	}
	return e.fields[0].Line()
}

// Take takes a line for the field. An empty one is the default, or leaves it out.
func (e *Entry) Take(line string) error {
	if len(e.fields) == 0 {
		return nil
	}
	f := e.fields[0]
	line = strings.TrimSpace(line)
	switch {
	case line != "":
		if f.Text != "" {
			return e.takeAnswer(f, line)
		}
		value, err := valueOf(f, line)
		if err != nil {
			return err
		}
		e.values[f.Name] = value
	case len(f.Default) > 0 && string(f.Default) != "null":
		e.values[f.Name] = f.Default
	case f.Required && (f.Type != "string" && f.Type != "" || len(f.Options) > 0):
		return fmt.Errorf("%s is required", question.Line(f.Name))
	case f.Required:
		e.values[f.Name] = ""
	}
	e.fields = e.fields[1:]
	return nil
}

// takeAnswer takes the answer to a question of the model: options, by number or label, and
// own words. Numbers alone must be options, and as many as can be chosen.
func (e *Entry) takeAnswer(f question.Field, line string) error {
	parts := strings.Split(line, ",")
	if f.Type != "array" {
		parts = []string{line}
	}
	options, text, numbers := []string{}, []string{}, !strings.ContainsFunc(line, func(r rune) bool {
		return !strings.ContainsRune("0123456789, ", r)
	})
	for _, one := range parts {
		one = strings.TrimSpace(one)
		switch value, err := chosen(f, one); {
		case err == nil:
			options = append(options, value)
		case numbers:
			return err
		default:
			text = append(text, one)
		}
	}
	if len(options) > 0 && f.Type == "array" {
		e.values[f.Name] = options
	} else if len(options) > 0 {
		e.values[f.Name] = options[0]
	}
	if len(text) > 0 {
		e.values[f.Text] = strings.Join(text, ", ")
	}
	e.fields = e.fields[1:]
	return nil
}

// Began reports whether a field has a value.
func (e *Entry) Began() bool { return len(e.values) > 0 }

// Content is the JSON object of the values.
func (e *Entry) Content() json.RawMessage {
	raw, _ := json.Marshal(e.values) // of values that were JSON
	return raw
}

// Check returns why the values do not satisfy the form.
func (e *Entry) Check() error { return question.CheckForm(e.form, e.Content()) }

// valueOf reads a line as a value of the field.
func valueOf(f question.Field, line string) (any, error) {
	switch f.Type {
	case "boolean":
		switch strings.ToLower(line) {
		case "y", "yes", "true", "on", "1":
			return true, nil
		case "n", "no", "false", "off", "0":
			return false, nil
		}
		return nil, fmt.Errorf("yes or no, not %q", line)
	case "integer":
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("a whole number, not %q", line)
		}
		return n, nil
	case "number":
		n, err := strconv.ParseFloat(line, 64)
		if err != nil {
			return nil, fmt.Errorf("a number, not %q", line)
		}
		return n, nil
	case "array":
		list := []string{}
		for one := range strings.SplitSeq(line, ",") {
			value, err := chosen(f, strings.TrimSpace(one))
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	return chosen(f, line)
}

// chosen is the option that is named by its value, its label or its number.
func chosen(f question.Field, line string) (string, error) {
	if len(f.Options) == 0 {
		return line, nil
	}
	if at := slices.IndexFunc(
		f.Options, func(o question.Option) bool { return o.Value == line || o.Label == line },
	); at >= 0 {
		return f.Options[at].Value, nil
	}
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(f.Options) {
		return f.Options[n-1].Value, nil
	}
	return "", fmt.Errorf("%q is none of the choices", line)
}
