package appserver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/hooks"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/mcp"
)

// The statuses of items.
const (
	inProgress = "inProgress"
	completed  = "completed"
	didFail    = "failed"
	declined   = "declined"
)

// itemKind is the protocol's type for an item.
type itemKind string

const (
	hidden      itemKind = "" // a note of settle for the model
	prompts     itemKind = "hookPrompt"
	says        itemKind = "agentMessage"
	thinks      itemKind = "reasoning"
	runs        itemKind = "commandExecution" // a command, or a call that reads like one
	changes     itemKind = "fileChange"
	searches    itemKind = "webSearch"
	callsServer itemKind = "mcpToolCall"
	callsTool   itemKind = "dynamicToolCall" // any other tool
)

func kindOf(c event.Content) itemKind {
	switch c.Type {
	case event.Message:
		return says
	case event.Reasoning:
		return thinks
	case event.ToolCall:
	case event.Note:
		if strings.HasPrefix(c.Text, hooks.NotePrefix) {
			return prompts
		}
		return hidden
	default:
		return hidden
	}
	switch toolview.KindOf(c.Name) {
	case toolview.Edit:
		return changes
	case toolview.Command, toolview.Read, toolview.Search, toolview.List:
		return runs
	case toolview.Web:
		return searches
	}
	if _, ok := mcp.CalledBy(c.Name, json.RawMessage(c.RanWith())); ok {
		return callsServer
	}
	return callsTool
}

// view is the context in which an item is shown: the directory of its thread, and the turn with its
// approvals.
type view struct {
	dir  string
	turn *event.Turn
}

// item returns a thread item, or nil for an item that clients do not see. details are
// the details of a file change, if they are known before the item has ended.
func (v view) item(i *event.Item, details json.RawMessage) object {
	c := i.Content()
	kind := kindOf(c)
	out := object{"type": kind, "id": i.ID}
	switch kind {
	case hidden:
		return nil
	case says:
		out["text"] = c.Text
		setNull(out, "phase", "memoryCitation", "moderation", "delivery", "questions")
		return out
	case thinks:
		summary := []string{}
		if c.Text != "" {
			summary = append(summary, c.Text)
		}
		out["summary"], out["content"] = summary, []string{}
		return out
	case prompts:
		text := strings.TrimPrefix(c.Text, hooks.NotePrefix)
		out["fragments"] = []object{{"text": text, "hookRunId": v.hookOf(text)}}
		return out
	case runs:
		v.describeCommand(out, i, c)
	case changes:
		if len(c.Detail) > 0 {
			details = c.Detail
		}
		out["changes"] = updates(v.dir, c, details)
	case callsTool:
		v.describeTool(out, i, c)
	case callsServer:
		v.describeServerTool(out, i, c)
	case searches: // its status and error are not in that protocol, and said all the same
		call := toolview.New(c.Name, c.RanWith(), v.dir)
		out["query"], out["action"], out["results"] = call.Pattern, object{
			"type":    "search",
			"query":   call.Pattern,
			"queries": nil,
		}, nil
		if found := call.Sources(c.Detail); len(found) > 0 {
			out["results"] = found
		}
		if i.Status != event.ItemOpen && i.Status != event.ItemCompleted {
			out["error"] = object{"message": c.Output}
		}
	}
	out["status"] = v.status(i, kind)
	return out
}

// hookOf returns the id of the turn's hook that gave the model the text; "" for one of the session's start.
func (v view) hookOf(text string) string {
	if v.turn != nil {
		for _, h := range slices.Backward(v.turn.Hooks) {
			if h.Ended != nil && (h.Ended.Context == text || h.Ended.Reason == text) {
				return h.Hook
			}
		}
	}
	return ""
}

// setNull sets fields to null that Codex can send and settle does not.
func setNull(o object, names ...string) {
	for _, name := range names {
		o[name] = nil
	}
}

// status is the status of a call. An interrupted call has failed, since the protocol has
// no other status for it.
func (v view) status(i *event.Item, kind itemKind) string {
	switch i.Status {
	case event.ItemOpen:
		return inProgress
	case event.ItemCompleted:
		return completed
	}
	if !i.Started && kind != callsTool && kind != callsServer { // which are never declined
		for _, a := range v.turn.Approvals {
			if a.Call == i.ID && a.Ended != nil &&
				(a.Ended.Verdict == event.Denied || a.Ended.Verdict == event.ApprovalAborted) {
				return declined
			}
		}
	}
	return didFail
}

func (v view) describeCommand(out object, i *event.Item, c event.Content) {
	line, dir, action := describe(c, v.dir)
	setNull(out, "pluginId", "scriptPath", "processId", "aggregatedOutput", "exitCode")
	out["command"], out["cwd"], out["source"], out["commandActions"] = line, dir, "agent", []commandAction{action}
	out["durationMs"] = milliseconds(i.StartedAt, i.EndedAt, i.Cause)
	if i.Status != event.ItemOpen {
		out["aggregatedOutput"], out["exitCode"] = c.Output, c.ExitCode
	}
}

func (v view) describeTool(out object, i *event.Item, c event.Content) {
	setNull(out, "namespace", "contentItems", "success")
	out["tool"], out["arguments"] = cmp.Or(c.Name, "unknown"), toolview.New(c.Name, c.RanWith(), v.dir).Arguments
	out["durationMs"] = milliseconds(i.StartedAt, i.EndedAt, i.Cause)
	if i.Status != event.ItemOpen {
		out["success"], out["contentItems"] = i.Status == event.ItemCompleted, []object{
			{"type": "inputText", "text": c.Output},
		}
	}
}

// describeServerTool adds the arguments of an MCP server's tool and its answer or error.
func (v view) describeServerTool(out object, i *event.Item, c event.Content) {
	call, _ := mcp.CalledBy(c.Name, toolview.New(c.Name, c.RanWith(), v.dir).Arguments)
	setNull(out, "appContext", "mcpAppUi", "pluginId", "readOnlyHint", "result", "error")
	out["server"], out["tool"], out["arguments"] = call.Server, call.Tool, call.Arguments
	out["durationMs"] = milliseconds(i.StartedAt, i.EndedAt, i.Cause)
	switch i.Status {
	case event.ItemOpen:
	case event.ItemCompleted:
		out["result"] = object{
			"content":           []object{{"type": "text", "text": c.Output}},
			"structuredContent": nil,
			"_meta":             nil,
		}
	default:
		message := c.Output
		if message == "" && i.Cause != nil {
			message = i.Cause.Error()
		}
		out["error"] = object{"message": message}
	}
}

// commandAction is the purpose of a command: read, listFiles, search or unknown.
type commandAction struct {
	Type    string  `json:"type"`
	Command string  `json:"command"`
	Name    string  `json:"name,omitempty"`
	Path    *string `json:"path,omitempty"`
	Query   *string `json:"query,omitempty"`
}

// describe returns a call as a command line, its directory, and its kind of action.
func describe(c event.Content, dir string) (line, at string, action commandAction) {
	call := toolview.New(c.Name, c.RanWith(), dir)
	switch call.Kind {
	case toolview.Command:
		line = cmp.Or(call.Command, c.RanWith())
		return line, call.Dir, commandAction{Type: "unknown", Command: line}
	case toolview.Read:
		line = strings.TrimSpace("read " + call.Path)
		path := toolview.Absolute(dir, call.Path)
		return line, dir, commandAction{Type: "read", Command: line, Name: filepath.Base(call.Path), Path: &path}
	case toolview.Search:
		line = strings.TrimSpace(c.Name + " " + terminal.ShellWord(call.Pattern) + " " + call.Path)
		return line, dir, commandAction{Type: "search", Command: line, Query: ptr(call.Pattern), Path: ptr(call.Path)}
	default:
		line = strings.TrimSpace("list " + call.Path)
		return line, dir, commandAction{Type: "listFiles", Command: line, Path: ptr(call.Path)}
	}
}

// updates returns the changes of a call, from the details of its result or of its approval request;
// without details, the files that it names.
func updates(dir string, c event.Content, details json.RawMessage) []object {
	out := []object{}
	for _, change := range toolview.New(c.Name, c.RanWith(), dir).Changes(details) {
		out = append(out, update(change))
	}
	return out
}

// update is a change of a file. Its diff is the content of a file that is added or
// deleted, else the hunks of a unified diff.
func update(c toolview.Change) object {
	switch c.Kind {
	case file.Create:
		return object{"path": c.Path, "kind": object{"type": "add"}, "diff": c.Content()}
	case file.Delete:
		return object{"path": c.Path, "kind": object{"type": "delete"}, "diff": c.Content()}
	case file.Move:
		return object{"path": c.From, "kind": object{"type": "update", "move_path": c.Path}, "diff": c.Body()}
	default:
		return object{"path": c.Path, "kind": object{"type": "update"}, "diff": c.Body()}
	}
}

// messageOf returns an input of the user as an item.
func messageOf(in event.Input) object {
	content := []object{}
	text := in.Text
	if in.By == event.Resumer {
		text = transcript.ResumedWords(&in)
	}
	if text != "" {
		content = append(content, object{"type": "text", "text": text, "text_elements": []any{}})
	}
	for _, i := range in.Images {
		content = append(
			content,
			object{
				"type": "image",
				"url":  "data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data),
			},
		)
	}
	out := object{"type": "userMessage", "id": in.ID, "clientId": nil, "content": content}
	if !ownInput().MatchString(in.ID) {
		out["clientId"] = in.ID
	}
	return out
}

// ownInput matches the ids of inputs that no client chose.
func ownInput() *regexp.Regexp { return regexp.MustCompile(`^n\d{6,}x*$`) }
