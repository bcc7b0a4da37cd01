package conversation

import (
	"context"
	"errors"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/tool/mcp"
)

// local is a session that this process hosts.
type local struct {
	*assemble.Opened
	policy *assemble.Policy
	chose  func(setting, value string) // is called after a choice
	note   string                      // why no process of its own hosts it; may be empty
}

// Note implements [tui.NotedConversation].
func (l *local) Note() string { return l.note }

// Model implements [tui.Conversation].
func (l *local) Model() string { return l.Opened.Model().FullName() }

// Window implements [tui.Conversation].
func (l *local) Window() int { return l.Opened.Model().Window }

// Effort implements [tui.Conversation].
func (l *local) Effort() string { return l.Opened.Model().Effort }

// Choose implements [tui.Conversation].
func (l *local) Choose(ctx context.Context, setting, value string) error {
	err := l.Opened.Choose(ctx, map[string]string{setting: value})
	if err == nil {
		l.chose(setting, value)
	}
	return err
}

// Mode implements [tui.Conversation].
func (l *local) Mode() string { return l.policy.Mode().Name }

// SetMode implements [tui.Conversation].
func (l *local) SetMode(_ context.Context, name string) error {
	m, err := assemble.ModeNamed(name)
	if err == nil {
		l.policy.Set(m)
	}
	return err
}

// Models implements [tui.Catalog].
func (l *local) Models(ctx context.Context) ([]assemble.Offered, error) {
	return models(l.Offered(ctx))
}

// models returns the models that the providers list. An empty list is an error that
// names the other way to choose a model.
func models(list []assemble.Offered, err error) ([]assemble.Offered, error) {
	if err == nil && len(list) == 0 {
		err = errors.New("no provider lists its models; /model NAME chooses one")
	}
	return list, err
}

// Rules implements [tui.Ruled].
func (l *local) Rules(context.Context) ([]tui.Rule, error) { return rulesOf(l.policy.Rules()), nil }

// rulesOf converts the rules of a policy.
func rulesOf(list []assemble.Rule) (out []tui.Rule) {
	for _, r := range list {
		out = append(out, tui.Rule{ID: r.Key, Decision: string(r.Decision), Text: r.Text, Where: r.Where})
	}
	return out
}

// Forget implements [tui.Ruled].
func (l *local) Forget(_ context.Context, rule string) error {
	l.policy.Forget(rule)
	return nil
}

// Prompts implements [tui.Expander].
func (l *local) Prompts() ([]mcp.Command, []string) { return l.Commands().Prompts() }

// Expand implements [tui.Expander].
func (l *local) Expand(ctx context.Context, text string) (string, []event.Image, error) {
	return commands.Expansion{Source: l.Commands()}.Expand(ctx, text)
}

var (
	_ tui.Conversation      = (*local)(nil)
	_ tui.Expander          = (*local)(nil)
	_ tui.Catalog           = (*local)(nil)
	_ tui.Ruled             = (*local)(nil)
	_ tui.NotedConversation = (*local)(nil)
)
