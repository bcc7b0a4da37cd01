package config

import "time"

// Watchdog has the limits of a stalled stream; 0 for no limit.
type Watchdog struct {
	HeaderTimeout   time.Duration // until headers and the first progress
	StallTimeout    time.Duration // without progress, or silence on the wire
	ThinkingTimeout time.Duration // keep-alives without progress
	AttemptTimeout  time.Duration // the whole response
}

// localHeaderTimeout is longer than the default: a local server can load the model first,
// and read a long prompt slowly.
const localHeaderTimeout = 30 * time.Minute

// Watchdog returns the limits for a provider: servers on this machine
// and in private networks get more time for the first progress, and a configured
// stall_timeout also bounds header_timeout and thinking_timeout unless they are configured.
func (r *Resolved) Watchdog(p Provider) Watchdog {
	w := Watchdog{r.HeaderTimeout, r.StallTimeout, r.ThinkingTimeout, r.AttemptTimeout}
	_, stallSet := r.Origins["stall_timeout"]
	_, headerSet := r.Origins["header_timeout"]
	_, thinkingSet := r.Origins["thinking_timeout"]
	if p.Private() && !headerSet {
		w.HeaderTimeout = localHeaderTimeout
	}
	if stallSet && w.StallTimeout > 0 {
		if !headerSet {
			w.HeaderTimeout = min(w.HeaderTimeout, w.StallTimeout)
		}
		if !thinkingSet {
			w.ThinkingTimeout = min(w.ThinkingTimeout, w.StallTimeout)
		}
	}
	return w
}
