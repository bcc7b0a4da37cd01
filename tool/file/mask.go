package file

import (
	"encoding/json"
	"strings"
)

// CheckMask refuses a call of one of this package's tools that would write the mask of a
// secret. It is for calls that run in another process.
func CheckMask(tool string, args json.RawMessage, masked func(text string) bool) error {
	if masked == nil {
		return nil
	}
	var in struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		New     string `json:"new_string"`
		Patch   string `json:"input"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil // The tool reports the error.
	}
	w := &Workspace{masked: masked}
	switch tool {
	case "write":
		return w.checkMask(in.Path, in.Content)
	case "edit":
		return w.checkMask(in.Path, in.New)
	case "apply_patch":
		for line := range strings.Lines(in.Patch) {
			if added, ok := strings.CutPrefix(line, "+"); ok {
				if err := w.checkMask("the patch", added); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
