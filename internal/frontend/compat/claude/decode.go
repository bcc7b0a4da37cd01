package claude

import (
	"encoding/json"
	"errors"
	"fmt"
)

// decode decodes a message of the client. Its errors use the protocol's terms, not Go's.
func decode(what string, raw []byte, into any) error {
	if len(raw) == 0 {
		return fmt.Errorf("%s is missing", what)
	}
	err := json.Unmarshal(raw, into)
	kind := (*json.UnmarshalTypeError)(nil)
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &kind):
		return fmt.Errorf("cannot read %s: %w", what, err)
	case kind.Field == "":
		return fmt.Errorf("cannot read %s: it has the wrong type (%s)", what, kind.Value)
	}
	return fmt.Errorf("cannot read %s: %q has the wrong type (%s)", what, kind.Field, kind.Value)
}
