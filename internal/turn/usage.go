package turn

import (
	"log/slog"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/history"
)

// A usage is plausible up to maxWindows times the model's window, or leastWindow if
// that is smaller or unknown. One request uses its window once, but a provider's own
// tools, such as a web search, bill it anew for each of their rounds; none makes
// more than some tens. What lies above would cost more than any price allows for one
// response, and would only end the turn, or overflow its sums.
const (
	maxWindows = 64
	minWindow  = 1 << 20
)

// usage is the usage of a response, checked here for all providers: a limit on tokens
// or cost must not depend on whether a provider counts well. estimated reports that
// the provider's is implausible and that it was estimated from the text: sent tokens
// of the request, and said bytes of the response.
func (t *turn) usage(reported event.Usage, sent, said int) (u event.Usage, estimated bool) {
	if reported.Within(maxWindows * max(int64(t.Model.Traits.Window), minWindow)) {
		return reported, false
	}
	u = event.Usage{Input: int64(max(sent, 1)), Output: int64(max(history.TokensOf(said), 1))}
	t.Logger.Warn("the provider reported an implausible usage, which was estimated from the text instead",
		"turn", t.id, "provider", t.target.Provider, "model", t.target.Model,
		slog.Group("reported", "input", reported.Input, "cache_read", reported.CacheRead, "cache_write", reported.CacheWrite, "output", reported.Output, "reasoning", reported.Reasoning),
		slog.Group("estimated", "input", u.Input, "output", u.Output))
	return u, true
}

// heard counts text of a response, in bytes.
func (d *demux) countText(text string) { d.textBytes = bound.Add(d.textBytes, len(text)) }
