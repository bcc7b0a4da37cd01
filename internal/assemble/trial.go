package assemble

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/settle-agent/settle/model"
)

// trialTimeout bounds a test request: a local server can load the model first.
const trialTimeout = 2 * time.Minute

// Trial is the outcome of a test request.
type Trial struct {
	Answer  string
	Elapsed time.Duration
	Usage   model.Usage
}

// Try sends one short request to the chosen model, without tools, and returns the answer. It
// makes no second attempt. Its errors contain no secrets.
func (o Options) Try(ctx context.Context) (Trial, error) {
	a := newAgent(o)
	if err := o.model(ctx, a); err != nil {
		return Trial{}, err
	}
	for _, secret := range a.Session.Model.Secrets {
		a.Redact.Add(secret)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, trialTimeout, fmt.Errorf("no whole answer within %s", trialTimeout))
	defer cancel()
	var t Trial
	began := time.Now()
	var text strings.Builder
	request := model.Request{
		Model: a.Session.Model.Name, Effort: a.Session.Model.Effort,
		Input: []model.Item{{Role: model.User, Text: "Reply with the one word: ready"}},
	}
	for chunk, err := range a.Session.Model.Provider.Stream(ctx, request) {
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return t, errors.New(a.Redact.Diagnostic(err.Error()))
		}
		if chunk.Kind == model.Delta && chunk.Role != model.Reasoning && text.Len() < maxTrial {
			text.WriteString(chunk.Text)
		}
		if chunk.Usage != nil {
			t.Usage = *chunk.Usage
		}
	}
	t.Answer, t.Elapsed = a.Redact.Diagnostic(strings.TrimSpace(text.String())), time.Since(began)
	return t, nil
}

// maxTrial bounds the kept beginning of an answer, in bytes.
const maxTrial = 1 << 10
