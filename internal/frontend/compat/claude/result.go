package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/settle-agent/settle/event"
)

// ended sends the result of a turn.
func (t *encoder) ended(turn *event.Turn) {
	t.count(turn)
	if f := turn.Cause.Failure; f != nil {
		t.out.send(t.failed(turn, f))
	}
	r := result{
		header:  newHeader(t.session, "result", subtypeOf(turn.Cause)),
		IsError: turn.Cause.Outcome != event.Completed,
		Duration: turn.EndedAt.Sub(turn.StartedAt).
			Milliseconds(),
		Turns: turn.Summary.Steps,
		Usage: usageOf(turn.Summary.Usage),
		Models: maps.Clone(
			t.usage,
		),
		Denials:  denials(turn, t.dir),
		Terminal: terminalOf(turn),
		Queued:   t.waiting(),
		Index:    t.results,
	}
	t.results++
	for _, u := range r.Models {
		r.Cost += u.Cost
	}
	for _, a := range turn.Attempts {
		r.DurationAPI += a.EndedAt.Sub(a.StartedAt).Milliseconds()
		if a.End != nil && a.End.StopReason != "" {
			r.StopReason = &a.End.StopReason
		}
	}
	for _, i := range turn.Inputs {
		if id := clientUUID(i.ID); id != "" {
			r.UserUUID, r.UserUUIDs = id, append(r.UserUUIDs, id)
		}
	}
	if r.IsError {
		r.Errors = []string{reasonOf(turn)}
	} else {
		answer := turn.Answer()
		r.Result = &answer
		if t.schema && json.Valid([]byte(answer)) {
			r.Structured = json.RawMessage(answer)
		}
	}
	t.out.send(r)
}

// refusal is the result where there is no turn.
func refusal(session, why string) result {
	return result{
		header: newHeader(session, "result", "error_during_execution"), IsError: true, Usage: usageOf(event.Usage{}),
		Models: map[string]modelUsage{}, Denials: []denial{}, Errors: []string{why}, Terminal: "turn_setup_failed",
	}
}

// Refusal returns the output if no prompt can be served: a result, unless the format is text. why
// must be without secrets.
func Refusal(f Format, why string) []byte { return []byte(f.render(refusal("", why))) }

// subtypeOf returns the protocol's subtype for the end of a turn. The protocol has none for an
// interrupt.
func subtypeOf(c *event.Cause) string {
	switch {
	case c.Outcome == event.Completed:
		return "success"
	case c.Reason == event.LimitReached && c.Limit == event.LimitSteps:
		return "error_max_turns"
	case c.Reason == event.LimitReached && (c.Limit == event.LimitCost || c.Limit == event.LimitSessionCost):
		return "error_max_budget_usd"
	}
	return "error_during_execution"
}

// reasonOf returns the reason why a turn did not complete.
func reasonOf(turn *event.Turn) string {
	if turn.Cause.Limit == event.LimitSteps {
		return fmt.Sprintf("Reached maximum number of turns (%d)", turn.Summary.Steps)
	}
	if signal, ok := strings.CutPrefix(turn.Cause.By, "signal:"); ok {
		return turn.Cause.Error() + " by " + signal
	}
	return turn.Cause.Error()
}

func terminalOf(turn *event.Turn) string {
	switch {
	case turn.Cause.Outcome == event.Completed:
		return "completed"
	case turn.Cause.Limit == event.LimitSteps:
		return "max_turns"
	case turn.Cause.Failure != nil:
		return "api_error"
	}
	for _, i := range turn.Items {
		if i.Type() == event.ToolCall && i.Status == event.ItemAborted {
			return "aborted_tools"
		}
	}
	return "aborted_streaming"
}

// denials are the calls of a turn that were not allowed to run.
func denials(turn *event.Turn, dir string) []denial {
	out := []denial{}
	for _, a := range turn.Approvals {
		if a.Ended == nil || a.Ended.Verdict != event.Denied && a.Ended.Verdict != event.ApprovalAborted {
			continue
		}
		if i := turn.Item(a.Call); i != nil {
			a, arguments := known(i.Content().Name, i.Content().Arguments)
			out = append(out, denial{a.claude, callID(i), a.input(arguments, dir)})
		}
	}
	return out
}

// count adds the usage of a turn to its model's usage.
func (t *encoder) count(turn *event.Turn) {
	for _, r := range turn.ModelRequests() {
		if r.Spent == nil {
			continue
		}
		m, u := t.usage[r.Model], usageOf(r.Spent.Usage)
		m.Input += u.Input
		m.Output += u.Output
		m.Thinking += r.Spent.Usage.Reasoning
		m.CacheRead += u.CacheRead
		m.CacheWrite += u.CacheWrite
		if r.Spent.Cost != nil {
			m.Cost += *r.Spent.Cost
		}
		m.Window = int(t.window.Load())
		m.MaxOutput = max(m.MaxOutput, r.MaxTokens)
		t.usage[r.Model] = m
	}
}

// failed is a failure as clients show it: as if the model had said it.
func (t *encoder) failed(turn *event.Turn, f *event.Failure) chatMessage {
	m := chatMessage{header: newHeader(t.session, "assistant", ""), Error: faultOf(f)}
	message := t.message(turn, "", textBlock("API Error: "+f.Message))
	message.ID, message.Model = "msg_"+m.UUID, "<synthetic>"
	m.Message = message
	return m
}

// faultOf is a failure in the protocol's words.
func faultOf(f *event.Failure) string {
	switch s := f.Status; {
	case s == 401 || s == 403:
		return "authentication_failed"
	case s == 402:
		return "billing_error"
	case s == 404:
		return "model_not_found"
	case s == 429:
		return "rate_limit"
	case s == 503 || s == 529 || f.Kind == "overloaded":
		return "overloaded"
	case s >= 500:
		return "server_error"
	case s >= 400:
		return "invalid_request"
	}
	return "unknown"
}

func statusOf(f *event.Failure) *int {
	if f.Status == 0 {
		return nil
	}
	return &f.Status
}
