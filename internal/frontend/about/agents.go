package about

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/listing"
	"github.com/settle-agent/settle/internal/terminal"
)

// agentLine is a kind of child agent as JSON.
type agentLine struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Path        string   `json:"path"`
	SHA256      string   `json:"sha256"`
	Scope       string   `json:"scope"`  // project, user, plugin
	Format      string   `json:"format"` // settle, claude, opencode
	Model       string   `json:"model,omitempty"`
	Tools       []string `json:"tools,omitempty"`
	Without     []string `json:"without,omitempty"`
	Permission  string   `json:"permission,omitempty"`
	MaxSteps    int      `json:"max_steps,omitempty"`
	MaxTokens   int64    `json:"max_tokens,omitempty"`
	MaxCost     float64  `json:"max_cost,omitempty"`
	TimeoutMS   int64    `json:"timeout_ms,omitempty"`
	agentFlags
}

// agentFlags are the rest of an [agentLine].
type agentFlags struct {
	Background bool     `json:"background,omitempty"`
	Worktree   bool     `json:"worktree,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
}

func agentLines(list assemble.Kinds) (out []agentLine) {
	for n, a := range list.Agents {
		k := list.Kinds[n]
		out = append(out, agentLine{
			Name: a.Name, Description: a.About, Path: a.Path, SHA256: a.Hash, Scope: scope(a.Project, a.Plugin),
			Format: string(a.Format), Model: k.Model, Tools: k.Tools, Without: k.Without, Permission: a.Permission,
			MaxSteps: k.Budget.Steps, MaxTokens: k.Budget.Tokens, MaxCost: k.Budget.Cost,
			TimeoutMS:  k.Budget.Time.Milliseconds(),
			agentFlags: agentFlags{k.Background, k.Worktree, a.Warnings},
		})
	}
	return out
}

// AgentProblems returns the errors of definitions that cannot be used, and of definitions that are
// not offered.
func AgentProblems(list assemble.Kinds) (broken, hidden []string) {
	for _, p := range list.Broken {
		broken = append(broken, p.Error())
	}
	for _, p := range list.Hidden {
		hidden = append(hidden, p.Error())
	}
	return broken, hidden
}

// AgentsJSON writes the kinds of child agents, one JSON object a line.
func AgentsJSON(to io.Writer, list assemble.Kinds) error { return listing.JSON(to, agentLines(list)) }

// Agents writes a table of the kinds of child agents, and below it the warnings.
func Agents(to io.Writer, list assemble.Kinds) error {
	rows := [][]string{{"AGENT", "SCOPE", "WHAT IT IS FOR", "RIGHTS", "WHERE"}}
	rights := func(l agentLine) string { return l.rights() }
	if terminal.Columns(to) > 0 {
		rights = func(l agentLine) string { return terminal.Short(l.rights(), maxRights) }
	}
	var notes []string
	for _, l := range agentLines(list) {
		rows = append(rows, []string{
			l.Name, l.Scope, terminal.Short(l.Description, 60), rights(l), terminal.OneLine(l.Path),
		})
		for _, w := range l.Warnings {
			notes = append(notes, l.Name+": "+w)
		}
	}
	if len(rows) > 1 {
		if err := listing.Table(to, rows); err != nil {
			return err
		}
	}
	_, hidden := AgentProblems(list)
	for n, note := range append(notes, hidden...) {
		note = terminal.OneLine(note)
		if n == 0 && len(rows) > 1 {
			note = "\n" + note
		}
		if _, err := fmt.Fprintln(to, note); err != nil {
			return fmt.Errorf("cannot write to standard output: %w", err)
		}
	}
	return nil
}

// maxRights is the number of characters of the restrictions that the table shows on a terminal.
const maxRights = 50

// rights describes the restrictions of a kind in a few words.
func (l agentLine) rights() string {
	var words []string
	add := func(text string) { words = append(words, text) }
	if l.Tools != nil {
		add(cmp.Or(strings.Join(l.Tools, " "), "no tools"))
	}
	if len(l.Without) > 0 {
		add("no " + strings.Join(l.Without, " "))
	}
	if l.Permission != "" && l.Permission != "allow" {
		add(l.Permission)
	}
	if l.MaxSteps > 0 {
		add(fmt.Sprintf("%d steps", l.MaxSteps))
	}
	if l.TimeoutMS > 0 {
		add((time.Duration(l.TimeoutMS) * time.Millisecond).String())
	}
	if l.MaxTokens > 0 {
		add(fmt.Sprintf("%d tokens", l.MaxTokens))
	}
	if l.MaxCost > 0 {
		add(fmt.Sprintf("%g USD", l.MaxCost))
	}
	if l.Model != "" {
		add(l.Model)
	}
	if l.Worktree {
		add("worktree")
	}
	if l.Background {
		add("background")
	}
	return cmp.Or(strings.Join(words, ", "), "as its parent")
}
