package jsonschema_test

import (
	"encoding/json"
	"testing"

	"github.com/settle-agent/settle/model/internal/jsonschema"
)

func TestStrict(t *testing.T) {
	const closed = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`
	for schema, want := range map[string]bool{
		closed:              true,
		`{"type":"object"}`: false,
		`{"type":"object","additionalProperties":false}`:                                                                                true,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                           false,
		`{"type":"object","properties":{"a":` + closed + `},"required":["a"],"additionalProperties":false}`:                             true,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`:                          false,
		`{"type":"object","properties":{"a":{"type":["object","null"]}},"required":["a"],"additionalProperties":false}`:                 false,
		`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`:                 true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"properties":{}}}},"required":["a"],"additionalProperties":false}`: false,
		`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"}]}},"required":["a"],"additionalProperties":false}`:              false,
		`{"type":"object","anyOf":[` + closed + `],"additionalProperties":false}`:                                                       false,
		`{"type":"array"}`: false,
		`nonsense`:         false,
	} {
		if got := jsonschema.Strict(json.RawMessage(schema)); got != want {
			t.Errorf("%s: strict %t, want %t", schema, got, want)
		}
	}
}

func TestClosed(t *testing.T) {
	for schema, want := range map[string]string{
		`{ "type": "object", "additionalProperties": true }`: `{ "type": "object", "additionalProperties": true }`, // to the letter
		`{"type":"string"}`: `{"type":"string"}`,
		`nonsense`:          `nonsense`,
		`{"type":"object","properties":{"a":{"items":{"type":"object"}}},"$defs":{"b":{"properties":{}}}}`: `{"$defs":{"b":{"additionalProperties":false,"properties":{}}},"additionalProperties":false,"properties":{"a":{"items":{"additionalProperties":false,"type":"object"}}},"type":"object"}`,
	} {
		if got := string(jsonschema.Closed(json.RawMessage(schema))); got != want {
			t.Errorf("%s becomes %s, want %s", schema, got, want)
		}
	}
}
