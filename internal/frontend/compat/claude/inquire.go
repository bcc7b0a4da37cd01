package claude

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/asker"
	"github.com/settle-agent/settle/internal/question"
)

// inquire has the client ask its user the model's questions, in its canUseTool callback.
func (d *driver) inquire(c toolCall, questions []event.Question) asker.SentQuestion {
	return asker.Await(func(ctx context.Context) (asker.Answer, error) {
		switch {
		case d.policy.inForceMode() == modeDont:
			return deniedBy(policyDont, "no person is asked in the permission mode \"dontAsk\""), nil
		case !d.Asks:
			return deniedBy(policyNobody, "no person can be asked"), nil
		}
		raw, err := d.call(ctx, map[string]any{
			"subtype": "can_use_tool", "tool_name": c.claude, "input": c.input, "tool_use_id": c.id,
			"display_name": c.claude, "permission_suggestions": []map[string]any{},
		})
		switch {
		case ctx.Err() != nil:
			return asker.Answer{}, context.Cause(ctx)
		case errors.Is(err, errInputClosed):
			return deniedBy(policyClosed, "the client has closed its input"), nil
		case err != nil:
			return deniedBy(policyCallback, "the client could not be asked: "+err.Error()), nil
		}
		return readAnswers(questions, raw), nil
	})
}

// readAnswers reads the client's answer: the answers by the texts of the questions.
func readAnswers(questions []event.Question, raw json.RawMessage) asker.Answer {
	var p permission
	var input struct {
		Answers map[string]any `json:"answers"`
	}
	err := json.Unmarshal(raw, &p)
	if err == nil && len(p.Input) > 0 {
		err = json.Unmarshal(p.Input, &input)
	}
	switch {
	case err != nil:
		return deniedBy(policyCallback, "the client's answer could not be read")
	case p.Behavior == "deny" && p.Interrupt:
		return asker.Answer{Verdict: event.ApprovalAborted, Message: p.Message}
	case p.Behavior != "allow":
		return denied(p.Message)
	case input.Answers == nil: // the callback allows each call, and no person saw the question
		return deniedBy(policyCallback, "the client allowed the call without answers")
	}
	answers := make([][]string, len(questions))
	for n, q := range questions {
		switch v := input.Answers[q.Question].(type) {
		case string:
			answers[n] = labels(q, v)
		case []any:
			for _, one := range v {
				if s, ok := one.(string); ok {
					answers[n] = append(answers[n], s)
				}
			}
		}
	}
	return asker.Answer{Verdict: event.Approved, Content: question.Content(questions, answers)}
}

// labels returns the options that an answer joins by commas; another answer is words.
func labels(q event.Question, answer string) []string {
	parts := strings.Split(answer, ", ")
	for _, one := range parts {
		if !q.MultiSelect || !q.Has(one) {
			return []string{answer}
		}
	}
	return parts
}
