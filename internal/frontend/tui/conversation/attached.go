package conversation

import (
	"context"
	"sync"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/mcp"
)

// attached is a session that another process hosts, seen by its attached client.
type attached struct {
	*attach.Session
	lookups sync.WaitGroup              // of prompts; leave waits for them
	chose   func(setting, value string) // is called after a choice

	mu      sync.Mutex // guards the fields below
	prompts []mcp.Command
	notes   []string
	looking bool      // a lookup runs
	askedAt time.Time // when the last lookup ended
}

// newAttached returns the conversation of an attached client. leave ends it.
func newAttached(client *attach.Session) *attached {
	a := &attached{Session: client}
	a.Prompts() // so that they are known when a person types a slash
	return a
}

// leave disconnects; the host keeps the session.
func (a *attached) leave() {
	_ = a.Session.Close() // the connection
	a.lookups.Wait()
}

// Host implements [tui.AttachedConversation].
func (a *attached) Host() string { return a.Session.Host().String() }

// Submit implements [tui.Conversation]. It returns no turn: the events report the input's
// progress.
func (a *attached) Submit(ctx context.Context, text string, options ...settle.InputOption) (*settle.Turn, error) {
	return nil, a.Session.Submit(ctx, settle.NewInput(text, options...))
}

// Model implements [tui.Conversation].
func (a *attached) Model() string { return a.Settings().Model }

// Window implements [tui.Conversation].
func (a *attached) Window() int { return a.Settings().Window }

// Effort implements [tui.Conversation].
func (a *attached) Effort() string { return a.Settings().Effort }

// Mode implements [tui.Conversation].
func (a *attached) Mode() string { return a.Settings().Mode }

func (a *attached) modes() Modes {
	settings := a.Settings()
	return Modes{settings.Mode, settings.Work}
}

// Choose implements [tui.Conversation].
func (a *attached) Choose(ctx context.Context, setting, value string) error {
	err := a.Session.Choose(ctx, map[string]string{setting: value})
	if err == nil {
		a.chose(setting, value)
	}
	return err
}

// SetMode implements [tui.Conversation]. An attached client can only tighten the mode.
func (a *attached) SetMode(ctx context.Context, name string) error { return a.Tighten(ctx, name) }

// Models implements [tui.Catalog].
func (a *attached) Models(ctx context.Context) ([]assemble.Offered, error) {
	return models(a.Offered(ctx))
}

// Rules implements [tui.Ruled].
func (a *attached) Rules(ctx context.Context) ([]tui.Rule, error) {
	list, err := a.Session.Rules(ctx)
	return rulesOf(list), err
}

// Prompts implements [tui.Expander]. It returns the prompts that were known at the last lookup,
// since every key asks for them, and looks them up again if that was long ago.
func (a *attached) Prompts() ([]mcp.Command, []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.looking && time.Since(a.askedAt) > commandsMaxAge {
		a.looking = true
		a.lookups.Go(scope.Shield(func(error) {}, a.lookUp)) // ends within a timeout, or with leave, which waits for it
	}
	return a.prompts, a.notes
}

func (a *attached) lookUp() {
	list, notes, err := a.Session.Prompts(context.Background()) // bounded
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.looking, a.askedAt = false, time.Now(); err == nil { // an older host has no such call
		a.prompts, a.notes = list, notes
	}
}

// Expand implements [tui.Expander]. The host expands the text, with its own servers: see
// [attach.Session.Submit].
func (*attached) Expand(_ context.Context, text string) (string, []event.Image, error) {
	return text, nil, nil
}

var (
	_ tui.AttachedConversation = (*attached)(nil)
	_ tui.Catalog              = (*attached)(nil)
	_ tui.Expander             = (*attached)(nil)
	_ tui.Ruled                = (*attached)(nil)
)
