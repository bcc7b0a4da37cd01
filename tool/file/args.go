package file

import (
	"encoding/json"
	"fmt"

	"github.com/settle-agent/settle/tool"
)

// ReadArguments are those of read. Numbers are float64 since 10.0 is an
// integer to JSON Schema.
type ReadArguments struct {
	Path   string  `json:"path"`
	Offset float64 `json:"offset,omitempty"` // first line, from 1
	Limit  float64 `json:"limit,omitempty"`  // lines
}

// WriteArguments are those of write.
type WriteArguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// EditArguments are those of edit.
type EditArguments struct {
	Path string `json:"path"`
	Old  string `json:"old_string"`
	New  string `json:"new_string"`
	All  bool   `json:"replace_all,omitempty"`
}

// PatchArguments are those of apply_patch.
type PatchArguments struct {
	Input string `json:"input"` // the whole patch
}

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
