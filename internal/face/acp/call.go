package acp

import (
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/toolview"
)

// call is an open tool call, as the client is told of it.
type call struct {
	id, name, dir string
	terminal      bool // its output shows as a terminal's
	arguments     string
	title         string
	running       bool
	output        string // the end of what it has put out
	dirty         bool   // output has grown since it was shown
}

func newCall(one *session, id, name string) *call {
	return &call{
		id: id, name: name, dir: one.opened.Wish.Dir, title: name,
		terminal: name == "shell" && one.can.Meta.TerminalOutput,
	}
}

// kindOf is the protocol's word for what a tool does.
func kindOf(name string) string {
	switch toolview.KindOf(name) {
	case toolview.Command, toolview.Job:
		return "execute"
	case toolview.Read:
		return "read"
	case toolview.Edit:
		return "edit"
	case toolview.Search, toolview.List:
		return "search"
	default:
		return "other"
	}
}

// begin tells of the call as soon as the model names it.
func (c *call) begin() toolCall {
	t := toolCall{Update: "tool_call", ID: c.id, Title: c.name, Kind: kindOf(c.name), Status: "pending"}
	if c.terminal {
		t.Content = []object{c.screen()}
		t.Meta = object{"terminal_info": object{"terminal_id": c.id, "cwd": c.dir}}
	}
	return t
}

func (c *call) screen() object { return object{"type": "terminal", "terminalId": c.id} }

func (c *call) update() toolCall { return toolCall{Update: "tool_call_update", ID: c.id} }

// ready tells what the call is called with.
func (c *call) ready(arguments string) toolCall {
	c.arguments = arguments
	u, view := c.update(), c.view()
	u.RawInput, u.Locations = view.Arguments, c.locations()
	if view.Kind == toolview.Command {
		c.title = oneLine(view.Command, c.title)
		u.Title = c.title
	}
	return u
}

func (c *call) view() toolview.Call { return toolview.New(c.name, c.arguments, c.dir) }

// mostTitle bounds a title in bytes.
const mostTitle = 200

func oneLine(text, otherwise string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > mostTitle {
		line, rest = strings.ToValidUTF8(line[:mostTitle], ""), "more"
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
func (c *call) locations() (out []location) {
	view := c.view()
	for _, path := range view.Paths() {
		out = append(out, location{Path: path, Line: view.Line})
	}
	return out
}

func (c *call) started(title string) toolCall {
	u := c.update()
	u.Status, c.running = "in_progress", true
	if title != "" {
		c.title = title
		u.Title = title
	}
	return u
}

// Output so far is shown from its end, and not at once each time.
const (
	mostOutput  = 8 << 10
	outputDelay = 250 * time.Millisecond
)

// output takes more of a call's output. The caller holds mu.
func (f *follower) output(c *call, text string) {
	if c.terminal {
		u := c.update()
		u.Meta = object{"terminal_output": object{"terminal_id": c.id, "data": text}}
		f.send(u)
		return
	}
	if c.output += text; len(c.output) > mostOutput {
		c.output = strings.ToValidUTF8(c.output[len(c.output)-mostOutput:], "")
	}
	c.dirty = true
	if f.flusher == nil {
		f.flusher = time.AfterFunc(outputDelay, f.flush) // stopped by close
	}
}

// flush shows what calls have put out since the last time.
func (f *follower) flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.flusher == nil {
		return // closed
	}
	f.flusher = nil
	for _, i := range f.items {
		if i.call != nil && i.call.dirty {
			i.call.dirty = false
			u := i.call.update()
			u.Content = []object{block1(fenced(i.call.output))}
			f.send(u)
		}
	}
}

// block1 is text in the content of a call.
func block1(text string) object { return object{"type": "content", "content": said(text)} }

// fenced has a client that shows Markdown show text as it is.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// ended tells how the call ended and what came of it.
func (c *call) ended(d event.ItemEnded) toolCall {
	if c.arguments == "" && d.Arguments != "" {
		c.ready(d.Arguments)
	}
	u := c.update()
	u.Status = "completed"
	if d.Status != event.ItemCompleted {
		u.Status = "failed"
	}
	u.RawOutput = raw(d)
	u.Content = c.results(d)
	if len(d.Detail) > 0 {
		for _, change := range c.view().Changes(d.Detail) {
			if path := (location{Path: change.Path}); !slices.Contains(u.Locations, path) {
				u.Locations = append(u.Locations, path)
			}
		}
	}
	if c.terminal && c.running {
		exit := object{"terminal_id": c.id, "exit_code": d.ExitCode, "signal": nil}
		u.Meta = object{"terminal_exit": exit}
	}
	return u
}

// results is what the person sees of how a call ended.
func (c *call) results(d event.ItemEnded) (out []object) {
	if diffs := c.diffs(d.Detail); len(diffs) > 0 {
		out = diffs
	} else if c.terminal && c.running {
		out = []object{c.screen()}
	} else if d.Output != "" {
		out = []object{block1(fenced(d.Output))}
	}
	if d.Status == event.ItemAborted && d.Cause != nil {
		words := "The call was ended: " + d.Cause.Error() + "."
		if d.Effects == event.EffectsUnknown {
			words += " What it has done is not known."
		}
		out = append(out, block1(words))
	}
	for _, p := range d.Survivors {
		out = append(out, block1("Process "+p.Command+" could not be ended: "+p.Why))
	}
	return out
}

// raw is what came of a call, for programs.
func raw(d event.ItemEnded) any {
	o := object{}
	if d.ExitCode != nil && *d.ExitCode != 0 {
		o["exit_code"] = *d.ExitCode
	}
	if d.OutputFile != "" {
		o["output_file"], o["output_bytes"] = d.OutputFile, d.OutputBytes
	}
	if d.Effects != "" {
		o["effects"] = d.Effects
	}
	if d.Cause != nil {
		o["cause"] = d.Cause
	}
	if len(d.Jobs) > 0 {
		o["jobs"] = d.Jobs
	}
	if len(d.Survivors) > 0 {
		o["survivors"] = d.Survivors
	}
	if len(o) == 0 {
		return nil
	}
	return o
}
