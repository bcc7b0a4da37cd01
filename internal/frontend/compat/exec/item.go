package exec

import (
	"cmp"
	"encoding/json"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/mcp"
)

// server is the name of the MCP server for calls of settle's own tools that are neither
// commands nor file changes: the protocol has no other item for tools.
const server = "settle"

// item is a call that is shown.
type item struct {
	id        string // in lines
	view      toolview.Call
	arguments string // as the model wrote them

	output  []byte // so far
	updated int    // how much of it was shown
}

// startedLine returns the item of a call that begins.
func (i *item) startedLine() any {
	return i.shown(inProgress, event.Content{}, nil)
}

// progress returns the item of a call that has put out more.
func (i *item) progress() any {
	return commandItem{head{i.id, "command_execution"}, i.command(), string(i.output), nil, inProgress}
}

// ended returns the item of a call that has ended.
func (i *item) ended(how event.Status, c event.Content, cause *event.Cause) any {
	if how == event.ItemCompleted {
		return i.shown(completed, c, cause)
	}
	return i.shown(failed, c, cause)
}

func (i *item) shown(s status, c event.Content, cause *event.Cause) any {
	switch i.view.Kind {
	case toolview.Command:
		return commandItem{head{i.id, "command_execution"}, i.command(), i.outputOf(c), c.ExitCode, s}
	case toolview.Edit:
		return fileItem{head{i.id, "file_change"}, changes(i.view, c.Detail), s}
	case toolview.Web:
		return searchItem{
			head{i.id, "web_search"},
			i.view.Pattern,
			searchAction{"search", i.view.Pattern},
			s,
			i.sources(s, c),
			i.failure(s, c, cause),
		}
	}
	call, ok := mcp.CalledBy(i.view.Tool, i.view.Arguments)
	if !ok {
		call = mcp.Called{Server: server, Tool: i.view.Tool, Arguments: i.view.Arguments}
	}
	t := toolItem{
		head:      head{i.id, "mcp_tool_call"},
		Server:    call.Server,
		Tool:      call.Tool,
		Arguments: call.Arguments,
		Status:    s,
	}
	switch s {
	case completed:
		t.Result = &toolResult{Content: []toolContent{{"text", c.Output}}}
	case failed:
		t.Error = &threadError{reason(c, cause)}
	}
	return t
}

// sources are the pages that a search of the web found.
func (i *item) sources(s status, c event.Content) []toolview.Source {
	if s != completed {
		return nil
	}
	return i.view.Sources(c.Detail)
}

func (i *item) failure(s status, c event.Content, cause *event.Cause) *threadError {
	if s != failed {
		return nil
	}
	return &threadError{reason(c, cause)}
}

// reason returns the reason why a call failed.
func reason(c event.Content, cause *event.Cause) string {
	switch {
	case c.Output != "":
		return c.Output
	case cause != nil:
		return cause.Error()
	}
	return "it failed without saying why"
}

// outputOf returns the output of a command: all bytes if the command exited and settle
// saw all of its output, otherwise the text that the model receives.
func (i *item) outputOf(c event.Content) string {
	if c.ExitCode != nil && int64(len(i.output)) == c.OutputBytes {
		return string(i.output)
	}
	return c.Output
}

// command returns the command line; arguments without one are returned unchanged.
func (i *item) command() string { return cmp.Or(i.view.Command, i.arguments) }

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
