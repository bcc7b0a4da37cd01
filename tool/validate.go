package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/settle-agent/settle/internal/bound"
)

// Schema is a tool's schema, resolved by the first call, because most runs use few tools
// and start-up time matters.
type Schema struct {
	raw      json.RawMessage
	once     sync.Once // sets the fields below
	resolved *jsonschema.Resolved
	err      error
}

// schemas are the schemas of all sessions: most have the same tools, and a resolved schema takes kilobytes.
var schemas bound.Shared[string, *Schema]

// NewSchema returns the schema in a tool's JSON. Equal texts have the same Schema.
func NewSchema(raw json.RawMessage) *Schema { return newSchema(string(raw)) }

func newSchema(text string) *Schema {
	build := func() *Schema { return &Schema{raw: json.RawMessage(text)} }
	if len(text) > bound.MaxSharedText {
		return build()
	}
	return schemas.Of(text, build)
}

// resolve returns the resolved schema.
func (l *Schema) resolve() (*jsonschema.Resolved, error) {
	l.once.Do(func() {
		var schema jsonschema.Schema
		if err := json.Unmarshal(l.raw, &schema); err != nil {
			l.err = fmt.Errorf("cannot read the tool's schema: %w", err)
		} else if l.resolved, err = schema.Resolve(nil); err != nil {
			l.err = fmt.Errorf("cannot resolve the tool's schema: %w", err)
		}
	})
	return l.resolved, l.err
}

// Check returns an error that describes invalid arguments.
func (l *Schema) Check(args []byte) error {
	resolved, err := l.resolve()
	if err != nil {
		return err
	}
	object := map[string]any{}
	if isBlank(args) {
		if required := resolved.Schema().Required; len(required) > 0 {
			return fmt.Errorf("the arguments are missing; required: %s", strings.Join(required, ", "))
		}
	} else if object, err = parseArgs(args); err != nil {
		return err
	}
	if err := resolved.Validate(object); err != nil {
		if why := explain(resolved.Schema(), object, ""); why != "" {
			return errors.New(why)
		}
		return fmt.Errorf("the arguments do not fit the schema: %s", clipTo(err.Error(), 300))
	}
	return nil
}

// explain describes the result of Validate for the keywords that tools use; "" for others.
// Validate decides, but its own texts quote whole values and schema paths, which do not
// help a model.
func explain(schema *jsonschema.Schema, value any, path string) string {
	if schema == nil {
		return ""
	}
	if why := explainType(schema, value, path); why != "" {
		return why
	}
	switch v := value.(type) {
	case map[string]any:
		return explainObject(schema, v, path)
	case []any:
		return explainArray(schema, v, path)
	}
	return explainScalar(schema, value, path)
}

func explainType(schema *jsonschema.Schema, value any, path string) string {
	types := schema.Types
	if schema.Type != "" {
		types = []string{schema.Type}
	}
	if len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return hasType(value, t) }) {
		return ""
	}
	return fmt.Sprintf("%s must be %s, got %s", argument(path), typeNames(types), describe(value))
}

func argument(path string) string {
	if path == "" {
		return "the arguments"
	}
	return fmt.Sprintf("the argument %q", clip(path))
}

func hasType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	}
	return false
}

func typeNames(types []string) string {
	names := map[string]string{"integer": "an integer", "array": "an array", "object": "an object", "null": "null"}
	out := make([]string, len(types))
	for i, t := range types {
		if out[i] = names[t]; out[i] == "" {
			out[i] = "a " + t
		}
	}
	return strings.Join(out, " or ")
}

func explainObject(schema *jsonschema.Schema, object map[string]any, path string) string {
	var missing []string
	for _, name := range schema.Required {
		if _, ok := object[name]; !ok {
			missing = append(missing, join(path, name))
		}
	}
	if len(missing) > 0 {
		return fmt.Sprintf("missing: %s", strings.Join(missing, ", "))
	}
	for _, name := range sortedKeys(object) {
		property, ok := schema.Properties[name]
		if !ok && isFalse(schema.AdditionalProperties) && len(schema.PatternProperties) == 0 {
			return fmt.Sprintf("there is no argument %q; there are %s", clip(join(path, name)),
				strings.Join(sortedKeys(schema.Properties), ", "))
		}
		if !ok {
			property = schema.AdditionalProperties
		}
		if why := explain(property, object[name], join(path, name)); why != "" {
			return why
		}
	}
	return ""
}

// isFalse recognises the schema false, which is stored as {"not": {}}.
func isFalse(schema *jsonschema.Schema) bool { return schema != nil && schema.Not != nil }

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func explainArray(schema *jsonschema.Schema, array []any, path string) string {
	if schema.MinItems != nil && len(array) < *schema.MinItems {
		return fmt.Sprintf("%s must have at least %d items, got %d", argument(path), *schema.MinItems, len(array))
	}
	if schema.MaxItems != nil && len(array) > *schema.MaxItems {
		return fmt.Sprintf("%s must have at most %d items, got %d", argument(path), *schema.MaxItems, len(array))
	}
	for i, value := range array {
		if why := explain(schema.Items, value, fmt.Sprintf("%s[%d]", path, i)); why != "" {
			return why
		}
	}
	return ""
}

func explainScalar(schema *jsonschema.Schema, value any, path string) string {
	if schema.Enum != nil && !slices.ContainsFunc(schema.Enum, func(e any) bool { return jsonschema.Equal(e, value) }) {
		choices, _ := json.Marshal(schema.Enum)
		return fmt.Sprintf("%s must be one of %s, got %s", argument(path), clipTo(string(choices), 200),
			describe(value))
	}
	switch v := value.(type) {
	case float64:
		if schema.Minimum != nil && v < *schema.Minimum {
			return fmt.Sprintf("%s must be at least %v, got %v", argument(path), *schema.Minimum, v)
		}
		if schema.Maximum != nil && v > *schema.Maximum {
			return fmt.Sprintf("%s must be at most %v, got %v", argument(path), *schema.Maximum, v)
		}
	case string:
		if schema.MinLength != nil && *schema.MinLength > 0 && v == "" {
			return fmt.Sprintf("%s must not be empty", argument(path))
		}
	}
	return ""
}
