package turn

import (
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool/family"
)

// hasDeferredTools reports whether the model has tools that the provider can search.
func hasDeferredTools(view *family.View) bool {
	specs := view.Specs()
	for i := range specs {
		if specs[i].Deferred != "" {
			return true
		}
	}
	return false
}

// stopSearching switches to settle's own tool search, if the log and the failure show that the
// provider refuses to search tools (ADR 27).
func (t *turn) stopSearching(fault *model.Error) (d decision) {
	if !t.providerSearch {
		return d
	}
	searches := true
	t.Log.View(func(s event.State) { searches = t.target.SearchesTools(s, fault) })
	if searches {
		return d
	}
	if d = t.budget.degrade(); d.retry {
		t.providerSearch = false
		d.note = "asking again with settle's own tool search instead of the provider's"
	}
	return d
}
