package claude

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/jsonrpc"
	"github.com/settle-agent/settle/tool/ask"
	"github.com/settle-agent/settle/tool/mcp"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/task"
	"github.com/settle-agent/settle/tool/web"
)

// alias is a tool of settle's as clients of Claude's know it.
type alias struct {
	settle, claude string
	// also are further names that clients have for it, or for something that
	// it does as well: taken wherever a client names tools.
	also []string
	// fields are Claude's names of arguments where they differ from settle's.
	fields map[string]string
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

// aliases is the table of tools. Tools that are not in it keep their name.
func aliases() []alias {
	return []alias{
		{
			settle: "shell", claude: "Bash",
			fields: map[string]string{"timeout_ms": "timeout", "background": "run_in_background"},
		},
		{settle: "job", claude: "Job", also: []string{"BashOutput", "KillBash", "KillShell", "TaskOutput", "TaskStop"}},
		{settle: "read", claude: "Read", path: "path", fields: map[string]string{"path": "file_path"}},
		{settle: "write", claude: "Write", path: "path", fields: map[string]string{"path": "file_path"}},
		{
			settle: "edit",
			claude: "Edit",
			also:   []string{"MultiEdit"},
			path:   "path",
			fields: map[string]string{"path": "file_path"},
		},
		{settle: "apply_patch", claude: "ApplyPatch", also: []string{"Edit", "MultiEdit", "Write"}},
		{settle: "glob", claude: "Glob", path: "path"},
		{
			settle: "grep", claude: "Grep", path: "path",
			fields: map[string]string{"ignore_case": "-i", "context": "-C", "limit": "head_limit"},
			fixed:  map[string]any{"output_mode": "content"},
		},
		{settle: "list", claude: "LS", path: "path"},
		{
			settle: task.Name,
			claude: "Task",
			also:   []string{"Agent"},
			fields: map[string]string{
				"background": "run_in_background", "agent": "subagent_type",
			},
			fixed: map[string]any{"subagent_type": plainAgent},
		},
		{settle: ask.Name, claude: askName},
		{settle: plan.ProposeName, claude: "ExitPlanMode"},
		{settle: web.FetchName, claude: "WebFetch"},
		{settle: web.SearchName, claude: "WebSearch"},
		{
			settle: plan.Name,
			claude: "TodoWrite",
			fields: map[string]string{"plan": "todos"},
			each:   map[string][]string{"step": {"content", "activeForm"}},
		},
	}
}

// plainAgent is Claude's name of an agent of no kind.
const plainAgent = "general-purpose"

// aliasOf returns how clients know a tool of settle's.
func aliasOf(settle string) alias {
	for _, a := range aliases() {
		if a.settle == settle {
			return a
		}
	}
	if strings.Contains(settle, mcp.Separator) {
		return alias{settle: settle, claude: serverPrefix + settle}
	}
	return alias{settle: settle, claude: settle}
}

// serverPrefix is what the names of servers' tools begin with for clients.
const serverPrefix = "mcp__"

// known returns how clients know a call: its tool and arguments, as the model wrote
// them. One that goes through another tool is a call of a server's.
func known(name, arguments string) (alias, string) {
	if inner, ok := mcp.Unwrap(name, arguments); ok {
		return aliasOf(inner.Name), string(inner.Arguments)
	}
	return aliasOf(name), arguments
}

// named reports whether a client that says the name means the tool.
func (a alias) named(name string) bool { return a.claude == name || slices.Contains(a.also, name) }

// toolsNamed returns settle's tools for a name that a client has; none if
// settle has no such tool.
func toolsNamed(name string) []string {
	if of, ok := strings.CutPrefix(name, serverPrefix); ok && of != "" && of != "*" {
		if !strings.Contains(of, mcp.Separator) {
			of += mcp.Separator + "*"
		}
		return []string{of}
	}
	var out []string
	for _, a := range aliases() {
		if a.named(name) {
			out = append(out, a.settle)
		}
	}
	return out
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
		if to := a.fields[name]; to != "" {
			name = to
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
	back := map[string]string{}
	for ours, theirs := range a.fields {
		back[theirs] = ours
	}
	out := map[string]any{}
	for name, value := range input {
		if fixed, ok := a.fixed[name]; ok && fixed == value {
			continue
		}
		if to := back[name]; to != "" {
			name = to
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
	line, _ := jsonrpc.Append(nil, value) // what came from JSON can be JSON again
	return strings.TrimSuffix(string(line), "\n")
}
