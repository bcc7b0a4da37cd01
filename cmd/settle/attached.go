package main

import (
	"context"
	"fmt"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/frontend/tui"
)

// attached is a session of the terminal that another process hosts.
type attached struct{ *attach.Session }

// Host implements [tui.Guest].
func (a attached) Host() string { return a.Session.Host().String() }

// Submit implements [tui.Conversation]. What becomes of the input is among the events.
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

// Compact implements [tui.Conversation].
func (a attached) Compact(context.Context, string) (settle.Compacted, error) {
	return settle.Compacted{}, a.elsewhere("history")
}

// Choose implements [tui.Conversation].
func (a attached) Choose(ctx context.Context, setting, value string) error {
	return a.Session.Choose(ctx, map[string]string{setting: value})
}

// SetMode implements [tui.Conversation]. A guest can only tighten it.
func (a attached) SetMode(ctx context.Context, name string) error { return a.Tighten(ctx, name) }

// Models implements [tui.Catalog].
func (a attached) Models(ctx context.Context) ([]tui.Offered, error) {
	offered, err := a.Offered(ctx)
	return modelsOf(offered), listed(err, len(offered))
}

func (a attached) elsewhere(setting string) error {
	return fmt.Errorf("%s hosts this session: change its %s there", a.Host(), setting)
}
