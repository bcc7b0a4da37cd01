package turn

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/history"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool/family"
)

// fallBack replaces the decision about a failed attempt if the model has a fallback, and is
// overloaded or has no retry left: the next attempt uses the fallback. A summary is not worth
// it, because the history can be compacted without one.
func (t *turn) fallBack(fault *model.Error, d decision, failed *demux) decision {
	overloaded := fault.Kind == model.ErrOverloaded && d.retry && !d.degraded
	f := t.Model.Fallback
	if f == nil || failed.summary || d.exhausted == "" && !overloaded {
		return d
	}
	words := t.Redact.Diagnostic(fault.Error())
	t.firstFailure = t.Model.FullName() + ": " + clip(words, maxBody)
	why := t.Model.FullName() + " failed"
	if d.exhausted != "" {
		why += " (" + d.exhausted + ")"
	}
	return decision{
		retry: true, fallback: true, attempt: d.attempt, limit: d.limit, note: "asking " + f.FullName() + " instead",
		change: &event.HistoryChanged{
			Change: event.ChangeModel, Provider: f.ProviderName, Model: f.Name,
			Why: why + ": " + words + "; the rest of the turn uses " + f.FullName(),
		},
	}
}

// nameModels adds to the failure of the fallback, after which no attempt follows, which models failed.
func (t *turn) nameModels(f *event.Failure) {
	if t.firstFailure != "" {
		f.Message = t.Model.FullName() + ": " + f.Message + " (after " + t.firstFailure + ")"
	}
}

// use makes the chosen model the model of the next attempt, with a retry budget of its own. No call may run.
func (t *turn) use(chosen *model.Config) {
	t.Model, t.budget = *chosen, budget{Retry: t.Retry}
	m := &t.Model
	m.Timeouts = timeouts(m.Timeouts)
	t.offer = offer{
		view: family.New(family.Family(m.Family), family.Offer(m.Offer), t.Tools),
		target: history.Target{
			Provider: m.ProviderName, Model: m.Name, Traits: m.Traits, Effort: m.Effort, CacheKey: t.session,
		},
	}
	t.Log.View(func(s event.State) {
		t.providerSearch = t.target.SearchesTools(s, nil) && hasDeferredTools(t.view)
	})
}
