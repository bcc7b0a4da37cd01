package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/agent"
	"github.com/settle-agent/settle/internal/config"
)

// ask is a question that the client has not answered yet.
type ask struct {
	done func(answer json.RawMessage, failure string)
}

// question sends a control request to the client; done is called with the
// answer. It returns the question's id.
func (d *driver) question(request map[string]any, done func(json.RawMessage, string)) string {
	id := uuid.NewString()
	d.asks[id] = &ask{done}
	d.out.send(map[string]any{"type": "control_request", "request_id": id, "request": request})
	return id
}

// withdraw takes a question back.
func (d *driver) withdraw(id string) {
	if d.asks[id] != nil {
		delete(d.asks, id)
		d.out.send(map[string]any{"type": "control_cancel_request", "request_id": id})
	}
}

// unanswerable answers all questions with a failure: nobody will.
func (d *driver) unanswerable(why string) {
	all := d.asks
	d.asks = map[string]*ask{}
	for _, a := range all {
		a.done(nil, why)
	}
}

// approval is a call that waits for somebody's word.
type approval struct {
	id, item, tool, call, arguments, why string
	words                                string   // all of it, for a person
	asks                                 []string // questions about it
}

// requested sees to a call that may not run without somebody's word.
func (d *driver) requested(a *approval) {
	was, hooked := d.hooks.judged(a.item)
	if !d.session.Pending(a.id) {
		return
	}
	d.pending[a.id] = a
	if hooked {
		d.before(a, was)
		return
	}
	d.decide(a, "")
}

// settled is told that an approval has ended, by whatever.
func (d *driver) settled(id string) {
	if a := d.pending[id]; a != nil {
		delete(d.pending, id)
		for _, question := range a.asks {
			d.withdraw(question)
		}
	}
}

// decide asks the client, or says what holds where it cannot be asked (C16).
func (d *driver) decide(a *approval, why string) {
	known := aliasOf(a.tool)
	input := known.input(a.arguments, d.Dir)
	switch {
	case d.agreed[known.claude+compact(input)], d.policy.mode == modeBypass:
		d.answerWith(a, settle.Answer{Verdict: event.Approved})
		return
	case d.policy.mode == modeDont:
		d.deny(a, "permission mode dontAsk", "the permission mode \"dontAsk\" denies what is not allowed beforehand")
		return
	case !d.Asks:
		d.deny(a, "no canUseTool", "it needs a permission, and there is nobody to ask")
		return
	case d.eof:
		d.deny(a, "input closed", "it needs a permission, and the client has closed its input")
		return
	}
	if why == "" {
		why = a.why
	}
	question := map[string]any{
		"subtype": "can_use_tool", "tool_name": known.claude, "input": input, "tool_use_id": a.call,
		"decision_reason": why, "decision_reason_type": "other", "display_name": known.claude, "description": a.words,
		"permission_suggestions": d.suggestions(known, input),
	}
	a.asks = append(a.asks, d.question(question, func(raw json.RawMessage, failure string) { d.permitted(a, input, raw, failure) }))
}

// suggestions are what the client may answer to be asked less.
func (d *driver) suggestions(a alias, input map[string]any) []map[string]any {
	switch a.settle {
	case "edit", "write", "apply_patch":
		if !agent.Within(d.policy.ceiling, modes()[modeEdits]) {
			break
		}
		return []map[string]any{{"type": "setMode", "mode": modeEdits, "destination": "session"}}
	case "shell":
		if command, ok := input["command"].(string); ok {
			return []map[string]any{addRule(a.claude, command)}
		}
	}
	return []map[string]any{}
}

func addRule(tool, content string) map[string]any {
	return map[string]any{
		"type": "addRules", "behavior": "allow", "destination": "session", "rules": []map[string]any{{"toolName": tool, "ruleContent": content}},
	}
}

// permission is the client's answer.
type permission struct {
	Behavior  string         `json:"behavior"`
	Message   string         `json:"message"`
	Interrupt bool           `json:"interrupt"`
	Input     map[string]any `json:"-"`
	Updates   []update       `json:"updatedPermissions"`
}

// update changes what may run from now on.
type update struct {
	Type        string   `json:"type"`
	Mode        string   `json:"mode"`
	Behavior    string   `json:"behavior"`
	Destination string   `json:"destination"`
	Directories []string `json:"directories"`
	Rules       []struct {
		Tool    string `json:"toolName"`
		Content string `json:"ruleContent"`
	} `json:"rules"`
}

// permitted takes the client's answer.
func (d *driver) permitted(a *approval, asked map[string]any, raw json.RawMessage, failure string) {
	if failure != "" {
		d.deny(a, "the client's callback", "the client could not be asked: "+failure)
		return
	}
	var p permission
	if err := json.Unmarshal(raw, &p); err != nil {
		d.deny(a, "the client's callback", "the client's answer could not be understood")
		return
	}
	var in struct {
		Input json.RawMessage `json:"updatedInput"`
	}
	_ = json.Unmarshal(raw, &in) // it was read above
	changed, hasInput := object(string(in.Input))
	switch {
	case p.Behavior == "deny" && p.Interrupt:
		d.answerWith(a, settle.Answer{Verdict: event.ApprovalAborted, Message: p.Message})
	case p.Behavior != "allow":
		d.answerWith(a, settle.Answer{Verdict: event.Denied, Message: p.Message})
	case hasInput && !same(changed, asked):
		d.again(a, changed)
	default:
		d.answerWith(a, settle.Answer{Verdict: d.updated(a, asked, p.Updates)})
	}
}

// same reports whether the client has left the input as it was.
func same(a, b map[string]any) bool { return compact(a) == compact(b) }

// again has the model make a call as the client changed it: what runs is what
// the log says that the model asked for.
func (d *driver) again(a *approval, input map[string]any) {
	known := aliasOf(a.tool)
	d.agreed[known.claude+compact(input)] = true
	d.answerWith(a, settle.Answer{Verdict: event.Denied, Message: "this call may run with other arguments. Make it again with exactly these: " + known.arguments(input)})
}

// updated puts what the client allows beyond this call into force, and returns
// how the call itself is approved.
func (d *driver) updated(a *approval, asked map[string]any, updates []update) event.Verdict {
	verdict := event.Approved
	for _, u := range updates {
		if u.Destination != "" && u.Destination != "session" && u.Destination != "cliArg" {
			d.say("warning: a permission holds for this session only; settle does not write %s", u.Destination)
		}
		switch u.Type {
		case "setMode":
			if u.Mode == modeBypass && !d.MayBypass {
				d.warn("the permission mode was not changed to bypassPermissions: the session was not launched with --dangerously-skip-permissions")
			} else if err := d.policy.set(u.Mode); err != nil {
				d.warn(err.Error())
			}
		case "addDirectories":
			d.policy.dirs = append(d.policy.dirs, u.Directories...)
			d.policy.add()
		case "addRules":
			var list []string
			for _, r := range u.Rules {
				command, _ := asked["command"].(string)
				switch {
				case u.Behavior == "allow" && a.tool == "shell" && r.Tool == "Bash" && r.Content == command:
					verdict = event.ApprovedSession // to the letter: a rule would be a pattern
				case r.Content == "":
					list = append(list, r.Tool)
				default:
					list = append(list, fmt.Sprintf("%s(%s)", r.Tool, r.Content))
				}
			}
			d.policy.add(d.known(u.Behavior, list)...)
		default:
			d.warn(fmt.Sprintf("a change of permissions of type %q was left out: settle does not have it", u.Type))
		}
	}
	return verdict
}

// known are the rules for tools that settle has.
func (d *driver) known(behavior string, list []string) []config.Rule {
	decision := settle.Permission(behavior)
	if decision.Strictness() < 0 {
		d.warn(fmt.Sprintf("rules of behavior %q were left out: settle does not have it", behavior))
		return nil
	}
	return rulesFor(decision, list).rules
}

func (d *driver) deny(a *approval, policy, why string) {
	d.answerWith(a, settle.Answer{Verdict: event.Denied, Policy: policy, Message: why})
}

// answerTimeout bounds an answer that is written down, and with one that ends
// the turn, the turn's end.
const answerTimeout = 5 * time.Second

// answerWith gives the client's word.
func (d *driver) answerWith(a *approval, word settle.Answer) {
	word.Approval, word.By = a.id, by
	go func() { // ends within answerTimeout
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), answerTimeout)
		defer cancel()
		err := d.session.Answer(ctx, word)
		var late *settle.AnsweredError
		if err != nil && !errors.As(err, &late) && !errors.Is(err, settle.ErrClosed) {
			d.post(func() { d.warn(err.Error()) })
		}
	}()
}
