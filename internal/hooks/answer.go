package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/settle-agent/settle/event"
)

// Bounds of the parts of a hook's output that are kept, in bytes.
const (
	maxReason  = 8 << 10
	maxContext = 32 << 10
	maxShown   = 4 << 10
)

// answer is the JSON that a hook may print, in the form of Claude Code.
type answer struct {
	Continue      *bool  `json:"continue"`
	StopReason    string `json:"stopReason"`
	Suppress      bool   `json:"suppressOutput"`
	SystemMessage string `json:"systemMessage"`
	Decision      string `json:"decision"`
	Reason        string `json:"reason"`
	Specific      struct {
		Event      event.HookEvent `json:"hookEventName"`
		Permission string          `json:"permissionDecision"`
		Reason     string          `json:"permissionDecisionReason"`
		Input      *object         `json:"updatedInput"`
		Context    string          `json:"additionalContext"`
		Decision   *struct {
			Behavior  string  `json:"behavior"`
			Input     *object `json:"updatedInput"`
			Message   string  `json:"message"`
			Interrupt bool    `json:"interrupt"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// response is a hook's parsed answer.
type response struct {
	event.HookEnded
	changed *object // the changed tool_input
	silent  bool
}

// codeBlock is the exit code with which a hook blocks.
const codeBlock = 2

// parseAnswer parses a hook's exit code and output. The error states why the hook failed.
func parseAnswer(e event.HookEvent, r Result) (response, error) {
	stderr := strings.TrimSpace(strings.ToValidUTF8(string(r.Stderr), "\uFFFD"))
	switch {
	case r.Truncated:
		return response{}, fmt.Errorf("it put out more than %d bytes", len(r.Stdout))
	case r.Lost:
		return response{}, errors.New("it was killed")
	case r.Code == codeBlock:
		return blocked(e, stderr), nil
	case r.Code != 0:
		if stderr != "" {
			stderr = ": " + stderr
		}
		return response{}, fmt.Errorf("it exited with code %d%s", r.Code, stderr)
	}
	stdout := bytes.TrimSpace(r.Stdout)
	if !utf8.Valid(stdout) || bytes.IndexByte(stdout, 0) >= 0 {
		return response{}, errors.New("it printed what is not text")
	}
	if !looksLikeJSON(stdout) {
		out := response{}
		if e == event.HookPrompt || e == event.HookSessionStart {
			out.Context = string(stdout)
		}
		return out, nil
	}
	var a answer
	if err := json.Unmarshal(stdout, &a); err != nil {
		return response{}, fmt.Errorf("it printed what is no answer: %w", err)
	}
	return a.response(e)
}

// looksLikeJSON reports whether a line of the text begins a JSON object. Text that another
// program prints before the answer must not hide the answer.
func looksLikeJSON(text []byte) bool {
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
			return true
		}
	}
	return false
}

// blocked returns the response of exit code 2.
func blocked(e event.HookEvent, reason string) response {
	if reason == "" {
		reason = "it gave no reason"
	}
	out := response{HookEnded: event.HookEnded{Reason: reason}}
	switch e {
	case event.HookPrompt, event.HookBefore, event.HookPermission, event.HookAfter,
		event.HookStop, event.HookChildStop, event.HookCompact:
		out.Decision = event.Deny
	}
	return out
}

// response converts the answer into a response.
func (a answer) response(e event.HookEvent) (response, error) {
	of := a.Specific
	if of.Event != "" && of.Event != e {
		return response{}, fmt.Errorf("its answer is for %s", of.Event)
	}
	out := response{silent: a.Suppress, changed: of.Input}
	out.Context, out.Message, out.Reason = of.Context, a.SystemMessage, a.Reason
	word := a.Decision
	switch {
	case of.Decision != nil:
		word, out.Reason, out.Stop = of.Decision.Behavior, of.Decision.Message, of.Decision.Interrupt
		if of.Decision.Input != nil {
			out.changed = of.Decision.Input
		}
	case of.Permission != "":
		word, out.Reason = of.Permission, of.Reason
	}
	switch word {
	case "":
	case "approve", "allow":
		out.Decision = event.Allow
	case "block", "deny":
		out.Decision = event.Deny
	case "ask", "defer":
		out.Decision = event.Ask
	default:
		return response{}, fmt.Errorf("its decision %q is not known", clip(word, 40))
	}
	if a.Continue != nil && !*a.Continue {
		out.Stop = true
		if e.IsBlocking() {
			out.Decision = event.Deny
		}
		if a.StopReason != "" {
			out.Reason = a.StopReason
		}
	}
	return out, nil
}
