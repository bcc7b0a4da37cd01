package modeltest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// The rules for schemas that an answer is to follow, in the providers' words.

// answerSchema has the fields in which each dialect has the schema.
type answerSchema struct {
	Text struct { // Responses
		Format *schemaFormat `json:"format"`
	} `json:"text"`
	ResponseFormat *struct { // Chat
		Type       string        `json:"type"`
		JSONSchema *schemaFormat `json:"json_schema"`
	} `json:"response_format"`
	OutputConfig struct { // Messages
		Format *schemaFormat `json:"format"`
	} `json:"output_config"`
	GenerationConfig struct { // Gemini
		Schema json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
}

type schemaFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// schemaOf returns the schema that a request wants the answer to follow; nil if
// it wants none.
func schemaOf(d Dialect, body []byte) json.RawMessage {
	var req answerSchema
	if json.Unmarshal(body, &req) != nil {
		return nil
	}
	f := req.Text.Format
	switch {
	case d == Gemini:
		return req.GenerationConfig.Schema
	case d == Messages:
		f = req.OutputConfig.Format
	case d == Chat && req.ResponseFormat != nil:
		f = req.ResponseFormat.JSONSchema
	}
	if f == nil {
		return nil
	}
	return f.Schema
}

// checkSchema checks the schema that the answer is to follow.
func checkSchema(d Dialect, body []byte) *apiError {
	var req answerSchema
	if err := json.Unmarshal(body, &req); err != nil {
		return invalidType(err)
	}
	switch {
	case d == Messages && req.OutputConfig.Format != nil:
		return checkOutputFormat(*req.OutputConfig.Format)
	case d == Responses && req.Text.Format != nil:
		f := *req.Text.Format
		return checkFormat("text.format", "text.format", f.Type, f)
	case d == Chat && req.ResponseFormat != nil:
		f := schemaFormat{}
		if req.ResponseFormat.JSONSchema != nil {
			f = *req.ResponseFormat.JSONSchema
		}
		return checkFormat("response_format", "response_format.json_schema", req.ResponseFormat.Type, f)
	}
	return nil
}

// checkFormat is OpenAI's.
func checkFormat(param, inner, kind string, f schemaFormat) *apiError {
	switch kind {
	case "text", "json_object":
		return nil
	case "json_schema":
	default:
		return invalid(
			"Invalid value: '%s'. Supported values are: 'json_object', 'json_schema', and 'text'.", kind,
		).at(param+".type", "invalid_value")
	}
	if f.Name == "" {
		return invalid("Missing required parameter: '%s.name'.", inner).at(inner+".name", "missing_required_parameter")
	}
	if e := checkName(inner+".name", f.Name); e != nil {
		return e
	}
	if len(f.Schema) == 0 {
		return invalid(
			"Missing required parameter: '%s.schema'.", inner,
		).at(inner+".schema", "missing_required_parameter")
	}
	var schema map[string]any
	if json.Unmarshal(f.Schema, &schema) != nil || schema["type"] != "object" {
		return invalid(
			"Invalid schema for response_format '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"%v\"'.",
			f.Name,
			schema["type"],
		).
			at(param, "invalid_json_schema")
	}
	if open := openObject(schema, ""); f.Strict && open != "" {
		return invalid(
			"Invalid schema for response_format '%s': In context=(%s",
			f.Name,
			open,
		).at(param, "invalid_json_schema")
	}
	return nil
}

// checkOutputFormat is Anthropic's.
func checkOutputFormat(f schemaFormat) *apiError {
	if f.Type != "json_schema" {
		return invalid(
			"output_config.format: Input tag '%s' found using 'type' does not match any of the expected tags: 'json_schema'",
			f.Type,
		)
	}
	var schema map[string]any
	if json.Unmarshal(f.Schema, &schema) != nil || schema == nil {
		return invalid("output_config.format.schema: Input should be a valid dictionary")
	}
	if leaky(schema) {
		return invalid(
			"output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
		)
	}
	return nil
}

// openObject returns the reason why a schema is not strict; "" if it is strict.
func openObject(schema map[string]any, context string) string {
	if schema["type"] == "object" {
		if schema["additionalProperties"] != false {
			return context + "), 'additionalProperties' is required to be supplied and to be false."
		}
		required, _ := schema["required"].([]any)
		properties, _ := schema["properties"].(map[string]any)
		for name := range properties {
			if !slices.Contains(required, any(name)) {
				return context + "), 'required' is required to be supplied and to be an array including every key in properties. Missing '" + name + "'."
			}
		}
	}
	for name, part := range parts(schema) {
		if open := openObject(part, context+"'"+name+"', "); open != "" {
			return open
		}
	}
	return ""
}

// leaky reports whether an object in the schema is not closed.
func leaky(schema map[string]any) bool {
	if schema["type"] == "object" && schema["additionalProperties"] != false {
		return true
	}
	for _, part := range parts(schema) {
		if leaky(part) {
			return true
		}
	}
	return false
}

// parts returns the schemas directly within a schema.
func parts(schema map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	add := func(name string, part any) {
		if s, ok := part.(map[string]any); ok {
			out[name] = s
		}
	}
	for _, word := range []string{"properties", "$defs", "definitions"} {
		named, _ := schema[word].(map[string]any)
		for name, part := range named {
			add(name, part)
		}
	}
	for _, word := range []string{"anyOf", "allOf", "oneOf"} {
		list, _ := schema[word].([]any)
		for n, part := range list {
			add(fmt.Sprint(word, n), part)
		}
	}
	add("items", schema["items"])
	return out
}
