package acp

import (
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/scope"
)

// call is a tool call as the client sees it.
type call struct {
	item     *event.Item
	dir      string // of the session
	terminal bool   // its output shows as a terminal's
	title    string
	output   string // the last part of its output
	dirty    bool   // output has grown since it was shown
}

func newCall(ses *session, item *event.Item) *call {
	name := item.Content().Name
	return &call{
		item:     item,
		dir:      ses.opened.Spec.Dir,
		title:    name,
		terminal: name == "shell" && ses.can.Meta.TerminalOutput,
	}
}

func (c *call) view() toolview.Call { return transcript.CallOf(c.item, c.dir) }

// kindOf returns the protocol's kind of a tool.
func kindOf(name string) string {
	switch toolview.KindOf(name) {
	case toolview.Command, toolview.Job:
		return "execute"
	case toolview.Read:
		return "read"
	case toolview.Edit:
		return "edit"
	case toolview.Search, toolview.List, toolview.Web:
		return "search"
	case toolview.Plan:
		return "think"
	default:
		return "other"
	}
}

// begin reports the call as soon as the model names it.
func (c *call) begin() toolCall {
	name := c.item.Content().Name
	t := toolCall{Update: "tool_call", ID: c.item.ID, Title: name, Kind: kindOf(name), Status: "pending"}
	if c.terminal {
		t.Content = []object{c.screen()}
		t.Meta = object{"terminal_info": object{"terminal_id": c.item.ID, "cwd": c.dir}}
	}
	return t
}

func (c *call) screen() object { return object{"type": "terminal", "terminalId": c.item.ID} }

func (c *call) update() toolCall { return toolCall{Update: "tool_call_update", ID: c.item.ID} }

// ready returns the update with the arguments of the call.
func (c *call) ready() toolCall {
	u, view := c.update(), c.view()
	u.RawInput, u.Locations = view.Arguments, locations(view)
	if view.Kind == toolview.Command {
		c.title = oneLine(view.Command, c.title)
		u.Title = c.title
	}
	return u
}

// plan is the plan that the call set.
func (c *call) plan() object {
	entries := []object{}
	for _, s := range c.view().Plan.Plan {
		entries = append(entries, object{"content": s.Step, "priority": "medium", "status": s.Status})
	}
	return object{"sessionUpdate": "plan", "entries": entries}
}

// setsPlan reports whether a call has set the plan.
func setsPlan(i *event.Item) bool {
	return i.Status == event.ItemCompleted && toolview.KindOf(i.Content().Name) == toolview.Plan
}

// maxTitle bounds a title in bytes.
const maxTitle = 200

func oneLine(text, otherwise string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > maxTitle {
		line, rest = strings.ToValidUTF8(line[:maxTitle], ""), "more"
	}
	switch {
	case line == "":
		return otherwise
	case rest != "":
		return line + " …"
	}
	return line
}

// locations are the files that the call works on.
func locations(view toolview.Call) (out []location) {
	for _, path := range view.Paths() {
		out = append(out, location{Path: path, Line: view.Line})
	}
	return out
}

func (c *call) started(title string) toolCall {
	u := c.update()
	u.Status = "in_progress"
	if title != "" {
		c.title = title
		u.Title = title
	}
	if transcript.Changed(c.item) != "" {
		view := c.view()
		u.RawInput, u.Locations = view.Arguments, locations(view)
	}
	return u
}

// Output so far is shown from its end, and not at once each time.
const (
	maxOutput   = 8 << 10
	outputDelay = 250 * time.Millisecond
)

// output takes more of a call's output. The caller holds mu.
func (ses *session) output(c *call, text string) {
	if c.terminal {
		u := c.update()
		u.Meta = object{"terminal_output": object{"terminal_id": c.item.ID, "data": text}}
		ses.send(u)
		return
	}
	if c.output += text; len(c.output) > maxOutput {
		c.output = strings.ToValidUTF8(c.output[len(c.output)-maxOutput:], "")
	}
	c.dirty = true
	if ses.flusher == nil {
		ses.flusher = time.AfterFunc(outputDelay, scope.Shield(ses.Panicked, ses.flush)) // stopped by close
	}
}

// flush shows the new output of calls.
func (ses *session) flush() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.flusher == nil {
		return // closed
	}
	ses.flusher = nil
	for _, c := range ses.calls {
		if c.dirty {
			c.dirty = false
			u := c.update()
			u.Content = []object{contentBlock(codeBlock(c.output))}
			ses.send(u)
		}
	}
}

// contentBlock is text in the content of a call.
func contentBlock(text string) object { return object{"type": "content", "content": textPiece(text)} }

// codeBlock returns Markdown that shows a text unchanged.
func codeBlock(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// ended reports the call's outcome and output.
func (c *call) ended() toolCall {
	u, content := c.update(), c.item.Content()
	u.Status = "completed"
	if c.item.Status != event.ItemCompleted {
		u.Status = "failed"
	}
	u.RawOutput = raw(c.item, content)
	u.Content = c.results(content)
	if len(content.Detail) > 0 {
		for _, change := range c.view().Changes(content.Detail) {
			if path := (location{Path: change.Path}); !slices.Contains(u.Locations, path) {
				u.Locations = append(u.Locations, path)
			}
		}
	}
	if c.terminal && c.item.Started {
		exit := object{"terminal_id": c.item.ID, "exit_code": content.ExitCode, "signal": nil}
		u.Meta = object{"terminal_exit": exit}
	}
	return u
}

// results returns the content blocks that show a person the result of a call.
func (c *call) results(content event.Content) (out []object) {
	if diffs := diffs(c.view(), content.Detail); len(diffs) > 0 {
		out = diffs
	} else if c.terminal && c.item.Started {
		out = []object{c.screen()}
	} else if content.Output != "" {
		out = []object{contentBlock(codeBlock(content.Output))}
	}
	if c.item.Status == event.ItemAborted && c.item.Cause != nil {
		words := "The call was ended: " + c.item.Cause.Error() + "."
		if c.item.Effects == event.EffectsUnknown {
			words += " What it has done is not known."
		}
		out = append(out, contentBlock(words))
	}
	for _, p := range content.Survivors {
		out = append(out, contentBlock("Process "+p.Command+" could not be ended: "+p.Why))
	}
	return out
}

// raw returns the result of a call for programs; nil if there is nothing to report.
func raw(i *event.Item, c event.Content) any {
	o := object{}
	if c.ExitCode != nil && *c.ExitCode != 0 {
		o["exit_code"] = *c.ExitCode
	}
	if c.OutputFile != "" {
		o["output_file"], o["output_bytes"] = c.OutputFile, c.OutputBytes
	}
	if i.Effects != "" {
		o["effects"] = i.Effects
	}
	if i.Cause != nil {
		o["cause"] = i.Cause
	}
	if len(c.Jobs) > 0 {
		o["jobs"] = c.Jobs
	}
	if len(c.Survivors) > 0 {
		o["survivors"] = c.Survivors
	}
	if len(o) == 0 {
		return nil
	}
	return o
}
