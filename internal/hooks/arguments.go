package hooks

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/settle-agent/settle/internal/config/claudecode"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool/file"
)

// alias is another agent's name for an argument of a settle tool.
type alias struct {
	own, foreign string
	path         bool // other agents use an absolute path
}

// aliases returns the names of a call's arguments. An argument with a path has one in any case,
// perhaps the same name.
func aliases(tool string, args object) (list []alias) {
	if tool == "apply_patch" { // a tool of Codex
		return []alias{{own: "input", foreign: "command"}}
	}
	pairs, path := claudecode.Arguments(tool)
	if path != "" && !slices.ContainsFunc(pairs, func(pair [2]string) bool { return pair[0] == path }) {
		pairs = append(pairs, [2]string{path, path})
	}
	var name string
	if json.Unmarshal(args[path], &name) == nil && tool == "edit" && claudecode.NamesOfEdit(name) != nil {
		pairs = append(pairs, [2]string{path, claudecode.NotebookPath})
	}
	for _, pair := range pairs {
		list = append(list, alias{own: pair[0], foreign: pair[1], path: pair[0] == path})
	}
	return list
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
	for _, a := range aliases(tool, args) {
		value, ok := args[a.own]
		if !ok {
			continue
		}
		if _, taken := args[a.foreign]; taken && a.foreign != a.own {
			continue
		}
		var path string
		if a.path && json.Unmarshal(value, &path) == nil {
			value = text(disk.AbsoluteIn(dir, path))
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
	for _, a := range aliases(tool, args) {
		if a.own == a.foreign {
			if value, has := want[a.own]; has && same(value, sent[a.own]) {
				want[a.own] = args[a.own]
			}
			continue
		}
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
		delete(want, claudecode.NotebookPath)
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

// patchedFile is a file of a patch, with the names of the tools that make its change.
type patchedFile struct {
	path  string
	names []string
}

// patched returns the files of a patch, as the tool itself reads the patch. A file is listed once for each kind of
// change. If the patch does not parse, there is one file without a path that any editor could change.
func patched(arguments string) (files []patchedFile) {
	const tool = "apply_patch"
	edits, writes := append(claudecode.Names("edit"), tool), append(claudecode.Names("write"), tool)
	editors := append(claudecode.Names("write"), edits...)
	var args file.PatchArguments
	err := json.Unmarshal([]byte(arguments), &args)
	changes, parseErr := file.PatchChanges(args.Input)
	if err != nil || parseErr != nil {
		return []patchedFile{{names: append(editors, claudecode.NotebookEdit)}}
	}
	add := func(path string, names []string, more ...string) {
		names = slices.Concat(names, more)
		same := func(f patchedFile) bool { return f.path == path && slices.Equal(f.names, names) }
		if !slices.ContainsFunc(files, same) {
			files = append(files, patchedFile{path, names})
		}
	}
	for _, c := range changes {
		switch c.Kind {
		case file.Create:
			add(c.Path, writes)
		case file.Move: // the target is new or replaced, and can also change
			add(c.From, edits, claudecode.NamesOfEdit(c.From)...)
			add(c.Path, editors, claudecode.NamesOfEdit(c.Path)...)
		default:
			add(c.Path, edits, claudecode.NamesOfEdit(c.Path)...)
		}
	}
	return files
}
