package assemble

import (
	"context"
	"time"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/transport"
)

// windowTimeout bounds the question for a model's window.
const windowTimeout = 300 * time.Millisecond

// window asks a server of one's own for the window of a model that is in no
// table; 0 if it does not say. A server in a private network answers at once
// or not at all; others are not asked, so that nothing is sent to a provider
// but what was asked for.
func window(ctx context.Context, p config.Provider, endpoint transport.Endpoint, name string) int {
	if p.Wire != config.WireChat || !p.Private() {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, windowTimeout)
	defer cancel()
	tokens, err := chat.Window(ctx, endpoint, name)
	if err != nil {
		return 0 // the first request will say what is wrong
	}
	return tokens
}
