package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/tool/plan"
)

// toolCall is a call as the client knows it.
type toolCall struct {
	alias

	id        string // the provider's, or ours
	arguments string // as the model wrote them
	input     map[string]any
}

func (d *driver) toolCall(i *event.Item) toolCall {
	c := i.Content()
	a, arguments := known(c.Name, c.Arguments)
	return toolCall{a, callID(i), arguments, a.input(arguments, d.Dir)}
}

// key is equal for calls that do the same.
func (c toolCall) key() string { return c.claude + compact(c.input) }

// agreement records who changed a call into its current form.
type agreement string

const (
	changedByHook   agreement = "changed by a hook"
	allowedByHook   agreement = "changed and allowed by a hook"
	allowedByClient agreement = "changed and allowed by canUseTool"
)

// settles reports whether a call needs no approval after its hooks have decided.
func (a agreement) settles(decision string) bool {
	return a == allowedByClient || a == allowedByHook && decision != "ask"
}

// agreements are the calls in the form that the client gave them, until the model makes them or the
// turn ends.
type agreements struct {
	mu    sync.Mutex // guards byKey
	byKey map[string]agreement
}

func (a *agreements) add(key string, how agreement) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byKey == nil {
		a.byKey = map[string]agreement{}
	}
	a.byKey[key] = how
}

// take returns the agreement about a call, which holds once; empty for none.
func (a *agreements) take(key string) agreement {
	a.mu.Lock()
	defer a.mu.Unlock()
	how := a.byKey[key]
	delete(a.byKey, key)
	return how
}

func (a *agreements) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.byKey)
}

// The policies that answer if no person can be asked (C16).
const (
	policyDont     = "permission mode dontAsk"
	policyNobody   = "no canUseTool"
	policyClosed   = "input closed"
	policyCallback = "the client's callback"
)

func approved() asker.Answer { return asker.Answer{Verdict: event.Approved} }

func denied(message string) asker.Answer {
	return asker.Answer{Verdict: event.Denied, Message: message}
}

func deniedBy(policy, message string) asker.Answer {
	return asker.Answer{Verdict: event.Denied, Policy: policy, Message: message}
}

// ask has the client's hooks and then the client asked about a call.
func (d *driver) ask(i *event.Item, q asker.Question) asker.SentQuestion {
	c := d.toolCall(i)
	return asker.Await(func(ctx context.Context) (asker.Answer, error) {
		how, decision := d.agreed.take(c.key()), ""
		if was, hooked := d.hooks.judged(q.Item); hooked {
			heard := d.before(ctx, c)
			if answer, decided := d.hooked(c, was, heard, how); decided {
				return answer, nil
			}
			q.Why, decision = cmp.Or(heard.reason, q.Why), heard.decision
		}
		if how.settles(decision) {
			return approved(), nil
		}
		return d.decide(ctx, c, q), nil
	})
}

// decide asks the client, or returns the policy's answer if the client cannot be asked (C16).
func (d *driver) decide(ctx context.Context, c toolCall, q asker.Question) asker.Answer {
	switch mode := d.policy.inForceMode(); {
	case mode == modeBypass:
		return approved()
	case mode == modeDont:
		return deniedBy(policyDont, "the permission mode \"dontAsk\" denies calls that no rule allows")
	case !d.Asks:
		return deniedBy(policyNobody, "it needs permission, and no person can be asked")
	}
	raw, err := d.call(ctx, map[string]any{
		"subtype":                "can_use_tool",
		"tool_name":              c.claude,
		"input":                  c.input,
		"tool_use_id":            c.id,
		"decision_reason":        q.Why,
		"decision_reason_type":   "other",
		"display_name":           c.claude,
		"description":            asker.Words(q.ApprovalRequested),
		"permission_suggestions": d.suggestions(c, q.Once),
	})
	switch {
	case errors.Is(err, errInputClosed):
		return deniedBy(policyClosed, "it needs permission, and the client has closed its input")
	case err != nil:
		return deniedBy(policyCallback, "the client could not be asked: "+err.Error())
	}
	return d.permitted(c, raw)
}

// suggestions returns the permission updates that the client can choose, so that it is asked less
// often. once reports that an approval cannot cover other calls.
func (d *driver) suggestions(c toolCall, once bool) []map[string]any {
	switch c.settle {
	case "edit", "write", "apply_patch":
		if !assemble.Within(d.policy.ceiling, modes()[modeEdits]) {
			break
		}
		return []map[string]any{{"type": "setMode", "mode": modeEdits, "destination": "session"}}
	case "shell":
		if command, ok := c.input["command"].(string); ok && !once {
			return []map[string]any{addRule(c.claude, command)}
		}
	}
	return []map[string]any{}
}

func addRule(tool, content string) map[string]any {
	return map[string]any{
		"type":        "addRules",
		"behavior":    "allow",
		"destination": "session",
		"rules":       []map[string]any{{"toolName": tool, "ruleContent": content}},
	}
}

// permission is the client's answer.
type permission struct {
	Behavior  string          `json:"behavior"`
	Message   string          `json:"message"`
	Interrupt bool            `json:"interrupt"`
	Input     json.RawMessage `json:"updatedInput"`
	Updates   []update        `json:"updatedPermissions"`
}

// update changes the permissions for later calls.
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
func (d *driver) permitted(c toolCall, raw json.RawMessage) asker.Answer {
	var p permission
	if err := json.Unmarshal(raw, &p); err != nil {
		return deniedBy(policyCallback, "the client's answer could not be read")
	}
	input, hasInput := object(string(p.Input))
	switch {
	case p.Behavior == "deny" && p.Interrupt:
		return asker.Answer{Verdict: event.ApprovalAborted, Message: p.Message}
	case p.Behavior != "allow":
		return denied(p.Message)
	case c.settle == plan.ProposeName:
		return d.acceptPlan(c, p, input)
	case hasInput && !same(input, c.input):
		return d.revise(c, input, allowedByClient)
	}
	answer := approved()
	d.do(func() { answer.Verdict = d.updated(c, p.Updates) })
	return answer
}

// acceptPlan takes the answer that accepts a plan. Without a mode among the permission updates, the
// work begins in the mode "default", as in Claude Code. The mode begins when the call runs: until
// then, the turn can end.
func (d *driver) acceptPlan(c toolCall, p permission, changed map[string]any) asker.Answer {
	answer := approved()
	if text, ok := changed["plan"].(string); ok && text != c.input["plan"] {
		answer.Arguments = compact(map[string]any{"plan": text})
	}
	d.do(func() {
		if d.policy.planning() {
			d.policy.begin(modeDefault)
		}
		d.updated(c, p.Updates)
	})
	return answer
}

// same reports whether the client has not changed the input.
func same(a, b map[string]any) bool { return compact(a) == compact(b) }

// revise has the model repeat a call with the arguments that the client changed, so that the call
// in the log and the executed call are the same.
func (d *driver) revise(c toolCall, input map[string]any, how agreement) asker.Answer {
	c.input = input
	d.agreed.add(c.key(), how)
	return denied("this call may run with other arguments. Repeat it with exactly these: " + c.alias.arguments(input))
}

// updated applies the client's permission updates, and returns the verdict for the call
// itself.
func (d *driver) updated(c toolCall, updates []update) event.Verdict {
	verdict := event.Approved
	for _, u := range updates {
		if u.Destination != "" && u.Destination != "session" && u.Destination != "cliArg" {
			d.say("warning: the permission applies to this session only; settle does not write %s", u.Destination)
		}
		switch u.Type {
		case "setMode":
			if u.Mode == modeBypass && !d.MayBypass {
				d.warn(
					"the permission mode was not changed to bypassPermissions: " +
						"the session was not launched with --dangerously-skip-permissions",
				)
			} else if err := d.policy.change(u.Mode, c.settle == plan.ProposeName); err != nil {
				d.warn(err.Error())
			}
		case "addDirectories":
			d.addDirectories(u.Directories)
		case "addRules":
			var list []string
			for _, r := range u.Rules {
				command, _ := c.input["command"].(string)
				switch {
				case u.Behavior == "allow" && c.settle == "shell" && r.Tool == "Bash" && r.Content == command:
					verdict = event.ApprovedSession // to the letter: a rule would be a pattern
				case r.Content == "":
					list = append(list, r.Tool)
				default:
					list = append(list, fmt.Sprintf("%s(%s)", r.Tool, r.Content))
				}
			}
			d.policy.add(d.rulesOf(u.Behavior, list)...)
		default:
			d.warn(fmt.Sprintf("a permission change of type %q was ignored: settle does not support it", u.Type))
		}
	}
	return verdict
}

// rulesOf are the rules for tools that settle has.
func (d *driver) rulesOf(behavior string, list []string) []config.Rule {
	decision := settle.Permission(behavior)
	if decision.Strictness() < 0 {
		d.warn(fmt.Sprintf("rules of behavior %q were ignored: settle does not support them", behavior))
		return nil
	}
	return rulesFor(decision, list).rules
}

// fill has the client fill in the form of a server. A client without a callback for forms declines
// by itself.
func (d *driver) fill(_ context.Context, q asker.Question) asker.SentQuestion {
	return asker.Await(func(ctx context.Context) (asker.Answer, error) {
		request := map[string]any{
			"subtype":         "elicitation",
			"mcp_server_name": q.Form.Server,
			"message":         q.Form.Message,
			"mode":            asker.Mode(*q.Form),
		}
		if q.Form.URL != "" {
			request["url"], request["elicitation_id"] = q.Form.URL, q.Approval
		} else {
			request["requested_schema"] = q.Form.Schema
		}
		raw, err := d.call(ctx, request)
		var r asker.Reply
		if err == nil {
			err = json.Unmarshal(raw, &r)
		}
		switch {
		case ctx.Err() != nil:
			return asker.Answer{}, context.Cause(ctx)
		case errors.Is(err, errInputClosed):
			return deniedBy(policyClosed, "the client has closed its input"), nil
		}
		return asker.Filled(r, err)
	})
}
