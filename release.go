package settle

import (
	"context"
	"encoding/json"
	"io"
	"net"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hostsocket"
)

// openControlSocket lets other processes dial the host while sessions are open: to take a
// session over (--take) while the host keeps the others, or to attach to one. Without it, they
// must end the host.
func (h *Host) openControlSocket() {
	if h.control == nil {
		return
	}
	if err := h.control.Listen(); err != nil {
		h.config.Logger.Debug("other processes cannot ask for a session", "error", err)
	}
}

// newControl returns the host's control socket; nil if the host has none.
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

// closeControlSocket closes the control socket and waits for attached clients.
func (h *Host) closeControlSocket() {
	if h.control == nil {
		return
	}
	if err := h.control.Close(); err != nil {
		h.config.Logger.Debug("cannot stop listening for those who ask for a session", "error", err)
	}
}

// release closes a session so that another process can open it.
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

// attach attaches another process to a session.
func (h *Host) attach(ctx context.Context, id string, request json.RawMessage, conn net.Conn) {
	s := h.Get(id)
	if s == nil {
		_, _ = io.WriteString(conn, "{}\n") // the client may have disconnected
		return
	}
	h.config.Attach(ctx, s, request, conn)
}
