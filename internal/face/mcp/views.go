package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/tool/file"
)

// toolShell runs commands.
const toolShell = "shell"

// isEditor reports whether a tool changes files, and shows how.
func isEditor(tool string) bool { return toolview.KindOf(tool) == toolview.Edit }

// view is an event as the older interface has it: an object with its type
// (openai/codex, codex-rs/protocol/src/protocol.rs, EventMsg).
type view map[string]any

func (v view) kind() string { s, _ := v["type"].(string); return s }

// views makes views of events, in order.
type views struct {
	session *agent.Opened
	calls   map[string]*seen // by item, while they run
	changes map[string]any   // of calls that are asked about, by item
	answer  any              // the turn's last message
	total   event.Usage
}

// seen is a call that runs.
type seen struct {
	called
	at time.Time
}

func newViews(s *agent.Opened) *views {
	return &views{session: s, calls: map[string]*seen{}, changes: map[string]any{}}
}

// take returns what an event is to the clients.
func (v *views) take(e event.Event) []view {
	switch d := e.Data.(type) {
	case event.TurnStarted:
		v.answer = nil
		return []view{{"type": "task_started", "model_context_window": v.window()}}
	case event.TurnCompleted:
		return []view{{"type": "task_complete", "last_agent_message": v.answer}}
	case event.TurnAborted:
		return []view{{"type": "turn_aborted", "reason": d.Reason}}
	case event.TurnFailed:
		return []view{{"type": "error", "message": d.Failure.Message}, {"type": "task_complete", "last_agent_message": nil}}
	case event.AttemptEnded:
		return v.attempt(d)
	case event.ItemDelta:
		return v.delta(e, d)
	case event.ItemEnded:
		return v.ended(e, d)
	case event.CallReady:
		v.calls[e.Item] = &seen{called: called{d.Name, d.Arguments, v.session.Agent.Config.WorkDir}}
	case event.ApprovalRequested:
		return []view{v.question(e, d)}
	case event.CallStarted:
		return v.started(e)
	case event.JobStarted:
		return []view{{"type": "background_event", "message": fmt.Sprintf("process %d runs on in the background: %s", d.PID, d.Command)}}
	case event.InputHeld:
		return []view{{"type": "background_event", "message": fmt.Sprintf("an input is held (%s); it runs with the next one", d.Reason)}}
	}
	return nil
}

func (v *views) window() any {
	if n := v.session.Agent.Config.Traits.Window; n > 0 {
		return n
	}
	return nil
}

func (v *views) attempt(d event.AttemptEnded) []view {
	var out []view
	if d.RetryIn != nil && d.Failure != nil {
		wait := time.Duration(*d.RetryIn) * time.Millisecond
		out = append(out, view{"type": "stream_error", "message": fmt.Sprintf("%s; trying again in %v", d.Failure.Message, wait)})
	}
	if d.Outcome != event.Completed {
		return out
	}
	v.total = v.total.Add(d.Usage)
	return append(out, view{"type": "token_count", "info": view{
		"total_token_usage": usageView(v.total), "last_token_usage": usageView(d.Usage), "model_context_window": v.window(),
	}, "rate_limits": nil})
}

func usageView(u event.Usage) view {
	return view{
		"input_tokens": u.Input, "cached_input_tokens": u.CacheRead, "output_tokens": u.Output,
		"reasoning_output_tokens": u.Reasoning, "total_tokens": u.Input + u.Output,
	}
}

func (v *views) delta(e event.Event, d event.ItemDelta) []view {
	switch d.Stream {
	case event.Text:
		kind := "agent_message_delta"
		v.session.View(func(st event.State) {
			if t := st.Turn(e.Turn); t != nil && t.Item(e.Item) != nil && t.Item(e.Item).Type() != event.Message {
				kind = "agent_reasoning_delta"
			}
		})
		return []view{{"type": kind, "delta": d.Text}}
	case event.Output:
		if c := v.calls[e.Item]; c != nil && c.tool == toolShell {
			return []view{{"type": "exec_command_output_delta", "call_id": e.Item, "stream": "stdout", "chunk": base64.StdEncoding.EncodeToString([]byte(d.Text))}}
		}
	}
	return nil
}

func (v *views) question(e event.Event, d event.ApprovalRequested) view {
	if isEditor(d.Tool) {
		v.changes[e.Item] = changesOf(d.Tool, d.Detail)
		return view{"type": "apply_patch_approval_request", "call_id": e.Item, "changes": v.changes[e.Item], "reason": asker.Words(d)}
	}
	c := called{tool: d.Tool, dir: v.session.Agent.Config.WorkDir}
	if s := v.calls[e.Item]; s != nil {
		c = s.called
	}
	return view{"type": "exec_approval_request", "call_id": e.Item, "command": c.asked(), "cwd": c.workDir(), "reason": asker.Words(d), "parsed_cmd": c.parsed()}
}

func (v *views) started(e event.Event) []view {
	c := v.calls[e.Item]
	if c == nil {
		c = &seen{called: called{dir: v.session.Agent.Config.WorkDir}}
		v.calls[e.Item] = c
	}
	c.at = e.At
	switch {
	case c.tool == toolShell:
		return []view{{"type": "exec_command_begin", "call_id": e.Item, "command": c.command(), "cwd": c.workDir(), "parsed_cmd": c.parsed()}}
	case isEditor(c.tool):
		changes, asked := v.changes[e.Item]
		if !asked {
			changes = view{}
		}
		return []view{{"type": "patch_apply_begin", "call_id": e.Item, "auto_approved": !asked, "changes": changes}}
	}
	return []view{{"type": "mcp_tool_call_begin", "call_id": e.Item, "invocation": c.invocation()}}
}

func (v *views) ended(e event.Event, d event.ItemEnded) []view {
	switch {
	case d.Type == event.Message && d.Status == event.ItemCompleted:
		v.answer = d.Text
		return []view{{"type": "agent_message", "message": d.Text}}
	case d.Type == event.Reasoning && d.Text != "":
		return []view{{"type": "agent_reasoning", "text": d.Text}}
	case d.Type != event.ToolCall:
		return nil
	}
	c := v.calls[e.Item]
	delete(v.calls, e.Item)
	delete(v.changes, e.Item)
	if c == nil || c.at.IsZero() {
		return nil // it never began
	}
	took := e.At.Sub(c.at)
	duration := view{"secs": int64(took / time.Second), "nanos": int64(took % time.Second)}
	switch {
	case c.tool == toolShell:
		code := -1
		if d.ExitCode != nil {
			code = *d.ExitCode
		}
		return []view{{
			"type": "exec_command_end", "call_id": e.Item, "stdout": d.Output, "stderr": "", "aggregated_output": d.Output,
			"exit_code": code, "duration": duration, "formatted_output": d.Output,
		}}
	case isEditor(c.tool):
		return []view{{"type": "patch_apply_end", "call_id": e.Item, "stdout": d.Output, "stderr": "", "success": d.Status == event.ItemCompleted}}
	}
	return []view{{"type": "mcp_tool_call_end", "call_id": e.Item, "invocation": c.invocation(), "duration": duration, "result": view{"Ok": view{
		"content": []view{{"type": "text", "text": d.Output}}, "isError": d.Status != event.ItemCompleted,
	}}}}
}

func (c called) invocation() view {
	return view{"server": "settle", "tool": c.tool, "arguments": toolview.New(c.tool, c.arguments, c.dir).Arguments}
}

// changesOf is what a call would change, by file.
func changesOf(tool string, detail json.RawMessage) view {
	out := view{}
	for _, f := range toolview.New(tool, "", "").Changes(detail) {
		switch f.Kind {
		case file.Create:
			out[f.Path] = view{"add": view{"content": f.Content()}}
		case file.Delete:
			out[f.Path] = view{"delete": view{"content": f.Content()}}
		case file.Move:
			out[f.From] = view{"update": view{"unified_diff": f.Diff, "move_path": f.Path}}
		default:
			out[f.Path] = view{"update": view{"unified_diff": f.Diff, "move_path": nil}}
		}
	}
	return out
}

// history is what was said in a session, for clients that resume it.
func history(st event.State) []any {
	var out []any
	for _, t := range st.Turns {
		for _, i := range t.Inputs {
			out = append(out, view{"type": "user_message", "message": i.Text, "kind": "plain"})
		}
		for _, i := range t.Items {
			if i.Type() == event.Message && !i.Discarded && i.Content().Text != "" {
				out = append(out, view{"type": "agent_message", "message": i.Content().Text})
			}
		}
	}
	return out
}
