package turn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/model"
)

// maxSummaries is the number of requests for a usable summary.
const maxSummaries = 2

const kindOverflow = string(model.ErrContext)

// summarise asks the model for a summary of the history to remove, and returns it with its
// plan. Without a usable summary it returns an empty text: then the digest replaces the
// history alone.
func (t *turn) summarise(ctx context.Context, step int) (string, history.Plan, error) {
	for range maxSummaries {
		text, plan, err := t.summary(ctx, step)
		switch {
		case ctx.Err() != nil:
			return "", plan, context.Cause(ctx)
		case err == nil:
			return text, plan, nil
		case errors.Is(err, errNoSummary):
			continue
		case isFinal(err), t.budget.failures >= maxFailures: // C13
			return "", plan, err
		}
		t.Logger.Warn("the history is compacted without a summary", "turn", t.id, "error", err)
		break
	}
	return "", history.Plan{}, nil
}

// isFinal reports whether a request failed for a reason that another request cannot avoid: the
// key, the account, the log.
func isFinal(err error) bool {
	var cause *event.Cause
	if !errors.As(err, &cause) || cause.Failure == nil {
		return true
	}
	switch cause.Failure.Name {
	case event.NameProvider, event.NameRetryExhausted:
		return cause.Failure.Kind == string(model.ErrAuth) || cause.Failure.Kind == string(model.ErrQuota)
	}
	return true
}

// summary makes attempts until one returns a complete response.
func (t *turn) summary(ctx context.Context, step int) (string, history.Plan, error) {
	for n := 1; ; n++ {
		plan := t.plan(true)
		if plan.Removed == 0 { // not even the first piece fits
			return "", plan, errNoSummary
		}
		a := &attemptSpec{step: step, n: n, summary: &plan}
		stop, retry, err := t.attempt(ctx, a)
		if err != nil {
			return "", plan, err
		}
		if retry != nil {
			if err := scope.Sleep(ctx, retry.delay); err != nil {
				return "", plan, err
			}
			continue
		}
		text := t.summaryText(a.attempt)
		if text == "" || cutShort(stop) || stop == model.StopPause || history.Tokens(text) > 2*plan.Summary {
			return "", plan, errNoSummary
		}
		return text, plan, nil
	}
}

// summaryText returns the text of the attempt.
func (t *turn) summaryText(attempt string) string {
	var parts []string
	t.Log.View(func(s event.State) {
		for _, i := range s.Running().Items {
			if i.Attempt == attempt && i.Type() == event.Digest {
				parts = append(parts, i.Content().Text)
			}
		}
	})
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

// instruction returns the request for a summary of about so many tokens. It follows the
// unchanged conversation, which the provider has in its cache.
func instruction(tokens int) string {
	return fmt.Sprintf(
		`[This message is from settle, not from the user. The conversation is about to be shortened to make room. Write the summary that will replace everything above, for yourself: you will continue the work with it, with the latest part of the conversation, and with a digest that settle keeps. The digest has the user's messages, the files that were read and written, the commands with their exit codes, your plan, child agents, jobs and approvals; do not list these again.

Do not call tools. Answer with the summary alone, in at most %d words, under these headings:

## Goal
What the user wants in the end, and of the current task.
## Constraints
Every rule, preference and correction of the user that still holds, in the user's own words.
## Decisions
What was decided, and why; what was tried and did not work.
## Done
What is finished and verified, with paths and names.
## Next
What is left, the very next step first. If something was under way, say exactly where it stands.
## Facts
What would be costly to find out again: names, signatures, values, error messages, where things are.

If the conversation begins with an earlier summary, merge it: keep what still holds, drop what is superseded. State only what the conversation shows.]`,
		tokens/2,
	)
}
