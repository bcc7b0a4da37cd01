package hooks

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
)

// alias is another agent's name for an argument of a settle tool.
type alias struct {
	own, foreign string
	path         bool // other agents use an absolute path
}

func aliases(tool string) []alias {
	switch tool {
	case "shell":
		return []alias{{own: "timeout_ms", foreign: "timeout"}, {own: "background", foreign: "run_in_background"}}
	case "read", "write", "edit":
		return []alias{{own: "path", foreign: "file_path", path: true}}
	case "apply_patch":
		return []alias{{own: "input", foreign: "command"}}
	}
	return nil
}

// object is a JSON object that keeps its values as they were written.
type object map[string]json.RawMessage

// forHooks returns the arguments as a hook receives them: under settle's names and under the names
// of other agents.
func forHooks(tool, arguments, dir string) object {
	var args object
	if json.Unmarshal([]byte(arguments), &args) != nil || args == nil {
		return object{"input": text(arguments)}
	}
	for _, a := range aliases(tool) {
		value, ok := args[a.own]
		if !ok {
			continue
		}
		if _, taken := args[a.foreign]; taken {
			continue
		}
		var path string
		if a.path && json.Unmarshal(value, &path) == nil && !filepath.IsAbs(path) {
			value = text(filepath.Join(dir, path))
		}
		args[a.foreign] = value
	}
	return args
}

func text(s string) json.RawMessage {
	raw, _ := json.Marshal(s) // never fails
	return raw
}

// changedArguments returns the arguments as the hook changed them, under settle's names; "" if
// they are unchanged.
func changedArguments(tool, arguments string, sent, got object) string {
	var args object
	if json.Unmarshal([]byte(arguments), &args) != nil || args == nil {
		args = object{}
	}
	want := object{}
	for name, value := range got {
		want[name] = value
	}
	for _, a := range aliases(tool) {
		if _, ours := args[a.foreign]; ours {
			continue
		}
		foreign, has := want[a.foreign]
		own, owns := want[a.own]
		delete(want, a.foreign)
		switch {
		case has && !same(foreign, sent[a.foreign]) && (!owns || same(own, args[a.own])):
			want[a.own] = foreign
		case !owns && has:
			want[a.own] = args[a.own]
		}
	}
	if tool == "apply_patch" {
		delete(want, "file_path")
	}
	raw, err := json.Marshal(want)
	if err != nil || same(raw, json.RawMessage(arguments)) {
		return ""
	}
	return string(raw)
}

// same reports whether two JSON values are equal.
func same(a, b json.RawMessage) bool {
	return bytes.Equal(canonical(a), canonical(b))
}

func canonical(raw json.RawMessage) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return raw
	}
	out, err := json.Marshal(value)
	if err != nil {
		return raw
	}
	return out
}

// patched returns the files of a patch, each with whether it is new.
func patched(arguments string) (files []patchedFile) {
	var args struct{ Input string }
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return nil
	}
	seen := map[string]bool{}
	for line := range strings.Lines(args.Input) {
		for _, head := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			path, ok := strings.CutPrefix(strings.TrimSpace(line), head)
			if path = strings.TrimSpace(path); ok && path != "" && !seen[path] {
				seen[path] = true
				files = append(files, patchedFile{path, head == "*** Add File: "})
			}
		}
	}
	return files
}

type patchedFile struct {
	path  string
	isNew bool
}
