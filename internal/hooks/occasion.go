package hooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/config/claudecode"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/tool/mcp"
)

// occasion is an event of the session for which hooks run.
type occasion struct {
	event      event.HookEvent
	turn, item string
	input      string // id of the input, for a prompt
	aspects    []aspect
	// open, if set, reports whether the hooks can still affect the occasion.
	open func(event.State) bool
}

// aspect is one part of an occasion for which each hook runs; most occasions have one.
type aspect struct {
	names  []string // names that matchers know; the matching one becomes tool_name
	key    string   // distinguishes the files of a patch; "" for other occasions
	fields map[string]any
	sent   object // tool_input
	call   Call   // the call that tool_input describes
	// outer is the call of tool_call through which the model makes the call; nil for none. Hooks that match only the
	// outer call receive it.
	outer *aspect
}

// Call is a tool call for hooks.
type Call struct {
	Turn, Item string
	Tool       string // settle's name
	Arguments  string
	// Title is the call in one line.
	Title string
}

// Ended describes how a call ended.
type Ended struct {
	Output   string
	ExitCode *int
	Failed   bool
	Aborted  bool
}

// aspects returns the aspects of a call. A call through tool_call is the call of the server's tool: hooks that
// protect a tool do not know tool_call.
func (s *Set) aspects(c Call) []aspect {
	inner, ok := dispatched(c)
	if !ok {
		return s.direct(c)
	}
	list, outer := s.direct(inner), s.aspect(c, names(c), forHooks(c.Tool, c.Arguments, s.Dir))
	for n := range list {
		list[n].outer = &outer
	}
	return list
}

// direct returns the aspects of a call that names its tool. A patch has one aspect for each file, as an edit: hooks
// that protect files do not know patches.
func (s *Set) direct(c Call) []aspect {
	args := forHooks(c.Tool, c.Arguments, s.Dir)
	if c.Tool != "apply_patch" {
		return []aspect{s.aspect(c, names(c), args)}
	}
	var out []aspect
	for _, f := range patched(c.Arguments) {
		sent := maps.Clone(args)
		if f.path != "" {
			sent["file_path"] = text(disk.AbsoluteIn(s.Dir, f.path))
			if slices.Contains(f.names, claudecode.NotebookEdit) {
				sent[claudecode.NotebookPath] = sent["file_path"]
			}
		}
		a := s.aspect(c, f.names, sent)
		a.key = strings.Join(f.names, "|") + " " + f.path
		out = append(out, a)
	}
	return out
}

func (s *Set) aspect(c Call, names []string, sent object) aspect {
	return aspect{
		names: names, sent: sent, call: c,
		fields: map[string]any{"tool_input": sent, "tool_use_id": c.Item, "settle_tool": c.Tool},
	}
}

// dispatched returns the call that a call of tool_call makes; false for other calls.
func dispatched(c Call) (Call, bool) {
	var inner mcp.Dispatched
	if c.Tool != mcp.CallName || json.Unmarshal([]byte(c.Arguments), &inner) != nil || inner.Name == "" {
		return c, false
	}
	c.Tool, c.Arguments = inner.Name, string(inner.Arguments)
	return c, true
}

// changed returns the arguments of the occasion's call, as the hook changed tool_input; "" if they are unchanged.
func (a aspect) changed(input object) string {
	arguments := changedArguments(a.call.Tool, a.call.Arguments, a.sent, input)
	if arguments == "" || a.outer == nil {
		return arguments
	}
	raw, _ := json.Marshal(mcp.Dispatched{Name: a.call.Tool, Arguments: json.RawMessage(arguments)}) // never fails
	return string(raw)
}

// response returns a call's result as hooks receive it.
func (s *Set) response(c Call, e Ended) map[string]any {
	out := map[string]any{"output": e.Output, "success": !e.Failed && !e.Aborted, "interrupted": e.Aborted}
	if e.ExitCode != nil {
		out["exit_code"] = *e.ExitCode
	}
	if c.Tool == "shell" {
		out["stdout"], out["stderr"] = e.Output, ""
	}
	if path := forHooks(c.Tool, c.Arguments, s.Dir)["file_path"]; path != nil {
		out["filePath"] = path
	}
	return out
}

// stdin returns the JSON that a hook reads.
func (s *Set) stdin(o occasion, a aspect, name string) ([]byte, error) {
	all := map[string]any{
		"session_id": s.session(), "transcript_path": s.Transcript, "cwd": s.Dir, "hook_event_name": o.event,
		"permission_mode": mode(s.Permission),
	}
	if o.turn != "" {
		all["turn_id"] = o.turn
	}
	if s.Model != "" {
		all["model"] = s.Model
	}
	if a.sent != nil {
		all["tool_name"] = name
	}
	for key, value := range a.fields {
		all[key] = value
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the input of a hook: %w", err)
	}
	return append(raw, '\n'), nil
}

func (s *Set) session() (id string) {
	s.Log.View(func(st event.State) { id = st.Session })
	return id
}

// mode returns Claude Code's name for the most similar policy.
func mode(p event.Permission) string {
	switch p {
	case event.Allow:
		return "bypassPermissions"
	case event.Deny:
		return "dontAsk"
	}
	return "default"
}

// clip returns the beginning of a text that is too long.
func clip(s string, limit int) string { return bound.Clip(s, limit) }
