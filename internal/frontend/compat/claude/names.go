package claude

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/config/claudecode"
	"github.com/settle-agent/settle/tool/mcp"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/task"
)

// alias is a tool of settle's as clients of Claude's know it.
type alias struct {
	settle, claude string
	// also are further names that clients have for it, or for something that
	// it does as well: taken wherever a client names tools.
	also []string
	// fields are settle's and Claude's names of arguments where they differ.
	fields [][2]string
	// each are Claude's names of the fields of a list's members, where an argument
	// is a list. A field that has several is under each of them.
	each map[string][]string
	// path is the argument, of settle's, that names a file: Claude's are
	// absolute.
	path string
	// fixed are required arguments of Claude's tool that settle's tool lacks or can omit, with
	// the values that they have then.
	fixed map[string]any
}

// plainAgent is Claude's name of an agent of no kind.
const plainAgent = "general-purpose"

// aliasOf returns how clients know a tool of settle's.
func aliasOf(settle string) alias {
	a := alias{settle: settle, claude: settle}
	a.fields, a.path = claudecode.Arguments(settle)
	if names := claudecode.Names(settle); len(names) > 0 {
		a.claude, a.also = names[0], names[1:]
	}
	switch settle {
	case "job": // Claude's tools for one action cannot express the other actions
		a.claude, a.also, a.fields = "Job", claudecode.Names(settle), nil
	case "apply_patch":
		a.claude, a.also = "ApplyPatch", []string{"Edit", "MultiEdit", "Write"}
	case "grep":
		a.fixed = map[string]any{"output_mode": "content"}
	case task.Name:
		a.fixed = map[string]any{"subagent_type": plainAgent}
	case plan.Name:
		a.fields = [][2]string{{"plan", "todos"}}
		a.each = map[string][]string{"step": {"content", "activeForm"}}
	}
	return a
}

// known returns how clients know a call: its tool and arguments, as the model wrote
// them. One that goes through another tool is a call of a server's.
func known(name, arguments string) (alias, string) {
	if inner, ok := mcp.Unwrap(name, arguments); ok {
		return aliasOf(inner.Name), string(inner.Arguments)
	}
	return aliasOf(name), arguments
}

// toolsNamed returns settle's tools for a name that a client has; none if
// settle has no such tool.
func toolsNamed(name string) (tools []string) {
	if tool := claudecode.Tool(name); tool != "" {
		tools = append(tools, tool)
	}
	for _, tool := range []string{"job", "apply_patch"} {
		a := aliasOf(tool)
		if (a.claude == name || slices.Contains(a.also, name)) && !slices.Contains(tools, tool) {
			tools = append(tools, tool)
		}
	}
	return tools
}

// input translates the model's arguments for a client. A value that is not a JSON object
// is kept under "arguments".
func (a alias) input(arguments, dir string) map[string]any {
	in, ok := object(arguments)
	if !ok {
		return map[string]any{"arguments": arguments}
	}
	out := map[string]any{}
	for name, value := range in {
		if path, isText := value.(string); isText && name == a.path && path != "" && !strings.HasPrefix(path, "~") {
			value = toolview.Absolute(dir, path)
		}
		if n := slices.IndexFunc(a.fields, func(f [2]string) bool { return f[0] == name }); n >= 0 {
			name = a.fields[n][1]
		}
		out[name] = translated(value, a.member)
	}
	for name, value := range a.fixed {
		if _, given := out[name]; !given {
			out[name] = value
		}
	}
	return out
}

// arguments is the inverse of input.
func (a alias) arguments(input map[string]any) string {
	out := map[string]any{}
	for name, value := range input {
		if fixed, ok := a.fixed[name]; ok && fixed == value {
			continue
		}
		if n := slices.IndexFunc(a.fields, func(f [2]string) bool { return f[1] == name }); n >= 0 {
			name = a.fields[n][0]
		}
		out[name] = translated(value, a.memberBack)
	}
	return compact(out)
}

// translated returns a list with its objects translated; any other value is unchanged.
func translated(value any, translate func(member map[string]any) map[string]any) any {
	list, isList := value.([]any)
	if !isList {
		return value
	}
	out := make([]any, len(list))
	for n, one := range list {
		out[n] = one
		if member, isObject := one.(map[string]any); isObject {
			out[n] = translate(member)
		}
	}
	return out
}

// member returns a list's member as a client knows it.
func (a alias) member(in map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range in {
		names := a.each[name]
		if names == nil {
			names = []string{name}
		}
		for _, to := range names {
			out[to] = value
		}
	}
	return out
}

// memberBack is the inverse of member.
func (a alias) memberBack(in map[string]any) map[string]any {
	out := maps.Clone(in)
	for ours, theirs := range a.each {
		for _, name := range theirs {
			delete(out, name)
		}
		if value, ok := in[theirs[0]]; ok {
			out[ours] = value
		}
	}
	return out
}

// object reads a JSON object and keeps its numbers as they are written.
func object(text string) (map[string]any, bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out map[string]any
	if err := d.Decode(&out); err != nil || out == nil {
		return nil, false
	}
	return out, true
}

// compact is the JSON of a value that came from JSON, with sorted keys: equal
// values have equal texts.
func compact(value any) string {
	raw, _ := event.AppendJSON(nil, value) // what came from JSON can be JSON again
	return string(raw)
}
