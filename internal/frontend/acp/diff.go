package acp

import (
	"encoding/json"
	"fmt"

	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/tool/file"
)

// diffs are changes as the protocol has them: for each place that changed, the
// text before and after, with the lines around it.
func diffs(call toolview.Call, detail json.RawMessage) (out []object) {
	if len(detail) == 0 {
		return nil
	}
	for _, change := range call.Changes(detail) {
		found := change.Hunks()
		for _, h := range found {
			diff := object{"type": "diff", "path": change.Path, "oldText": h.Before, "newText": h.After}
			if change.Kind == file.Create {
				diff["oldText"] = nil
			}
			out = append(out, diff)
		}
		if len(found) == 0 || change.Cut {
			out = append(out, contentBlock(summary(change)))
		}
	}
	return out
}

// summary is a change that cannot be shown, or not all of it.
func summary(c toolview.Change) string {
	words := fmt.Sprintf("%s %s (+%d -%d lines)", c.Kind, c.Path, c.Added, c.Removed)
	if c.From != "" {
		words += " from " + c.From
	}
	return words
}
