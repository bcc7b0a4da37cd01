package claude

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
)

// The hooks that settle calls.
const (
	beforeUse = "PreToolUse"
	afterUse  = "PostToolUse"
	afterFail = "PostToolUseFailure"
)

// hookTimeout bounds a hook that has no bound of its own.
const hookTimeout = 60 * time.Second

// matcher says which hooks are called for which tools.
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

// bound is how long a hook may take.
func (m matcher) bound() time.Duration {
	if m.Timeout > 0 {
		return time.Duration(m.Timeout * float64(time.Second))
	}
	return hookTimeout
}

// hooks are what the client has registered. A call that one is about is asked
// about, whatever the policy says of it; what that said is kept for the answer.
type hooks struct {
	mu       sync.Mutex // guards what follows
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

// judged returns what the policy said of a call, if hooks are to be asked.
func (h *hooks) judged(item string) (settle.Judgement, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	j, ok := h.verdicts[item]
	delete(h.verdicts, item)
	return j, ok
}

// reviewed has the hooks asked about what the policy does not deny.
func (h *hooks) reviewed(a settle.Approval, j settle.Judgement) settle.Judgement {
	if j.Decision == settle.Deny || len(h.about(beforeUse, a.Tool.Name)) == 0 {
		return j
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.verdicts == nil {
		h.verdicts = map[string]settle.Judgement{}
	}
	h.verdicts[a.Item] = j
	j.Decision = settle.Ask
	if j.Why == "" {
		j.Why = "a hook of the client's is asked"
	}
	return j
}

// hookAnswer is what a hook says.
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

// word is what hooks have said of a call together: the strictest counts.
type word struct {
	left     int // hooks that have not answered
	strict   int
	decision string
	reason   string
	input    map[string]any
}

// strictness orders what hooks say.
func strictness(decision string) int {
	return slices.Index([]string{"", "allow", "ask", "deny", "stop"}, decision)
}

func (w *word) add(decision, reason string) {
	if s := strictness(decision); s > w.strict {
		w.strict, w.decision, w.reason = s, decision, reason
	}
}

// hear adds what one hook says.
func (w *word) hear(m matcher, raw json.RawMessage, failure string) {
	var a hookAnswer
	if failure == "" && len(raw) > 0 {
		if err := json.Unmarshal(raw, &a); err != nil {
			failure = "its answer could not be understood"
		}
	}
	if failure != "" {
		if m.OnFailure == "block" {
			w.add("deny", "a hook failed: "+failure)
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
		w.input = input
	}
}

// before asks the hooks about a call that the policy has judged.
func (d *driver) before(a *approval, was settle.Judgement) {
	known := aliasOf(a.tool)
	input := known.input(a.arguments, d.Dir)
	w := &word{}
	heard := func() {
		if w.left--; w.left == 0 && d.pending[a.id] == a {
			d.hooked(a, was, w, input)
		}
	}
	matchers := d.hooks.about(beforeUse, a.tool)
	for _, m := range matchers {
		w.left += len(m.Callbacks)
	}
	if w.left == 0 || d.eof {
		w.left = 1
		if d.eof && slices.ContainsFunc(matchers, func(m matcher) bool { return m.OnFailure == "block" }) {
			w.add("deny", "a hook could not be asked: the client has closed its input")
		}
		heard()
		return
	}
	for _, m := range matchers {
		for _, callback := range m.Callbacks {
			a.asks = append(a.asks, d.hook(beforeUse, callback, a.call, m.bound(), d.toolInput(beforeUse, known, input, a.call), func(raw json.RawMessage, failure string) {
				w.hear(m, raw, failure)
				heard()
			}))
		}
	}
}

// hooked decides about a call that the hooks have had their word on.
func (d *driver) hooked(a *approval, was settle.Judgement, w *word, input map[string]any) {
	switch {
	case w.decision == "stop":
		d.answerWith(a, settle.Answer{Verdict: event.ApprovalAborted, Message: w.reason})
	case w.decision == "deny":
		d.answerWith(a, settle.Answer{Verdict: event.Denied, Message: w.reason})
	case w.input != nil && !same(w.input, input) && !d.agreed[aliasOf(a.tool).claude+compact(input)]:
		d.again(a, w.input)
	case w.decision == "allow", w.decision == "" && was.Decision == settle.Allow:
		d.answerWith(a, settle.Answer{Verdict: event.Approved})
	default:
		d.decide(a, w.reason)
	}
}

// toolInput is what a hook is told of a call.
func (d *driver) toolInput(kind string, known alias, input map[string]any, call string) map[string]any {
	return map[string]any{
		"hook_event_name": kind, "session_id": d.id, "transcript_path": "", "cwd": d.Dir, "permission_mode": d.policy.mode,
		"tool_name": known.claude, "tool_input": input, "tool_use_id": call,
	}
}

// hook calls a hook, bounded.
func (d *driver) hook(kind, callback, call string, bound time.Duration, input map[string]any, done func(json.RawMessage, string)) string {
	var timer *time.Timer
	id := d.question(map[string]any{"subtype": "hook_callback", "callback_id": callback, "input": input, "tool_use_id": call},
		func(raw json.RawMessage, failure string) {
			timer.Stop()
			done(raw, failure)
		})
	timer = time.AfterFunc(bound, func() {
		d.post(func() {
			if a := d.asks[id]; a != nil {
				d.withdraw(id)
				a.done(nil, kind+" did not answer in time")
			}
		})
	})
	return id
}

// used tells the hooks of a call that has run. What they answer has no effect.
func (d *driver) used(e event.ItemEnded) {
	kind, known := afterUse, aliasOf(e.Name)
	if e.Status != event.ItemCompleted {
		kind = afterFail
	}
	if d.eof || d.closing {
		return
	}
	for _, m := range d.hooks.about(kind, e.Name) {
		for _, callback := range m.Callbacks {
			in := d.toolInput(kind, known, known.input(e.Arguments, d.Dir), e.CallID)
			if kind == afterUse {
				in["tool_response"] = e.Output
			} else {
				in["error"] = e.Output
			}
			d.hook(kind, callback, e.CallID, m.bound(), in, func(json.RawMessage, string) {})
		}
	}
}
