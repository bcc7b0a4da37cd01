// Package jsonschema says which of the schemas that a user wants an answer to
// follow a provider takes as they are. Providers hold a model to a schema only
// where every object in it is closed, and refuse the request otherwise; users'
// schemas, mostly printed by some library, often leave that open.
package jsonschema

import "encoding/json"

// Name is the name that a schema gets where a wire format wants one.
const Name = "answer"

// Strict reports whether OpenAI takes the schema with "strict": it is an object,
// each object in it allows no further properties and requires all of its own,
// and it is put together in no way that they do not know.
func Strict(schema json.RawMessage) bool {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil || root["type"] != "object" || root["anyOf"] != nil {
		return false
	}
	strict := true
	each(root, func(s map[string]any) {
		for _, word := range []string{"oneOf", "allOf", "not", "if", "then", "else", "patternProperties", "dependentRequired", "dependentSchemas"} {
			strict = strict && s[word] == nil
		}
		if !isObject(s) {
			return
		}
		required := map[any]bool{}
		names, _ := s["required"].([]any)
		for _, name := range names {
			required[name] = true
		}
		properties, _ := s["properties"].(map[string]any)
		for name := range properties {
			strict = strict && required[name]
		}
		strict = strict && s["additionalProperties"] == false
	})
	return strict
}

// Closed returns the schema with every object in it closed that does not say
// whether it is, as Anthropic wants them.
func Closed(schema json.RawMessage) json.RawMessage {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return schema
	}
	changed := false
	each(root, func(s map[string]any) {
		if _, said := s["additionalProperties"]; isObject(s) && !said {
			s["additionalProperties"] = false
			changed = true
		}
	})
	if !changed {
		return schema
	}
	out, err := json.Marshal(root)
	if err != nil {
		return schema // it was read from JSON
	}
	return out
}

// isObject reports whether the schema is that of an object.
func isObject(s map[string]any) bool {
	if kinds, ok := s["type"].([]any); ok {
		for _, kind := range kinds {
			if kind == "object" {
				return true
			}
		}
		return false
	}
	return s["type"] == "object" || s["type"] == nil && s["properties"] != nil
}

// each calls f with the schema and all that it is made of.
func each(schema any, f func(map[string]any)) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	f(s)
	for _, word := range []string{"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"} {
		named, _ := s[word].(map[string]any)
		for _, part := range named {
			each(part, f)
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		list, _ := s[word].([]any)
		for _, part := range list {
			each(part, f)
		}
	}
	for _, word := range []string{"items", "not", "if", "then", "else", "additionalProperties"} {
		each(s[word], f)
	}
}
