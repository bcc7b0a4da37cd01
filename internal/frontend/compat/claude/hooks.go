package claude

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/plan"
)

// The hooks that settle calls.
const (
	beforeUse = "PreToolUse"
	afterUse  = "PostToolUse"
	afterFail = "PostToolUseFailure"
)

// hookTimeout bounds a hook that has no bound of its own.
const hookTimeout = 60 * time.Second

// matcher selects the hooks of a tool.
type matcher struct {
	Matcher   string   `json:"matcher"`
	Callbacks []string `json:"hookCallbackIds"`
	Timeout   float64  `json:"timeout"` // seconds
	OnFailure string   `json:"onFailure"`
}

// matches reports whether the matcher is about a tool: a name, names with bars
// between them, or a regular expression.
func (m matcher) matches(a alias) bool {
	if m.Matcher == "" || m.Matcher == "*" {
		return true
	}
	all := append([]string{a.claude}, a.also...)
	for _, name := range strings.Split(m.Matcher, "|") {
		if slices.Contains(all, name) {
			return true
		}
	}
	pattern, err := regexp.Compile("^(?:" + m.Matcher + ")$")
	return err == nil && slices.ContainsFunc(all, pattern.MatchString)
}

// bound returns the timeout of a hook.
func (m matcher) bound() time.Duration {
	if m.Timeout > 0 {
		return time.Duration(m.Timeout * float64(time.Second))
	}
	return hookTimeout
}

// hooks are the hooks that the client has registered. A call with a matching hook needs an
// approval in any case; the policy's judgement is kept for the answer.
type hooks struct {
	mu       sync.Mutex // guards the fields below
	matchers map[string][]matcher
	verdicts map[string]settle.Judgement // by item
}

// set registers hooks, and returns the kinds that settle does not have.
func (h *hooks) set(all map[string][]matcher) (unused []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.matchers = all
	for _, kind := range names(all) {
		if !slices.Contains([]string{beforeUse, afterUse, afterFail}, kind) && len(all[kind]) > 0 {
			unused = append(unused, kind)
		}
	}
	return unused
}

// about returns the matchers of a kind that are about a tool.
func (h *hooks) about(kind, tool string) []matcher {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []matcher
	for _, m := range h.matchers[kind] {
		if m.matches(aliasOf(tool)) && len(m.Callbacks) > 0 {
			out = append(out, m)
		}
	}
	return out
}

// judged returns the policy's judgement of a call, if hooks must be asked.
func (h *hooks) judged(item string) (settle.Judgement, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j, ok := h.verdicts[item]
	delete(h.verdicts, item)
	return j, ok
}

// reviewed has the hooks judge the calls that the policy does not deny.
func (h *hooks) reviewed(a settle.Approval, j settle.Judgement) settle.Judgement {
	if of, _ := known(a.Tool.Name, a.Arguments); j.Decision == settle.Deny || len(h.about(beforeUse, of.settle)) == 0 {
		return j
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.verdicts == nil {
		h.verdicts = map[string]settle.Judgement{}
	}
	h.verdicts[a.Item] = j
	j.Decision, j.Review = settle.Ask, false // the hooks are asked first
	if j.Why == "" {
		j.Why = "one of the client's hooks decides"
	}
	return j
}

// hookAnswer is the output of a hook.
type hookAnswer struct {
	Continue   *bool  `json:"continue"`
	StopReason string `json:"stopReason"`
	Decision   string `json:"decision"`
	Reason     string `json:"reason"`
	Specific   struct {
		Decision string          `json:"permissionDecision"`
		Reason   string          `json:"permissionDecisionReason"`
		Input    json.RawMessage `json:"updatedInput"`
	} `json:"hookSpecificOutput"`
}

// verdict is the joint decision of the hooks of a call: the strictest decision counts.
type verdict struct {
	strict   int
	decision string
	reason   string
	input    map[string]any
	how      agreement // agreement of the hook that changed the input
}

// strictness orders the decisions of hooks.
func strictness(decision string) int {
	return slices.Index([]string{"", "allow", "ask", "deny", "stop"}, decision)
}

func (w *verdict) add(decision, reason string) {
	if s := strictness(decision); s > w.strict {
		w.strict, w.decision, w.reason = s, decision, reason
	}
}

// hear adds the answer of one hook.
func (w *verdict) hear(m matcher, raw json.RawMessage, err error) {
	var a hookAnswer
	if err == nil && len(raw) > 0 && json.Unmarshal(raw, &a) != nil {
		err = errors.New("its answer could not be read")
	}
	if err != nil {
		if m.OnFailure == "block" {
			w.add("deny", "a hook failed: "+err.Error())
		}
		return
	}
	switch {
	case a.Continue != nil && !*a.Continue:
		w.add("stop", a.StopReason)
	case a.Decision == "block":
		w.add("deny", a.Reason)
	case a.Decision == "approve":
		w.add("allow", a.Reason)
	}
	w.add(a.Specific.Decision, a.Specific.Reason)
	if input, ok := object(string(a.Specific.Input)); ok {
		w.input, w.how = input, changedByHook
		if a.Specific.Decision == "allow" || a.Specific.Decision == "" && a.Decision == "approve" {
			w.how = allowedByHook
		}
	}
}

// before asks the hooks about a call that the policy has judged.
func (d *driver) before(ctx context.Context, c toolCall) verdict {
	var w verdict
	var mu sync.Mutex // guards w
	var asking sync.WaitGroup
	for _, m := range d.hooks.about(beforeUse, c.settle) {
		for _, callback := range m.Callbacks {
			asking.Go(scope.Shield(d.panicked, func() { // ends with the answer, or with ctx
				raw, err := d.hook(ctx, beforeUse, m, callback, c, nil)
				mu.Lock()
				defer mu.Unlock()
				w.hear(m, raw, err)
			}))
		}
	}
	asking.Wait()
	return w
}

// hooked returns the decision of the hooks about a call; decided is false if they leave it open. A
// call that the client has changed is not changed again.
func (d *driver) hooked(
	c toolCall, was settle.Judgement, w verdict, how agreement,
) (answer asker.Answer, decided bool) {
	switch {
	case w.decision == "stop":
		return asker.Answer{Verdict: event.ApprovalAborted, Message: w.reason}, true
	case w.decision == "deny":
		return denied(w.reason), true
	case c.settle == plan.ProposeName: // no hook accepts or edits a plan
		return asker.Answer{}, false
	case how == "" && w.input != nil && !same(w.input, c.input):
		return d.revise(c, w.input, w.how), true
	case w.decision == "allow", w.decision == "" && was.Decision == settle.Allow:
		return approved(), true
	}
	return asker.Answer{}, false
}

// hook calls a hook, bounded.
func (d *driver) hook(
	ctx context.Context, kind string, m matcher, callback string, c toolCall, more map[string]any,
) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, m.bound(), errors.New(kind+" did not answer in time"))
	defer cancel()
	input := map[string]any{
		"hook_event_name": kind,
		"session_id":      d.id,
		"transcript_path": "",
		"cwd":             d.Dir,
		"permission_mode": d.policy.inForceMode(),
		"tool_name":       c.claude,
		"tool_input":      c.input,
		"tool_use_id":     c.id,
	}
	maps.Copy(input, more)
	return d.call(
		ctx, map[string]any{"subtype": "hook_callback", "callback_id": callback, "input": input, "tool_use_id": c.id},
	)
}

// used calls the hooks for a call that has run. Their answers have no effect.
func (d *driver) used(i *event.Item) {
	kind, output := afterUse, map[string]any{"tool_response": i.Content().Output}
	if i.Status != event.ItemCompleted {
		kind, output = afterFail, map[string]any{"error": i.Content().Output}
	}
	c := d.toolCall(i)
	for _, m := range d.hooks.about(kind, c.settle) {
		for _, callback := range m.Callbacks {
			go scope.Shield(
				d.panicked,
				func() { // ends with the answer, in time, or with the end of the input or of loop
					_, _ = d.hook(context.WithoutCancel(d.ctx), kind, m, callback, c, output)
				},
			)()
		}
	}
}
