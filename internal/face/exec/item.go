package exec

import (
	"cmp"
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
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
	call := toolview.New(i.name, i.args, dir)
	switch call.Kind {
	case toolview.Command:
		return commandItem{head{i.id, "command_execution"}, i.command(), i.outputOf(d), d.ExitCode, s}
	case toolview.Edit:
		return fileItem{head{i.id, "file_change"}, changes(call, d.Detail), s}
	}
	t := toolItem{head: head{i.id, "mcp_tool_call"}, Server: server, Tool: i.name, Arguments: call.Arguments, Status: s}
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

// command returns the command line; arguments without one are shown as they are.
func (i *item) command() string { return cmp.Or(toolview.New(i.name, i.args, "").Command, i.args) }

// changes returns which files a call changed, or is about to.
func changes(call toolview.Call, detail json.RawMessage) []fileChange {
	list := []fileChange{}
	for _, c := range call.Changes(detail) {
		switch c.Kind {
		case file.Create:
			list = append(list, fileChange{c.Path, "add"})
		case file.Delete:
			list = append(list, fileChange{c.Path, "delete"})
		case file.Move:
			list = append(list, fileChange{c.From, "delete"}, fileChange{c.Path, "add"})
		default:
			list = append(list, fileChange{c.Path, "update"})
		}
	}
	return list
}
