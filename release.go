package settle

import (
	"context"
	"encoding/json"
	"io"
	"net"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hostsocket"
)

// listen lets other processes ask for single sessions while there are any: to
// take one over (--take), while the host goes on with the rest, or to take part.
// Where that is not to be had, they have to end the host.
func (h *Host) openControlSocket() {
	if h.control == nil {
		return
	}
	if err := h.control.Listen(); err != nil {
		h.config.Logger.Debug("other processes cannot ask for a session", "error", err)
	}
}

// newControl returns where others ask for the sessions of the host; nil if nobody may.
func (h *Host) newControl() *hostsocket.Server {
	if !h.config.Releasable || h.config.DataDir == "" {
		return nil
	}
	service := hostsocket.Service{Release: h.release}
	if h.config.Attach != nil {
		service.Join = h.attach
	}
	return hostsocket.NewServer(h.config.DataDir, service)
}

// deafen ends listen, and waits for those who are being served.
func (h *Host) closeControlSocket() {
	if h.control == nil {
		return
	}
	if err := h.control.Close(); err != nil {
		h.config.Logger.Debug("cannot stop listening for those who ask for a session", "error", err)
	}
}

// release closes a session for another process.
func (h *Host) release(ctx context.Context, id string) error {
	h.mu.Lock()
	p := h.slots[id]
	h.mu.Unlock()
	if p == nil || p.session == nil {
		return hostsocket.ErrNotHeld
	}
	h.config.Logger.Warn("another process takes a session over", "session", id)
	return p.session.CloseFor(ctx, event.Shutdown, event.Taker)
}

// join lets another process take part in a session.
func (h *Host) attach(ctx context.Context, id string, request json.RawMessage, conn net.Conn) {
	s := h.Get(id)
	if s == nil {
		_, _ = io.WriteString(conn, "{}\n") // who asked may be gone
		return
	}
	h.config.Attach(ctx, s, request, conn)
}
