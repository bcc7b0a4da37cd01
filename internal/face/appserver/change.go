package appserver

import (
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/tool/file"
)

// updates returns what a call changes, by the details of its result or of the
// approval that was asked for; without any, the files that it names.
func updates(dir string, c event.Content, details json.RawMessage) []fileUpdate {
	out := []fileUpdate{}
	for _, change := range toolview.New(c.Name, c.Arguments, dir).Changes(details) {
		out = append(out, update(change))
	}
	return out
}

func update(c toolview.Change) fileUpdate {
	switch c.Kind {
	case file.Create:
		return fileUpdate{Path: c.Path, Kind: changeKind{Type: "add"}, Diff: c.Content()}
	case file.Delete:
		return fileUpdate{Path: c.Path, Kind: changeKind{Type: "delete"}, Diff: c.Content()}
	case file.Move:
		return fileUpdate{Path: c.From, Kind: changeKind{Type: "update", MovePath: &c.Path}, Diff: c.Body()}
	default:
		return fileUpdate{Path: c.Path, Kind: changeKind{Type: "update"}, Diff: c.Body()}
	}
}
