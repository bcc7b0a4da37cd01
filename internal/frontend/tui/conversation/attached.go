package conversation

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/frontend/tui"
)

// attached is a session that another process hosts, seen by its attached client.
type attached struct{ *attach.Session }

// Host implements [tui.AttachedConversation].
func (a attached) Host() string { return a.Session.Host().String() }

// Submit implements [tui.Conversation]. It returns no turn: the events report the input's
// progress.
func (a attached) Submit(ctx context.Context, text string, options ...settle.InputOption) (*settle.Turn, error) {
	return nil, a.Session.Submit(ctx, settle.NewInput(text, options...))
}

// Model implements [tui.Conversation].
func (a attached) Model() string { return a.Settings().Model }

// Window implements [tui.Conversation].
func (a attached) Window() int { return a.Settings().Window }

// Effort implements [tui.Conversation].
func (a attached) Effort() string { return a.Settings().Effort }

// Mode implements [tui.Conversation].
func (a attached) Mode() string { return a.Settings().Mode }

// Compact implements [tui.Conversation]. Only the host can compact its history.
func (a attached) Compact(context.Context, string) (settle.Compacted, error) {
	return settle.Compacted{}, fmt.Errorf("%s hosts this session: change its history there", a.Host())
}

// Choose implements [tui.Conversation].
func (a attached) Choose(ctx context.Context, setting, value string) error {
	return a.Session.Choose(ctx, map[string]string{setting: value})
}

// SetMode implements [tui.Conversation]. An attached client can only tighten the mode.
func (a attached) SetMode(ctx context.Context, name string) error { return a.Tighten(ctx, name) }

// Models implements [tui.Catalog].
func (a attached) Models(ctx context.Context) ([]assemble.Offered, error) {
	return models(a.Offered(ctx))
}

var (
	_ tui.AttachedConversation = attached{}
	_ tui.Catalog              = attached{}
)
