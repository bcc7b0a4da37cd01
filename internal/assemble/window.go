package assemble

import (
	"context"
	"time"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/transport"
)

// windowTimeout bounds the request for a model's window.
const windowTimeout = 300 * time.Millisecond

// window requests the window of an unknown model from a local server; 0 without an answer.
// A server in a private network answers at once or never; other servers are not asked, so
// that providers receive only the user's requests.
func window(ctx context.Context, p config.Provider, endpoint transport.Endpoint, name string) int {
	if p.Wire != config.WireChat || !p.Private() {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, windowTimeout)
	defer cancel()
	tokens, err := chat.Window(ctx, endpoint, name)
	if err != nil {
		return 0 // the first request reports the error
	}
	return tokens
}
