package assemble

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/tool/family"
	"github.com/settle-agent/settle/tool/mcp"
	"github.com/settle-agent/settle/tool/shell"
	"github.com/settle-agent/settle/tool/skill"
)

// Agent is what a face needs.
type Agent struct {
	// Host is what its sessions have in common with others, and Session what is
	// each one's own.
	Host    settle.Config
	Session settle.SessionConfig
	// Choice is the model that was chosen.
	Choice config.Choice
	// Notes are for the user.
	Notes []string
	// Servers are the MCP servers, with what is known of them, and ServerTools the
	// names of the tools that stand for theirs.
	Servers     []KnownServer
	ServerTools []string
	// Redact masks what settle has read of secrets.
	Redact *redact.Redactor

	policy  *Policy // nil where no client changes it
	from    Options
	sandbox sandboxing
	far     *far // nil if tools work on this machine
	skills  *skillSet
	roster  *roster
	bench   *bench
}

// Policy is what a client changes while the sessions run; nil if none does.
func (a *Agent) Policy() *Policy { return a.policy }

// Under returns the agent for one more session, whose calls are judged by a policy
// of its own. The agent has one itself.
func (a *Agent) Under(p *Policy) (*Agent, error) {
	o, b := a.from, *a
	o.Policy, b.policy = p, p
	b.Session.Permission = o.permission()
	var err error
	b.Session.Judge, err = o.judge(b.Session.Permission, b.bench)
	return &b, err
}

// Mode names what calls may do without being asked about, at this moment.
func (a *Agent) Mode() string {
	if a.policy != nil {
		return a.policy.Mode().Name
	}
	return string(a.Session.Permission)
}

// newAgent returns an agent that has nothing yet.
func newAgent(o Options) *Agent {
	r := o.Settings
	_, unusable := o.rules()
	return &Agent{policy: o.Policy, from: o, Notes: slices.Concat(r.Notes, unusable), Redact: redact.New(slices.Concat(r.Secrets(), o.Secrets)...)}
}

// Confines reports whether commands are confined in a mode.
func (a *Agent) Confines(m Mode) bool { return a.sandbox.of(m).On() }

// New puts an agent together. Its errors are those of a configuration that
// cannot be used.
func New(ctx context.Context, o Options) (*Agent, error) {
	r, a := o.Settings, newAgent(o)
	a.Host = settle.Config{DataDir: r.DataDir, Releasable: o.Releasable, Attach: o.Attach, Face: o.Frontend, Version: o.Version}
	c := &a.Session
	if err := o.model(ctx, a); err != nil {
		return nil, err
	}
	if c.Ephemeral = o.Keeping == Ephemeral; !c.Ephemeral {
		if _, err := r.NeedDataDir(); err != nil {
			return nil, err
		}
	}
	names, err := offered(r.Tools, r.Web)
	if err != nil {
		return nil, err
	}
	if o.Offers != nil {
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !o.Offers(name) })
	}
	known := o.skillSet()
	if len(known.found.Skills) == 0 || !slices.Contains(names, skill.Name) {
		names, known = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == skill.Name }), nil
	}
	c.WorkDir, c.Take, c.LockTimeout = o.Dir, o.Take, DefaultLockTimeout
	c.Permission, c.Approver, c.Attended = o.permission(), o.Approver, o.Attended
	c.Limits, c.Retry, c.Compaction = limits(r), retry(r), settle.Compaction(r.Compact)
	c.Tasks = o.tasks(names)
	bench := o.bench(names)
	bench.skills = known
	c.Hooks = o.hooks(bench.env)
	if bench.far, err = o.reach(ctx, bench.env); err != nil {
		return nil, err
	}
	if a.far = bench.far; bench.far != nil {
		a.Notes = append(a.Notes, bench.far.note())
		if bench.onExit == "release" {
			a.Notes = append(a.Notes, "jobs.on_exit = \"release\" has no effect with --executor: jobs end with the session")
		}
	}
	if bench.sandbox, err = o.sandboxing(a.far); err != nil {
		return nil, err
	}
	if bench.here = bench.sandbox; a.far != nil && namesPrograms(bench.servers) {
		if bench.here, err = o.sandboxing(nil); err != nil {
			return nil, err
		}
	}
	a.sandbox, a.skills = bench.sandbox, known
	a.Notes = append(a.Notes, a.sandbox.notes()...)
	c.Confinement = bench.report(o.mode(c.Permission))
	if c.Judge, err = o.judge(c.Permission, bench); err != nil {
		return nil, err
	}
	if bench.mayStart, err = mayStart(c.Judge); err != nil {
		return nil, err
	}
	system, err := o.prompt(bench.far, known)
	if err != nil {
		return nil, err
	}
	c.System, c.Instructions = system.Text, o.instructions()
	for _, note := range system.Notes {
		if !slices.Contains(a.Notes, note) { // the configuration may have said it
			a.Notes = append(a.Notes, note)
		}
	}
	o.serve(a, bench, names)
	a.roster, a.bench = bench.roster, bench
	c.Notes = slices.Clone(a.Notes)
	if o.Logger != nil {
		c.Logger = o.Logger(a.Redact)
		a.Host.Logger = c.Logger
		for _, note := range a.Notes {
			c.Logger.Warn(note)
		}
	}
	bench.logger = c.Logger
	c.Toolbox = bench.toolbox
	return a, nil
}

// model chooses the model and makes its provider.
func (o Options) model(ctx context.Context, a *Agent) error {
	a.Session.Secrets = slices.Concat(o.Settings.Secrets(), o.Secrets)
	c := &a.Session.Model
	defer func() {
		c.Effort = cmp.Or(o.Settings.Effort, c.Effort)
		c.Family = o.family(c.FullName(), c.Name)
		if o.Settings.Tools != nil {
			c.Offer = string(family.Every)
		}
	}()
	if o.Model.Provider != nil {
		*c = o.Model
		return nil
	}
	choice, err := o.Settings.Choose()
	if err != nil {
		return err
	}
	k, err := o.key(ctx, choice.Provider)
	if err != nil {
		return err
	}
	account := o.Shared.account(choice, k)
	account.key.masked(a.Redact)
	c.Secrets = []string{k.value}
	table := models(o.Settings, choice.Provider.Name)
	endpoint := o.endpoint(choice, account.key)
	a.Choice = choice
	if choice.Note != "" {
		a.Notes = append(a.Notes, choice.Note)
	}
	c.Limiter = account.limiter
	c.Provider = account.provider(choice.Model, func() model.Provider { return provider(choice.Provider, endpoint, table) })
	c.ProviderName, c.Name = choice.Provider.Name, choice.Model
	if c.Traits = traits(choice.Provider, table, choice.Model); c.Window == 0 {
		c.Window = window(ctx, choice.Provider, endpoint, choice.Model)
	}
	c.Timeouts = timeouts(o.Settings.Watchdog(choice.Provider))
	if c.Price = price(o.Settings, choice); c.Price == nil && (o.Settings.MaxCost > 0 || o.Settings.MaxSessionCost > 0) {
		where := "max_cost"
		if o.Settings.MaxCost <= 0 {
			where = "max_session_cost"
		}
		return &config.Error{Where: where, Message: fmt.Sprintf("the price of %[1]s is not known; say it in the configuration: "+
			"[models.%[1]q] price = { input = 1.25, output = 10 }, in US dollars per million tokens", choice.Provider.Name+"/"+choice.Model)}
	}
	return nil
}

// family names the tools as the model knows them.
func (o Options) family(full, name string) string {
	if chosen := o.Settings.ToolFamily; chosen != "" && chosen != "auto" {
		return chosen
	}
	provider, _, _ := strings.Cut(full, "/")
	return cmp.Or(o.Settings.Models[full].ToolFamily, models(o.Settings, provider).Family(name), string(family.Settle))
}

// mode is the one that sessions begin in.
func (o Options) mode(p settle.Permission) Mode {
	if o.Policy != nil {
		return Tighten(o.Ceiling, o.Policy.Mode())
	}
	return Mode{Permission: p}
}

func (o Options) permission() settle.Permission {
	if o.Policy != nil {
		return Tighten(o.Ceiling, o.Policy.Mode()).Permission
	}
	if o.Settings.Permission != "" {
		return o.Settings.Permission
	}
	return o.Permission
}

func (o Options) bench(names []string) *bench {
	r := o.Settings
	byName := r.Withheld()
	secret := func(name, value string) bool {
		return slices.Contains(byName, name) || r.Withholds(value) || o.hasSecret(value)
	}
	env, withheld := shell.Environment(o.Environ, secret, r.PassEnv)
	b := &bench{
		secret: policy.Withhold(slices.Concat(r.KeepEnv, r.PassEnv)), files: new(policy.SecretFiles),
		offered: names, env: env, withheld: withheld, roster: &roster{open: map[string]*mcp.Servers{}, disabled: map[string]bool{}},
		release: o.release(), onExit: r.Jobs.OnExit, onStop: r.Jobs.OnInterrupt, ripgrep: ripgrep(o.Getenv("PATH")),
		editor: o.Editor, servers: o.servers(), seen: o.Seen, listed: o.Listed, nearby: r.Web.Private, searcher: o.searcher(), catalogues: catalogues(r.DataDir), version: o.Version,
	}
	b.client, b.tokens = o.serverClient(b.servers), o.tokens
	if o.Policy != nil || o.permission() != settle.Allow {
		b.private = policy.Secret
	}
	if o.Policy != nil {
		b.extent = func() policy.Extent { return o.Policy.Mode().Extent }
	}
	return b
}

// release says whether the model may let processes outlive a session.
func (o Options) release() settle.Permission {
	return cmp.Or(o.Settings.Jobs.Release, o.Release, settle.Ask)
}

// hasSecret reports whether a variable has one of the Options' secrets.
func (o Options) hasSecret(value string) bool {
	return slices.ContainsFunc(o.Secrets, func(secret string) bool {
		return len(secret) >= redact.MinLength && strings.Contains(value, secret)
	})
}

func (o Options) prompt(f *far, known *skillSet) (prompt.Prompt, error) {
	p := prompt.Options{Dir: o.Dir, GOOS: runtime.GOOS, Now: time.Now(), Sources: o.reads(repo.Project{}), User: o.instructionFiles()}
	if o.Project != IgnoreProject && f == nil {
		p.Project = o.Settings.Trust.Project(o.Dir)
	}
	var note string
	if p.Skills, note = known.catalog(); note != "" {
		p.Project.Notes = append(p.Project.Notes, note)
	}
	if o.SystemFile != "" {
		text, err := promptFile(o.SystemFile)
		if err != nil {
			return prompt.Prompt{}, err
		}
		p.Replace = &text
	}
	if o.AppendFile != "" {
		var err error
		if p.Append, err = promptFile(o.AppendFile); err != nil {
			return prompt.Prompt{}, err
		}
	}
	if o.System != nil {
		p.Replace = o.System
	}
	if o.Append != "" {
		p.Append = strings.TrimSpace(p.Append + "\n\n" + o.Append)
	}
	if f != nil {
		return f.promptOf(p), nil
	}
	return prompt.Build(p), nil
}

// mostPrompt bounds the files of a system prompt in bytes.
const mostPrompt = 1 << 20

func promptFile(path string) (string, error) {
	text, err := disk.ReadRegular(path, mostPrompt)
	if err != nil {
		return "", fmt.Errorf("cannot read the system prompt: %w", err)
	}
	return string(text), nil
}

// The engine's zero values are defaults; the configuration's are "off".

func limits(r *config.Resolved) settle.Limits {
	return settle.Limits{
		Steps: r.MaxSteps, Time: r.Timeout, Repeats: orOff(r.MaxRepeats), Tokens: int64(r.MaxTokens), Cost: r.MaxCost,
		Session: settle.SessionLimits{Steps: r.MaxSessionSteps, Time: r.MaxSessionTime, Tokens: int64(r.MaxSessionTokens), Cost: r.MaxSessionCost},
	}
}

func retry(r *config.Resolved) settle.Retry {
	retry := settle.Retry{RetryFor: orOff(r.RetryFor)}
	if r.Retries >= 0 {
		retry.Retries = &r.Retries
	}
	return retry
}

func timeouts(w config.Watchdog) model.Timeouts {
	return model.Timeouts{Header: orOff(w.HeaderTimeout), Stall: orOff(w.StallTimeout), Thinking: orOff(w.ThinkingTimeout), Attempt: orOff(w.AttemptTimeout)}
}

func orOff[N int | time.Duration](n N) N {
	if n == 0 {
		return -1
	}
	return n
}
