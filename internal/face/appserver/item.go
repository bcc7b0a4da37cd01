package appserver

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
)

// The statuses of items.
const (
	inProgress = "inProgress"
	completed  = "completed"
	didFail    = "failed"
	declined   = "declined"
)

// itemKind is what an item of settle's is to clients.
type itemKind string

const (
	hidden    itemKind = "" // a note for the model
	says      itemKind = "message"
	thinks    itemKind = "reasoning"
	runs      itemKind = "command" // a command, or what reads as one
	changes   itemKind = "change"  // of files
	callsTool itemKind = "tool"    // any other tool
)

func kindOf(c event.Content) itemKind {
	switch c.Type {
	case event.Message:
		return says
	case event.Reasoning:
		return thinks
	case event.ToolCall:
	default:
		return hidden
	}
	switch toolview.KindOf(c.Name) {
	case toolview.Edit:
		return changes
	case toolview.Command, toolview.Read, toolview.Search, toolview.List:
		return runs
	default:
		return callsTool
	}
}

// view is where an item is seen from: the directory of its thread, and what
// became of its approvals.
type view struct {
	dir  string
	turn *event.Turn
}

// item returns a thread item, or nil for what clients do not see. details are
// those of a change, where they are known before the item has ended.
func (v view) item(i *event.Item, details json.RawMessage) any {
	c := i.Content()
	switch kindOf(c) {
	case says:
		return agentMessage{Type: "agentMessage", ID: i.ID, Text: c.Text}
	case thinks:
		summary := []string{}
		if c.Text != "" {
			summary = append(summary, c.Text)
		}
		return reasoning{Type: "reasoning", ID: i.ID, Summary: summary, Content: []string{}}
	case runs:
		return v.command(i, c)
	case changes:
		if len(c.Detail) > 0 {
			details = c.Detail
		}
		return fileChange{Type: "fileChange", ID: i.ID, Changes: updates(v.dir, c, details), Status: v.status(i)}
	case callsTool:
		return v.tool(i, c)
	default:
		return nil
	}
}

// status is that of a call. An interrupt has none of its own: what was cut has
// failed.
func (v view) status(i *event.Item) string {
	switch i.Status {
	case event.ItemOpen:
		return inProgress
	case event.ItemCompleted:
		return completed
	}
	if !i.Started {
		for _, a := range v.turn.Approvals {
			if a.Call == i.ID && a.Ended != nil && (a.Ended.Verdict == event.Denied || a.Ended.Verdict == event.ApprovalAborted) {
				return declined
			}
		}
	}
	return didFail
}

func (v view) command(i *event.Item, c event.Content) commandExecution {
	line, dir, action := describe(c, v.dir)
	out := commandExecution{
		Type: "commandExecution", ID: i.ID, Command: line, Cwd: dir, Source: "agent", Status: v.status(i),
		CommandActions: []commandAction{action}, DurationMs: durationOf(i),
	}
	if i.Status != event.ItemOpen {
		out.AggregatedOutput, out.ExitCode = &c.Output, c.ExitCode
	}
	return out
}

func (v view) tool(i *event.Item, c event.Content) dynamicToolCall {
	out := dynamicToolCall{
		Type: "dynamicToolCall", ID: i.ID, Tool: cmp.Or(c.Name, "unknown"), Arguments: toolview.New(c.Name, c.Arguments, v.dir).Arguments,
		Status: v.status(i), DurationMs: durationOf(i),
	}
	if out.Status == declined { // which such calls do not know
		out.Status = didFail
	}
	if i.Status != event.ItemOpen {
		ok := i.Status == event.ItemCompleted
		out.Success, out.ContentItems = &ok, []contentItem{{"inputText", c.Output}}
	}
	return out
}

// durationOf is how long a call ran; nil while it runs, and for one that never did.
func durationOf(i *event.Item) *int64 {
	if i.StartedAt.IsZero() || i.EndedAt.IsZero() {
		return nil
	}
	ms := i.EndedAt.Sub(i.StartedAt).Milliseconds()
	return &ms
}

// describe says what a call does as a command line, where, and what for.
func describe(c event.Content, dir string) (line, at string, action commandAction) {
	call := toolview.New(c.Name, c.Arguments, dir)
	switch call.Kind {
	case toolview.Command:
		line = cmp.Or(call.Command, c.Arguments)
		return line, call.Dir, commandAction{Type: "unknown", Command: line}
	case toolview.Read:
		line = strings.TrimSpace("read " + call.Path)
		path := toolview.Absolute(dir, call.Path)
		return line, dir, commandAction{Type: "read", Command: line, Name: filepath.Base(call.Path), Path: &path}
	case toolview.Search:
		line = strings.TrimSpace(c.Name + " " + quoted(call.Pattern) + " " + call.Path)
		return line, dir, commandAction{Type: "search", Command: line, Query: ptr(call.Pattern), Path: ptr(call.Path)}
	default:
		line = strings.TrimSpace("list " + call.Path)
		return line, dir, commandAction{Type: "listFiles", Command: line, Path: ptr(call.Path)}
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// messageOf returns what a user said as an item.
func messageOf(in event.Input) userMessage {
	m := userMessage{Type: "userMessage", ID: in.ID, Content: []said{}}
	if !ownInput().MatchString(in.ID) {
		m.ClientID = &in.ID
	}
	if in.Text != "" {
		m.Content = append(m.Content, said{Type: "text", Text: &in.Text, TextElements: &[]any{}})
	}
	for _, i := range in.Images {
		m.Content = append(m.Content, said{Type: "image", URL: "data:" + i.MediaType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)})
	}
	return m
}

// ownInput matches the ids of inputs that no client chose.
func ownInput() *regexp.Regexp { return regexp.MustCompile(`^n\d{6,}x*$`) }

func seconds(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	s := t.Unix()
	return &s
}

func milliseconds(t time.Time) *int64 {
	ms := t.UnixMilli()
	return &ms
}
