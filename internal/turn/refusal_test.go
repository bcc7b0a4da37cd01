package turn_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// story returns the turn's attempts and changes of history from the log.
func (b *bench) story() (out []string) {
	t := b.last()
	for n, a := range t.Attempts {
		for _, c := range t.Changes {
			if c.Attempts == n+1 { // while the attempt ran
				out = append(out, fmt.Sprintf("%s %v", c.Change, c.LeftOut))
			}
		}
		end := string(a.End.Outcome)
		if in := a.End.RetryIn; in != nil {
			end += map[bool]string{true: ", again at once", false: ", again"}[*in == 0]
		}
		out = append(out, end)
	}
	return out
}

// C6, C13: a request that is refused for an unknown reason is sent once more unchanged, as a
// retry within the budget, and then degraded. Each change is in the log before the end of the
// attempt that caused it.
func TestUnknownRefusal(t *testing.T) {
	invalid := model.NewError(model.ErrInvalid, "Invalid request.")
	invalid.Status = http.StatusBadRequest
	refusal, none := script.Fail(invalid), 0
	call := script.Turn(script.Reasoning("hm"), script.Call("a", `{}`))
	for name, tt := range map[string]struct {
		retries *int
		steps   []script.Step
		outcome event.Outcome
		story   []string
		message string
	}{
		"nothing can be left out": {
			nil, []script.Step{refusal}, event.Failed, []string{"failed"}, "400 invalid_request: Invalid request.",
		},
		"a slip": {
			nil,
			[]script.Step{call, refusal, script.Text("ok")},
			event.Completed,
			[]string{"completed", "failed, again", "completed"},
			"",
		},
		"twice": {
			nil,
			[]script.Step{call, refusal, refusal, script.Text("ok")},
			event.Completed,
			[]string{"completed", "failed, again", "left_out [tools]", "failed, again at once", "completed"},
			"",
		},
		"without retries": {
			&none,
			[]script.Step{call, refusal, script.Text("ok")},
			event.Completed,
			[]string{"completed", "left_out [tools]", "failed, again at once", "completed"},
			"",
		},
		"always": {
			nil,
			[]script.Step{call, refusal, refusal, refusal, refusal, refusal},
			event.Failed,
			[]string{
				"completed", "failed, again", "left_out [tools]", "failed, again at once", "left_out [tools answers]", "failed, again at once", "restored []", "failed",
			},
			"The conversation is kept as it was. Rephrase it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, script.New(tt.steps...), says("a", "A", 0))
				b.config.Retry.Retries = tt.retries
				cause := b.run(t.Context())
				if cause.Outcome != tt.outcome || !strings.Contains(cause.Error(), tt.message) {
					t.Errorf("it ends as %v", cause)
				}
				if got := b.story(); !slices.Equal(got, tt.story) {
					t.Errorf("%q, want %q", got, tt.story)
				}
			})
		})
	}
}
