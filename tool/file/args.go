package file

import (
	"encoding/json"
	"fmt"

	"github.com/settle-agent/settle/tool"
)

// decode reads arguments that are valid by the tool's schema.
func decode[T any](call tool.Call) (T, error) {
	var in T
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return in, fmt.Errorf("cannot read the arguments: %w", err)
	}
	return in, nil
}

// title names the path that a call works on.
func title(verb string, args json.RawMessage) string {
	var in struct {
		Path string `json:"path"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return verb
	}
	return verb + " " + in.Path
}
