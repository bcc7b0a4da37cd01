package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// anything replaces a schema that cannot be offered.
const anything = `{"type":"object"}`

const (
	// maxSchema bounds a schema in bytes.
	maxSchema = 64 << 10
	// maxDescription bounds a description in bytes.
	maxDescription = 8 << 10
)

// offeredSchema returns a tool's schema in a form that providers accept (C6), and a note
// for the description. The server itself checks the arguments by its own schema.
func offeredSchema(raw json.RawMessage) (schema json.RawMessage, note string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return json.RawMessage(anything), ""
	}
	if why := unacceptable(raw, fields); why != "" {
		return json.RawMessage(anything), why
	}
	delete(fields, "$schema")
	fields["type"] = json.RawMessage(`"object"`)
	if _, ok := fields["properties"]; !ok {
		fields["properties"] = json.RawMessage("{}")
	}
	schema, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage(anything), ""
	}
	return schema, ""
}

// unacceptable returns the part of a schema that a provider would refuse, or that settle
// cannot check; "" if there is none.
func unacceptable(raw json.RawMessage, fields map[string]json.RawMessage) string {
	if len(raw) > maxSchema {
		return fmt.Sprintf("The JSON schema of its arguments has %d bytes and is left out.", len(raw))
	}
	fits := true
	for _, key := range []string{"anyOf", "oneOf", "allOf", "not", "enum"} { // refused at the top level
		_, there := fields[key]
		fits = fits && !there
	}
	if t, ok := fields["type"]; ok && string(t) != `"object"` {
		fits = false
	}
	if !fits || !resolves(raw) || !plainNames(raw) {
		return "The JSON schema of its arguments: " + string(raw)
	}
	return ""
}

// resolves reports whether settle can check calls with a schema.
func resolves(raw json.RawMessage) (ok bool) {
	defer func() {
		if recover() != nil { // caused by a server; the session continues
			ok = false
		}
	}()
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return false
	}
	_, err := schema.Resolve(nil)
	return err == nil
}

// plainNames reports whether all properties of a schema, at any depth, have names that all
// providers accept.
func plainNames(raw json.RawMessage) bool {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return false
	}
	name := regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	var walk func(value any) bool
	walk = func(value any) bool {
		switch v := value.(type) {
		case []any:
			for _, one := range v {
				if !walk(one) {
					return false
				}
			}
		case map[string]any:
			for key, one := range v {
				properties, isObject := one.(map[string]any)
				if key == "properties" && isObject {
					for property := range properties {
						if !name.MatchString(property) {
							return false
						}
					}
				}
				if !walk(one) {
					return false
				}
			}
		}
		return true
	}
	return walk(value)
}

// described returns a tool's description for a model.
func described(text, note string) string {
	text = clip(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), maxDescription)
	if note == "" {
		return text
	}
	return strings.TrimSpace(text + "\n\n" + clip(note, maxDescription))
}
