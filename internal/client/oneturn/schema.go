package oneturn

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Conform returns a function that checks an answer against a JSON Schema: not every server
// enforces the schema of a request. Errors name by, the flag or command with the schema.
func Conform(schema json.RawMessage, by string) (check func(answer string) error, err error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, fmt.Errorf("cannot use the schema: %w", err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("cannot use the schema: %w", err)
	}
	return func(answer string) error {
		var value any
		if err := json.Unmarshal([]byte(answer), &value); err != nil {
			return fmt.Errorf("the answer is not JSON, which %s requires: %w", by, err)
		}
		if err := resolved.Validate(value); err != nil {
			return fmt.Errorf(
				"the answer does not follow the schema: %s", strings.TrimPrefix(err.Error(), "validating root: "),
			)
		}
		return nil
	}, nil
}
