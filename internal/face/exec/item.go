package exec

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/tool/file"
)

// server is what calls are of that are neither commands nor changes of files:
// that protocol has no other item for tools than those of MCP servers.
const server = "settle"

// item is one of the turn's items.
type item struct {
	n    int    // counts the turn's items, from 0
	id   string // in lines; empty until it is shown
	name string // of the tool
	args string
	// ready says that args is whole, started that the call was shown.
	ready, started bool

	output  []byte // so far
	updated int    // how much of it was shown
}

// begun returns the item of a call that begins.
func (i *item) begun(dir string) any {
	return i.shown(inProgress, event.ItemEnded{Content: event.Content{Arguments: i.args}}, dir)
}

// progress returns the item of a call that has put out more.
func (i *item) progress() any {
	return commandItem{head{i.id, "command_execution"}, i.command(), string(i.output), nil, inProgress}
}

// over returns the item of a call that has ended.
func (i *item) over(d event.ItemEnded, dir string) any {
	how := completed
	if d.Status != event.ItemCompleted {
		how = failed
	}
	return i.shown(how, d, dir)
}

func (i *item) shown(s status, d event.ItemEnded, dir string) any {
	switch i.name {
	case "shell":
		return commandItem{head{i.id, "command_execution"}, i.command(), i.outputOf(d), d.ExitCode, s}
	case "write", "edit", "apply_patch":
		return fileItem{head{i.id, "file_change"}, changes(i, d, dir), s}
	}
	t := toolItem{head: head{i.id, "mcp_tool_call"}, Server: server, Tool: i.name, Arguments: i.arguments(), Status: s}
	switch s {
	case completed:
		t.Result = &toolResult{Content: []toolContent{{"text", d.Output}}}
	case failed:
		t.Error = &threadError{why(d)}
	}
	return t
}

// why says why a call failed.
func why(d event.ItemEnded) string {
	switch {
	case d.Output != "":
		return d.Output
	case d.Cause != nil:
		return d.Cause.Error()
	}
	return "it failed without saying why"
}

// outputOf returns what a command put out: to the byte where it exited and all
// of it was seen, else what the model is told of it.
func (i *item) outputOf(d event.ItemEnded) string {
	if d.ExitCode != nil && int64(len(i.output)) == d.OutputBytes {
		return string(i.output)
	}
	return d.Output
}

// command returns the command line.
func (i *item) command() string {
	var in struct {
		Command string `json:"command"`
	}
	if json.Unmarshal([]byte(i.args), &in) != nil || in.Command == "" {
		return i.args
	}
	return in.Command
}

// arguments returns the arguments as JSON, whatever the model wrote.
func (i *item) arguments() json.RawMessage {
	if json.Valid([]byte(i.args)) {
		return json.RawMessage(i.args)
	}
	text, err := json.Marshal(i.args)
	if err != nil {
		return json.RawMessage("null") // strings always encode
	}
	return text
}

// changes returns which files a call changed, or is about to.
func changes(i *item, d event.ItemEnded, dir string) []fileChange {
	var done file.Changes
	if json.Unmarshal(d.Detail, &done) != nil || len(done.Files) == 0 {
		return i.intended(dir)
	}
	list := []fileChange{}
	for _, c := range done.Files {
		switch c.Kind {
		case "create":
			list = append(list, fileChange{within(dir, c.Path), "add"})
		case "delete":
			list = append(list, fileChange{within(dir, c.Path), "delete"})
		case "move":
			list = append(list, fileChange{within(dir, c.From), "delete"}, fileChange{within(dir, c.Path), "add"})
		default:
			list = append(list, fileChange{within(dir, c.Path), "update"})
		}
	}
	return list
}

// intended returns the changes that the arguments ask for.
func (i *item) intended(dir string) []fileChange {
	var in struct{ Path, Patch string }
	list := []fileChange{}
	if json.Unmarshal([]byte(i.args), &in) != nil {
		return list
	}
	if in.Path != "" {
		list = append(list, fileChange{within(dir, in.Path), "update"})
	}
	for line := range strings.Lines(in.Patch) {
		for prefix, kind := range map[string]string{"*** Add File: ": "add", "*** Update File: ": "update", "*** Delete File: ": "delete"} {
			if path, ok := strings.CutPrefix(line, prefix); ok {
				list = append(list, fileChange{within(dir, strings.TrimSpace(path)), kind})
			}
		}
	}
	return list
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
