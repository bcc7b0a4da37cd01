// Package claudecode has the names that Claude Code has for settle's tools and for their
// arguments. Hooks, rules, the forms of the Claude models' tools and the compatibility command
// settle claude read them from this table.
package claudecode

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// row is a tool of settle with Claude Code's names for it.
type row struct {
	tool  string
	names []string // the usual name first
	// arguments are pairs of settle's and Claude Code's names of an argument.
	arguments [][2]string
	// path is settle's name of the argument with a path; Claude Code's paths are absolute.
	path string
	// actions are the values of the argument "action" that the names mean; nil: every call.
	actions []string
}

// rows is the table. A tool has several rows if Claude Code has a tool for each of its actions.
func rows() []row {
	file := [][2]string{{"path", "file_path"}}
	shell := [][2]string{{"job", "shell_id"}}
	read, kill := []string{"read", "wait"}, []string{"kill"}
	return []row{
		{tool: "shell", names: []string{"Bash"}, arguments: [][2]string{
			{"timeout_ms", "timeout"}, {"background", "run_in_background"}, {"outside", "dangerouslyDisableSandbox"},
		}},
		{tool: "job", names: []string{"BashOutput"}, arguments: [][2]string{{"job", "bash_id"}}, actions: read},
		{tool: "job", names: []string{"TaskOutput"}, arguments: [][2]string{{"job", "task_id"}}, actions: read},
		{tool: "job", names: []string{"KillShell", "KillBash"}, arguments: shell, actions: kill},
		{tool: "job", names: []string{"TaskStop"}, arguments: [][2]string{{"job", "task_id"}}, actions: kill},
		{tool: "read", names: []string{"Read"}, arguments: file, path: "path"},
		{tool: "write", names: []string{"Write"}, arguments: file, path: "path"},
		{tool: "edit", names: []string{"Edit", "MultiEdit"}, arguments: file, path: "path"},
		{tool: "glob", names: []string{"Glob"}, path: "path"},
		{tool: "grep", names: []string{"Grep"}, path: "path", arguments: [][2]string{
			{"ignore_case", "-i"}, {"context", "-C"}, {"limit", "head_limit"},
		}},
		{tool: "list", names: []string{"LS"}, path: "path"},
		{tool: "plan", names: []string{"TodoWrite"}},
		{tool: "ask_user", names: []string{"AskUserQuestion"}},
		{tool: "propose_plan", names: []string{"ExitPlanMode"}},
		{tool: "task", names: []string{"Task", "Agent"}, arguments: [][2]string{
			{"background", "run_in_background"}, {"agent", "subagent_type"},
		}},
		{tool: "skill", names: []string{"Skill"}, arguments: [][2]string{{"name", "skill"}, {"arguments", "args"}}},
		{tool: "web_fetch", names: []string{"WebFetch"}},
		{tool: "web_search", names: []string{"WebSearch"}},
		{tool: "mcp_resources", names: []string{"ReadMcpResourceTool", "ListMcpResourcesTool"}},
	}
}

// ServerPrefix begins the names of tools of MCP servers.
const ServerPrefix = "mcp__"

// separator separates a server's name and its tool's name, in settle and in Claude Code.
const separator = "__"

// Names returns the names of a tool, the usual name first; nil if Claude Code has no such tool.
func Names(tool string) []string {
	return names(tool, func(row) bool { return true })
}

// NamesOfCall returns the names of the tools that make the call in Claude Code.
func NamesOfCall(tool, arguments string) []string {
	var call struct {
		Action string `json:"action"`
		Path   string `json:"path"`
	}
	_ = json.Unmarshal([]byte(arguments), &call) // a call without an action has only names for every call
	list := names(tool, func(r row) bool { return r.actions == nil || slices.Contains(r.actions, call.Action) })
	if tool == "edit" {
		list = append(list, NamesOfEdit(call.Path)...)
	}
	return list
}

// NotebookEdit is Claude Code's tool that edits notebooks, and NotebookPath its argument with
// the path.
const (
	NotebookEdit = "NotebookEdit"
	NotebookPath = "notebook_path"
)

// NamesOfEdit returns the additional names of an edit of the file.
func NamesOfEdit(path string) []string {
	if strings.EqualFold(filepath.Ext(path), ".ipynb") {
		return []string{NotebookEdit}
	}
	return nil
}

func names(tool string, has func(row) bool) (list []string) {
	if strings.Contains(tool, separator) {
		return []string{ServerPrefix + tool}
	}
	for _, r := range rows() {
		if r.tool == tool && has(r) {
			list = append(list, r.names...)
		}
	}
	return list
}

// Arguments returns pairs of settle's and Claude Code's names of a tool's arguments, and settle's
// name of the argument with a path, "" for none.
func Arguments(tool string) (pairs [][2]string, path string) {
	for _, r := range rows() {
		if r.tool != tool {
			continue
		}
		path = r.path
		for _, pair := range r.arguments {
			if !slices.Contains(pairs, pair) {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs, path
}

// Tool returns settle's tool for a name of Claude Code; "" if settle has none.
func Tool(name string) string {
	if name == NotebookEdit { // in rules: settle edits notebooks as files
		return "edit"
	}
	for _, r := range rows() {
		if slices.Contains(r.names, name) {
			return r.tool
		}
	}
	return ServerTool(name)
}

// ServerTool returns settle's pattern for the tools of MCP servers that a name of Claude Code
// means: mcp__SERVER__TOOL or mcp__SERVER; "" if it is no such name, or means all servers.
func ServerTool(name string) string {
	of, ok := strings.CutPrefix(name, ServerPrefix)
	if !ok || of == "" || of == "*" {
		return ""
	}
	if !strings.Contains(of, separator) {
		of += separator + "*"
	}
	return of
}
