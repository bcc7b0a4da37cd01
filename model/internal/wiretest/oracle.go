package wiretest

import (
	"encoding/json"
	"fmt"

	"github.com/google/go-cmp/cmp"
)

// RoundTrip decodes body into params, a pointer to the official SDK's type for request bodies,
// encodes that again, and reports how the two differ, besides the named members, which the SDK does
// not know or would write differently.
func RoundTrip(body []byte, params any, besides ...string) (string, error) {
	if err := json.Unmarshal(body, params); err != nil {
		return "", fmt.Errorf("cannot decode into %T: %w", params, err)
	}
	encoded, err := json.Marshal(params)
	if err != nil {
		return "", fmt.Errorf("cannot encode %T: %w", params, err)
	}
	var sent, known map[string]any
	if err := json.Unmarshal(body, &sent); err != nil {
		return "", err
	}
	if err := json.Unmarshal(encoded, &known); err != nil {
		return "", err
	}
	for _, name := range besides {
		delete(sent, name)
		delete(known, name)
	}
	return cmp.Diff(any(known), withoutNulls(sent)), nil
}

// withoutNulls removes null values, which the SDKs leave out.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if value == nil {
				delete(v, name)
				continue
			}
			v[name] = withoutNulls(value)
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
