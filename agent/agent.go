package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool"
)

// Config configures an agent. Model must be set.
type Config struct {
	// Model is the model of the agent; the providers in model/… make one.
	Model model.Config
	// Dir is the working directory; "" means ".".
	Dir string
	// Executor, if set, is a command that runs "settle executor" on the machine that has the
	// commands and files, with its standard streams: "ssh host settle executor". The model and
	// its key stay here. The shell runs the command in Dir with Environ. ExecutorLease is how
	// long commands there continue without contact to this program; 0 means 30 seconds.
	Executor      string
	ExecutorLease time.Duration

	// Permission is the policy for calls that could change something: Allow, Ask or Deny; ""
	// means Ask. With Ask, a call runs without approval if a rule allows it or if settle knows
	// that it changes nothing. Other calls go to Approver. Without an Approver they wait for
	// Session.Answer if the agent is Attended. Otherwise they are denied, and Outcome.Denied
	// lists them.
	Permission settle.Permission
	// Rules decide single calls. A matching rule that denies always wins; among the other
	// rules, the last match wins.
	Rules    []Rule
	Approver settle.Approver
	Attended bool

	// Tools are the names of settle's tools that the model gets: shell, job, read, write,
	// edit, apply_patch, glob, grep, list, plan, ask_user and task; task selects all tools of child
	// agents. Nil selects the tools that suit the model; an empty list selects none.
	Tools []string
	// Extra are your own tools.
	Extra []tool.Tool
	// System, if set, replaces settle's system prompt. Instructions are appended to it, after
	// the project's instructions.
	System, Instructions string
	// IgnoreProject ignores the project's files.
	IgnoreProject bool
	// Environ is the environment of commands, as "NAME=value"; nil means the program's own.
	// settle removes variables with a provider's key.
	Environ []string

	Limits settle.Limits
	Retry  settle.Retry
	// Compaction selects how settle makes room when the model's window is nearly full; ""
	// means settle.CompactionAuto.
	Compaction settle.Compaction

	// DataDir is the directory for sessions; "" keeps the session in memory. ID is the session
	// that New continues or creates; "" creates a new one.
	DataDir, ID string
	// Observer and Logger are for the host that New opens.
	Observer settle.Observer
	Logger   *slog.Logger
}

// Rule decides calls of a tool.
type Rule struct {
	// Tool is the name of a tool, or "*" for all.
	Tool string
	// Pattern matches what the call does, with "*" for anything. For shell, it matches the
	// words of one command, such as "go test *". For other tools, it matches a path, in which
	// "**" matches any number of directories. Empty matches every call.
	Pattern  string
	Decision settle.Permission
}

// Agent is a coding agent with one session.
type Agent struct {
	*settle.Session
	// Notes are for the user, such as why settle ignored a file of the project.
	Notes []string

	host *settle.Host
}

// New opens an agent. The caller closes it.
func New(ctx context.Context, c Config) (*Agent, error) {
	made, err := c.make(ctx)
	if err != nil {
		return nil, err
	}
	host, err := settle.Open(ctx, settle.Config{DataDir: c.DataDir, Observer: c.Observer, Logger: c.Logger})
	if err != nil {
		return nil, err
	}
	s, err := host.Session(ctx, c.ID, made.Session)
	if err != nil {
		return nil, errors.Join(err, host.Close(ctx))
	}
	return &Agent{Session: s, Notes: made.Notes, host: host}, nil
}

// Close ends the agent and all processes of its commands. If something does not stop before
// ctx ends, the error names it.
func (a *Agent) Close(ctx context.Context) error { return a.host.Close(ctx) }

// Session returns the configuration of an agent's session, for a host with many sessions. Open
// the host with the same DataDir. Session ignores ID, Observer and Logger, which belong to the
// host.
func Session(ctx context.Context, c Config) (settle.SessionConfig, error) {
	made, err := c.make(ctx)
	if err != nil {
		return settle.SessionConfig{}, err
	}
	return made.Session, nil
}

func (c Config) make(ctx context.Context) (*assemble.Agent, error) {
	if c.Model.Provider == nil || c.Model.Name == "" {
		return nil, errors.New("cannot make an agent without a model: Model.Provider and Model.Name must be set")
	}
	switch c.Permission {
	case "", settle.Allow, settle.Ask, settle.Deny:
	default:
		return nil, fmt.Errorf("cannot make an agent with permission %q: allow, ask and deny are known", c.Permission)
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot find the working directory: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("cannot work in %q: it is not a directory", dir)
	}
	environ := c.Environ
	if environ == nil {
		environ = os.Environ()
	}
	settings, err := c.settings(dir, environ)
	if err != nil {
		return nil, err
	}
	o := assemble.Options{
		Settings: settings, Dir: dir, Environ: environ, Getenv: lookup(environ), Secrets: c.Model.Secrets,
		PermissionOptions: assemble.PermissionOptions{
			Permission: settle.Ask, Approver: c.Approver, Attended: c.Attended,
		},
		PromptOptions: assemble.PromptOptions{Home: assemble.IgnoreHome, Append: c.Instructions},
		ModelOptions:  assemble.ModelOptions{Model: c.Model},
	}
	if c.System != "" {
		o.System = &c.System
	}
	if c.DataDir == "" {
		o.Keeping = assemble.Ephemeral
	}
	if c.IgnoreProject {
		o.Project = assemble.IgnoreProject
	}
	made, err := assemble.New(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &made.Session
	s.Tools, s.Limits, s.Retry, s.Compaction = c.Extra, c.Limits, c.Retry, c.Compaction
	return made, nil
}

// settings returns settle's settings from the Config and the restrictions of the project. It
// reads no configuration of the user.
func (c Config) settings(dir string, environ []string) (*config.Resolved, error) {
	getenv := lookup(environ)
	in := config.Input{
		Dir: dir, Trust: assemble.Trust(environ, getenv),
		Getenv: func(name string) string {
			if !holdsKey(name) {
				return "" // otherwise it would be a setting
			}
			return getenv(name)
		},
	}
	if c.IgnoreProject {
		in.ProjectConfig = config.IgnoreProject
	}
	r, err := config.Load(in)
	if err != nil {
		return nil, err
	}
	r.DataDir, r.Executor = c.DataDir, c.Executor
	if c.ExecutorLease > 0 {
		r.ExecutorLease = c.ExecutorLease
	}
	if c.Tools != nil {
		r.Tools = c.Tools
	}
	// A project's own configuration may only be stricter.
	r.Permission = r.Permission.Stricter(c.Permission)
	var rules []config.Rule
	for _, rule := range c.Rules {
		rules = append(rules, config.Rule{Tool: rule.Tool, Pattern: rule.Pattern, Decision: rule.Decision})
	}
	r.Rules = append(rules, r.Rules...) // the project's rules come last
	return r, nil
}

// holdsKey reports whether a variable may hold a provider's key. Commands do not get such
// variables.
func holdsKey(name string) bool {
	return slices.ContainsFunc(
		[]string{"_KEY", "_TOKEN", "_SECRET"}, func(end string) bool { return strings.HasSuffix(name, end) },
	)
}

// lookup returns a function that reads an environment; the last entry of a name counts.
func lookup(environ []string) func(string) string {
	return func(name string) string {
		for _, entry := range slices.Backward(environ) {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				return value
			}
		}
		return ""
	}
}
