package hooks

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
)

// occasion is an event of the session for which hooks run.
type occasion struct {
	event      event.HookEvent
	turn, item string
	input      string // id of the input, for a prompt
	call       *Call  // the tool call; nil for other occasions
	aspects    []aspect
	// open, if set, reports whether the hooks can still affect the occasion.
	open func(event.State) bool
}

// aspect is one part of an occasion for which each hook runs; most occasions have one.
type aspect struct {
	names  []string // names that matchers know; the matching one becomes tool_name
	fields map[string]any
	sent   object // tool_input
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

// aspects returns the aspects of a call. A patch has one aspect for each file, as an edit:
// hooks that protect files do not know patches.
func (s *Set) aspects(c Call) []aspect {
	args := forHooks(c.Tool, c.Arguments, s.Dir)
	if c.Tool == "apply_patch" {
		var out []aspect
		for _, f := range patched(c.Arguments) {
			sent := maps.Clone(args)
			if f.path != "" {
				sent["file_path"] = text(absolute(s.Dir, f.path))
			}
			out = append(out, s.aspect(c, f.names, sent))
		}
		return out
	}
	return []aspect{s.aspect(c, names(c.Tool), args)}
}

func (s *Set) aspect(c Call, names []string, sent object) aspect {
	return aspect{
		names: names, sent: sent,
		fields: map[string]any{"tool_input": sent, "tool_use_id": c.Item, "settle_tool": c.Tool},
	}
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
func clip(s string, most int) string { return bound.Clip(s, most) }
