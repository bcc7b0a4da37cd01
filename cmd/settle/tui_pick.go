package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/frontend/tui"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/terminal"
	"github.com/settle-agent/settle/tool/mcp"
)

// Plan implements [tui.Rewinder].
func (c *conversations) Plan(ctx context.Context, id, turn string) (*rewind.Plan, error) {
	return rewind.Read(ctx, c.dataDir, id, turn)
}

// GoBack implements [tui.Rewinder].
func (c *conversations) GoBack(ctx context.Context, p *rewind.Plan, files rewind.Files) (rewind.Report, error) {
	return p.Fork(ctx, files)
}

// mostPreviewed is how many of the last turns a preview has.
const mostPreviewed = 3

// Preview implements [tui.Previewer].
func (c *conversations) Preview(_ context.Context, id string) ([]string, error) {
	state, err := journal.Load(c.dataDir, id)
	if err != nil && len(state.Turns) == 0 {
		return nil, err
	}
	lines := []string{terminal.Count(len(state.Turns), "turn")}
	for _, t := range state.Turns[max(len(state.Turns)-mostPreviewed, 0):] {
		for _, in := range t.Inputs {
			lines = append(lines, "> "+firstLine(in.Text))
		}
		if answer := firstLine(t.Answer()); answer != "" {
			lines = append(lines, "  "+answer)
		}
	}
	return lines, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// Models implements [tui.Catalog].
func (c *conversation) Models(ctx context.Context) ([]tui.Offered, error) {
	offered, err := c.Offered(ctx)
	return modelsOf(offered), listed(err, len(offered))
}

func modelsOf(offered []assemble.Offered) (out []tui.Offered) {
	for _, one := range offered {
		out = append(out, tui.Offered(one))
	}
	return out
}

// listed says what to do where there is nothing to choose from.
func listed(err error, n int) error {
	if err == nil && n == 0 {
		return errors.New("no provider lists its models; /model NAME chooses one")
	}
	return err
}

// Rules implements [tui.Ruled].
func (c *conversation) Rules() (out []tui.Rule) {
	for _, r := range c.policy.Rules() {
		out = append(out, tui.Rule{ID: r.Key, Decision: string(r.Decision), Text: r.Text, Where: r.Where})
	}
	return out
}

// Forget implements [tui.Ruled].
func (c *conversation) Forget(rule string) { c.policy.Forget(rule) }

// commandsTimeout is how long the list of commands is taken for what it is: it is
// asked for with every key.
const commandsTimeout = 2 * time.Second

// commandsOf returns what lists the commands of an agent, without the prompts of its
// servers: the session that a person is in has those, and has its servers asked.
func commandsOf(source commands.Source) func() commands.Set {
	var (
		mu   sync.Mutex // guards what follows
		set  commands.Set
		read time.Time
	)
	return func() commands.Set {
		mu.Lock()
		defer mu.Unlock()
		if read.IsZero() || time.Since(read) > commandsTimeout {
			set, read = commands.Find(source.Sources(), source.Skills()), time.Now()
		}
		return set
	}
}

// Prompts implements [tui.Expander].
func (c *conversation) Prompts() ([]mcp.Command, []string) { return c.Commands().Prompts() }

// Expand implements [tui.Expander].
func (c *conversation) Expand(ctx context.Context, text string) (string, []event.Image, error) {
	return commands.Expansion{Source: c.Commands()}.Expand(ctx, text)
}

var (
	_ tui.Expander  = (*conversation)(nil)
	_ tui.Rewinder  = (*conversations)(nil)
	_ tui.Previewer = (*conversations)(nil)
	_ tui.Catalog   = (*conversation)(nil)
	_ tui.Catalog   = attached{}
	_ tui.Ruled     = (*conversation)(nil)
)
