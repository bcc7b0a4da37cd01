package settle

import (
	"context"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/journal"
)

// listen lets other processes take single sessions over (--take), while the
// host goes on with the rest. Where that is not to be had, they have to end
// the host.
func (h *Host) listen() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.releases != nil || h.life.Err() != nil {
		return
	}
	releases, err := journal.ListenForReleases(h.config.DataDir, h.release)
	if err != nil {
		h.config.Logger.Debug("other processes cannot ask for a session", "error", err)
		return
	}
	h.releases = releases
}

// deafen ends listen, and waits for what is being answered.
func (h *Host) deafen() {
	h.mu.Lock()
	releases := h.releases
	h.releases = nil
	h.mu.Unlock()
	if releases == nil {
		return
	}
	if err := releases.Close(); err != nil {
		h.config.Logger.Debug("cannot stop listening for those who ask for a session", "error", err)
	}
}

// release closes a session for another process.
func (h *Host) release(ctx context.Context, id string) error {
	h.mu.Lock()
	p := h.places[id]
	h.mu.Unlock()
	if p == nil || p.session == nil {
		return journal.ErrNotHeld
	}
	h.config.Logger.Warn("another process takes a session over", "session", id)
	return p.session.CloseFor(ctx, event.Shutdown, event.Taker)
}
