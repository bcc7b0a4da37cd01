package appserver

import (
	"encoding/json"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool/file"
)

// updates returns what a call changes, by the details of its result or of the
// approval that was asked for; without any, the files that it names.
func updates(dir string, c event.Content, details json.RawMessage) []fileUpdate {
	out := []fileUpdate{}
	var known file.Changes
	if len(details) > 0 && json.Unmarshal(details, &known) == nil {
		for _, f := range known.Files {
			out = append(out, update(dir, f))
		}
		return out
	}
	for _, path := range named(c) {
		out = append(out, fileUpdate{Path: absolute(dir, path), Kind: changeKind{Type: "update"}})
	}
	return out
}

// named are the files that the arguments of a call name.
func named(c event.Content) []string {
	var in struct{ Path, Input string }
	if json.Unmarshal([]byte(c.Arguments), &in) != nil {
		return nil
	}
	if c.Name == "apply_patch" {
		paths, err := file.PatchPaths(in.Input)
		if err != nil {
			return nil
		}
		return paths
	}
	if in.Path == "" {
		return nil
	}
	return []string{in.Path}
}

func update(dir string, f file.Change) fileUpdate {
	path := absolute(dir, f.Path)
	switch f.Kind {
	case "create":
		return fileUpdate{Path: path, Kind: changeKind{Type: "add"}, Diff: lines(f.Diff, '+')}
	case "delete":
		return fileUpdate{Path: path, Kind: changeKind{Type: "delete"}, Diff: lines(f.Diff, '-')}
	case "move":
		return fileUpdate{Path: absolute(dir, f.From), Kind: changeKind{Type: "update", MovePath: &path}, Diff: hunks(f.Diff)}
	default:
		return fileUpdate{Path: path, Kind: changeKind{Type: "update"}, Diff: hunks(f.Diff)}
	}
}

// hunks returns a unified diff without the names of its files.
func hunks(diff string) string {
	if !strings.HasPrefix(diff, "--- ") {
		return diff
	}
	_, rest, _ := strings.Cut(diff, "\n")
	_, rest, _ = strings.Cut(rest, "\n")
	return rest
}

// lines returns the text whose lines have the sign in a unified diff.
func lines(diff string, sign byte) string {
	var b strings.Builder
	for line := range strings.Lines(hunks(diff)) {
		switch {
		case line[0] == sign:
			b.WriteString(line[1:])
		case line[0] == '\\': // the line before has no newline
			text := strings.TrimSuffix(b.String(), "\n")
			b.Reset()
			b.WriteString(text)
		}
	}
	return b.String()
}
