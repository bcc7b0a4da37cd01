package history_test

import (
	"net/http"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
)

// C6: a provider that refuses to search tools is not asked again in the session. A refusal without
// a reason counts as such, unless the provider has answered with these tools.
func TestSearchesTools(t *testing.T) {
	to := history.Target{Provider: "p", Model: "m", Traits: model.Traits{ToolSearch: true}}
	vague, plain := invalid(http.StatusBadRequest), model.NewError(model.ErrToolSearch, "no")
	plain.Status = http.StatusBadRequest
	const answers = ""
	type attempt struct {
		basis string
		kind  model.ErrorKind // of the refusal, or answers
	}
	for name, tt := range map[string]struct {
		log   []attempt
		fault *model.Error // of one more attempt, with the basis "new"
		want  bool
	}{
		"nothing was asked":           {nil, nil, true},
		"it answered":                 {[]attempt{{"new", answers}}, nil, true},
		"it refuses":                  {nil, vague, false},
		"it refused":                  {[]attempt{{"new", model.ErrInvalid}, {"old", answers}}, nil, false},
		"it answered and refuses":     {[]attempt{{"new", answers}}, vague, true},
		"it answered and refused":     {[]attempt{{"new", answers}, {"new", model.ErrInvalid}}, nil, true},
		"it answered and says it":     {[]attempt{{"new", answers}}, plain, false},
		"it answered with others":     {[]attempt{{"old", answers}}, vague, false},
		"it refused after others":     {[]attempt{{"old", answers}, {"new", model.ErrInvalid}}, nil, false},
		"it is not about the request": {nil, model.NewError(model.ErrOverloaded, "busy"), true},
	} {
		p := newTape(t).turn("hi")
		begin := func(basis string) string {
			a := p.state.NextAttempt()
			p.add(
				event.Event{
					Turn:    p.id(),
					Attempt: a,
					Data:    event.AttemptStarted{Provider: "p", Model: "m", Basis: basis},
				},
			)
			return a
		}
		for _, x := range tt.log {
			end := event.AttemptEnded{Outcome: event.Completed}
			if x.kind != answers {
				end = event.AttemptEnded{
					Outcome: event.Failed,
					Failure: &event.Failure{
						Name:   event.NameProvider,
						Kind:   string(x.kind),
						Status: http.StatusBadRequest,
					},
				}
			}
			p.add(event.Event{Turn: p.id(), Attempt: begin(x.basis), Data: end})
		}
		if tt.fault != nil {
			begin("new")
		}
		if got := to.SearchesTools(p.state, tt.fault); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if target().SearchesTools(newTape(t).state, nil) {
		t.Error("a provider that cannot search tools is taken to")
	}
}
