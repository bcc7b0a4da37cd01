package turn

import (
	"log/slog"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/bound"
	"github.com/settle-agent/settle/internal/history"
)

// A usage is plausible up to maxWindows times the model's window, or minWindow if the window
// is smaller or unknown. A request uses its window once, but the provider's own tools, such as
// a web search, bill the window in each of their rounds; no tool makes more than some tens of
// rounds. A larger value is an error of the provider. It would end the turn at a limit, or
// overflow the sums.
const (
	maxWindows = 64
	minWindow  = 1 << 20
)

// usage returns the usage of a response. It checks the value for all providers, so that a
// limit on tokens or cost does not depend on the provider's count. If the reported usage is
// implausible, usage estimates it from the request's tokens (sent) and the response's bytes
// (received), and estimated is true.
func (t *turn) usage(reported event.Usage, sent, received int) (u event.Usage, estimated bool) {
	if reported.Within(maxWindows * max(int64(t.Model.Traits.Window), minWindow)) {
		return reported, false
	}
	u = event.Usage{Input: int64(max(sent, 1)), Output: int64(max(history.TokensOf(received), 1))}
	t.Logger.Warn("the provider reported an implausible usage, which was estimated from the text instead",
		"turn", t.id, "provider", t.target.Provider, "model", t.target.Model,
		slog.Group(
			"reported", "input", reported.Input, "cache_read", reported.CacheRead, "cache_write", reported.CacheWrite,
			"output", reported.Output, "reasoning", reported.Reasoning,
		),
		slog.Group("estimated", "input", u.Input, "output", u.Output))
	return u, true
}

// countText adds to the bytes of the response's text.
func (d *demux) countText(text string) { d.textBytes = bound.Add(d.textBytes, len(text)) }
