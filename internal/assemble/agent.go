package assemble

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
	"unique"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/internal/redact"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
	"github.com/settle-agent/settle/tool/family"
)

// Agent is a coding agent for a frontend: the configuration of its host and sessions.
type Agent struct {
	// Host is the configuration of the host, Session the configuration of each session.
	Host    settle.Config
	Session settle.SessionConfig
	// Choice is the chosen model.
	Choice config.Choice
	// Notes are messages for the user.
	Notes []string
	// Servers are the MCP servers with their known state. ServerTools are the names
	// of the tools that call them.
	Servers     []KnownServer
	ServerTools []string
	// Redact masks the secrets that settle has read.
	Redact *redact.Redactor

	policy    *Policy // nil if no client changes the policy
	from      Options
	selection toolSelection
	confined  *confinement // nil while only the model is chosen
	servers   *serverSet   // nil while only the model is chosen
	system    prompt.Prompt
}

// Policy returns the policy that a client changes while the sessions run; nil for none.
func (a *Agent) Policy() *Policy { return a.policy }

// Under returns the agent for one more session with its own policy p, which decides about all of
// the session's calls, plans, language servers and child agents. The agent itself must have a policy.
func (a *Agent) Under(p *Policy) (*Agent, error) {
	o, b := a.from, *a
	o.Policy = p
	b.policy, b.from = p, o
	c := &b.Session
	c.Permission = o.permission()
	mode := o.mode(c.Permission)
	if _, err := a.CheckExtent(mode); err != nil {
		return nil, err
	}
	c.Tasks, c.Confinement = o.tasks(b.selection.names, b.confined), b.confined.report(mode)
	c.Toolbox = o.toolFactory(b.selection, b.confined, b.servers, c.Logger).toolbox
	var err error
	c.Judge, err = o.judge(c.Permission, b.confined)
	return &b, err
}

// Mode returns the name of the mode in force, which decides the calls that run without an
// approval.
func (a *Agent) Mode() string {
	if a.policy != nil {
		return a.policy.Mode().Name
	}
	return string(a.Session.Permission)
}

// newAgent returns an agent without a model, tools and prompt.
func newAgent(o Options) *Agent {
	r := o.Settings
	_, unusable := o.rules()
	return &Agent{
		policy: o.Policy, from: o, Notes: slices.Concat(r.Notes, unusable),
		Redact: redact.New(slices.Concat(r.Secrets(), o.Secrets)...),
		Host: settle.Config{
			DataDir: r.DataDir, Releasable: o.Releasable, Attach: o.Attach, Frontend: o.Frontend,
			Version: o.Version,
		},
	}
}

// KeepStarted keeps the model, the server and the effort that the session was started with, for those
// who continue it and name none.
func (a *Agent) KeepStarted(session string) error {
	if a.Session.Ephemeral {
		return nil
	}
	return a.from.Settings.KeepStarted(session)
}

// Confines reports whether commands are sandboxed in a mode.
func (a *Agent) Confines(m Mode) bool { return a.confined.sandbox.of(m).On() }

// New builds an agent. Each step returns a value that a later step needs:
//
//	model → tool selection → command environment → remote tools → confinement → judge
//	→ MCP servers → system prompt → tool factory
//
// An error means that the configuration cannot be used.
func New(ctx context.Context, o Options) (*Agent, error) {
	a := newAgent(o)
	if err := o.model(ctx, a); err != nil {
		return nil, err
	}
	if a.Session.Ephemeral = o.Keeping == Ephemeral; !a.Session.Ephemeral {
		if _, err := o.Settings.NeedDataDir(); err != nil {
			return nil, err
		}
	}
	selection, err := o.selectTools()
	if err != nil {
		return nil, err
	}
	a.selection = selection
	if a.Session.Reviewer, err = o.reviewer(ctx, a); err != nil {
		return nil, err
	}
	commands := o.commandEnv()
	remote, err := o.reach(ctx, commands.env)
	if err != nil {
		return nil, err
	}
	if a.confined, err = o.confine(commands, remote, selection.skills); err != nil {
		return nil, err
	}
	excluded, err := a.CheckExtent(o.mode(o.permission()))
	if err != nil {
		return nil, err
	}
	judge, err := o.judge(o.permission(), a.confined)
	if err != nil {
		return nil, err
	}
	if a.servers, err = o.serverSet(selection.names, a.confined, judge); err != nil {
		return nil, err
	}
	if a.system, err = o.prompt(remote, selection.skills); err != nil {
		return nil, err
	}
	a.note(o.remoteNotes(remote)...)
	a.note(a.confined.sandbox.notes()...)
	a.note(a.confined.sandbox.unjudgedNotes()...)
	a.note(o.variableNotes(a.confined.env)...)
	a.note(excluded...)
	for _, note := range a.system.Notes {
		if !slices.Contains(a.Notes, note) { // the configuration can have the same note
			a.note(note)
		}
	}
	a.listServers()
	o.configure(&a.Session, selection.names, a.confined)
	c := &a.Session
	c.Judge, c.Instructions, c.Notes = judge, o.instructions(), slices.Clone(a.Notes)
	c.System, c.Prompts = prompts(a.system, prompt.Family(c.Model.Prompt))
	a.log()
	a.confined.keepSecretFiles(c.Logger)
	c.Toolbox = o.toolFactory(selection, a.confined, a.servers, c.Logger).toolbox
	return a, nil
}

// note adds messages for the user.
func (a *Agent) note(notes ...string) { a.Notes = append(a.Notes, notes...) }

// log opens the diagnostic log, if there is one, and writes the notes to it.
func (a *Agent) log() {
	if a.from.Logger == nil {
		return
	}
	logger := a.from.Logger(a.Redact)
	a.Session.Logger, a.Host.Logger = logger, logger
	for _, note := range a.Notes {
		logger.Warn(note)
	}
}

// configure sets the fields of a session's configuration that follow from the options.
func (o *Options) configure(c *settle.SessionConfig, tools []string, confined *confinement) {
	r := o.Settings
	c.WorkDir, c.Take, c.LockTimeout = o.Dir, o.Take, DefaultLockTimeout
	c.Permission, c.Approver, c.Attended = o.permission(), o.Approver, o.Attended
	c.Limits, c.Retry, c.Compaction = limits(r), retry(r), settle.Compaction(r.Compact)
	c.Tasks, c.Hooks = o.tasks(tools, confined), o.hooks(confined)
	c.Confinement = confined.report(o.mode(c.Permission))
}

// remoteNotes are messages for the user about the executor on another machine.
func (o Options) remoteNotes(remote *remoteTools) []string {
	if remote == nil {
		return nil
	}
	notes := []string{remote.note()}
	if o.Settings.Jobs.OnExit == "release" {
		notes = append(notes, "jobs.on_exit = \"release\" has no effect with --executor: jobs end with the session")
	}
	return notes
}

// model chooses the model and makes its provider.
func (o Options) model(ctx context.Context, a *Agent) error {
	a.Session.Secrets = slices.Concat(o.Settings.Secrets(), o.Secrets)
	c := &a.Session.Model
	defer func() {
		c.Effort = cmp.Or(o.Settings.Effort, c.Effort)
		c.Family = o.family(c.FullName(), c.Name)
		c.Prompt = string(prompt.FamilyOf(c.Family, c.Name))
		c.Offer = cmp.Or(o.toolOffer(), c.Offer)
	}()
	if o.Model.Provider != nil {
		*c = o.Model
		return nil
	}
	choice, err := o.Settings.Choose()
	if err != nil {
		return err
	}
	if *c, err = o.modelOf(ctx, a, choice); err != nil {
		return err
	}
	a.Choice = choice
	if choice.Note != "" {
		a.Notes = append(a.Notes, choice.Note)
	}
	fallback, err := o.Settings.ChooseFallback(choice)
	if err != nil {
		return err
	}
	if fallback == nil {
		if o.Settings.FallbackModel != "" {
			a.note("fallback_model is not used: " + choice.String() + " is the model itself")
		}
		return nil
	}
	f, err := o.modelOf(ctx, a, *fallback)
	f.Effort, f.Family, f.Offer = o.Settings.Effort, o.family(f.FullName(), f.Name), o.toolOffer()
	f.Prompt = string(prompt.FamilyOf(f.Family, f.Name))
	c.Secrets = append(c.Secrets, f.Secrets...)
	c.Fallback = &f
	return err
}

// modelOf makes the configuration of a chosen model, with its provider.
func (o Options) modelOf(ctx context.Context, a *Agent, choice config.Choice) (c model.Config, err error) {
	k, err := o.key(ctx, choice.Provider)
	if err != nil {
		return c, err
	}
	account := o.Shared.account(choice, k)
	account.key.masked(a.Redact)
	c.Secrets = []string{k.value}
	table := models(o.Settings, choice.Provider.Name)
	c.Limiter = account.limiter
	shared := account.model(choice.Model, func() (model.Provider, transport.Endpoint) {
		endpoint := o.endpoint(choice, account.key)
		return provider(choice.Provider, endpoint, table), endpoint
	})
	c.Provider = shared.provider
	c.ProviderName, c.Name = choice.Provider.Name, choice.Model
	if c.Traits = traits(o.Settings, choice.Provider, table, choice.Model); c.Window == 0 {
		c.Window = window(ctx, choice.Provider, shared.endpoint, choice.Model)
	}
	c.Timeouts = timeouts(o.Settings.Watchdog(choice.Provider))
	if c.Price = price(o.Settings, choice); c.Price == nil &&
		(o.Settings.MaxCost > 0 || o.Settings.MaxSessionCost > 0) {
		where := "max_cost"
		if o.Settings.MaxCost <= 0 {
			where = "max_session_cost"
		}
		return c, &config.Error{
			Where: where,
			Message: fmt.Sprintf("the price of %[1]s is unknown; set it in the configuration: "+
				"[models.%[1]q] price = { input = 1.25, output = 10 }, in US dollars per million tokens",
				choice.Provider.Name+"/"+choice.Model),
		}
	}
	return c, nil
}

// toolOffer returns which tools models are offered; empty for the tools of their family.
func (o Options) toolOffer() string {
	if o.Settings.Tools != nil {
		return string(family.Every)
	}
	return ""
}

// family returns the family of tool names for the model.
func (o Options) family(full, name string) string {
	if chosen := o.Settings.ToolFamily; chosen != "" && chosen != "auto" {
		return chosen
	}
	provider, _, _ := strings.Cut(full, "/")
	return cmp.Or(o.Settings.Models[full].ToolFamily, models(o.Settings, provider).Family(name), string(family.Settle))
}

// mode returns the initial mode of sessions.
func (o Options) mode(p settle.Permission) Mode {
	if o.Policy != nil {
		return Tighten(o.Ceiling, o.Policy.Mode())
	}
	return Mode{Permission: p}
}

// asks reports whether the mode in force asks a person about commands.
func (o Options) asks() bool {
	m := o.mode(o.permission())
	return !m.Plan && m.Permission != settle.Deny && m.Unasked == ""
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

// release decides whether the model can release processes from a session.
func (o Options) release() settle.Permission {
	return cmp.Or(o.Settings.Jobs.Release, o.Release, settle.Ask)
}

func (o Options) prompt(remote *remoteTools, known *skillSet) (prompt.Prompt, error) {
	p := o.promptSources(remote == nil)
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
	if remote != nil {
		return remote.promptOf(p), nil
	}
	return prompt.Build(p), nil
}

// promptSources returns the options of the prompt without its texts. Without local, no file of the
// project is read: the tools run on another machine.
func (o Options) promptSources(local bool) prompt.Options {
	p := prompt.Options{
		Dir: o.Dir, GOOS: runtime.GOOS, Now: time.Now(), Sources: o.reads(repo.Project{}),
		User: o.instructionFiles(),
	}
	if o.Project != IgnoreProject && local {
		p.Project = o.Settings.Trust.Project(o.Dir)
	}
	return p
}

// prompts returns the system prompt for the family of the session's model, and a function that returns the
// prompt for any family. Sessions with equal prompts keep one text together, and the parts of the others.
func prompts(system prompt.Prompt, own prompt.Family) (text string, of func(family string) string) {
	parts := prompt.Prompt{Parts: system.Parts}
	text = unique.Make(parts.For(own).Text).Value()
	return text, func(family string) string {
		if family == string(own) {
			return text
		}
		return parts.For(prompt.Family(family)).Text
	}
}

// maxPrompt bounds the files of a system prompt in bytes.
const maxPrompt = 1 << 20

func promptFile(path string) (string, error) {
	text, err := disk.ReadRegular(path, maxPrompt)
	if err != nil {
		return "", fmt.Errorf("cannot read the system prompt: %w", err)
	}
	return string(text), nil
}

// The engine's zero values are defaults; the configuration's are "off".

func limits(r *config.Resolved) settle.Limits {
	return settle.Limits{
		Steps: r.MaxSteps, Time: r.Timeout, Repeats: orOff(r.MaxRepeats), Tokens: int64(r.MaxTokens), Cost: r.MaxCost,
		Session: settle.SessionLimits{
			Steps: r.MaxSessionSteps, Time: r.MaxSessionTime,
			Tokens: int64(r.MaxSessionTokens), Cost: r.MaxSessionCost,
		},
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
	return model.Timeouts{
		Header: orOff(w.HeaderTimeout), Stall: orOff(w.StallTimeout),
		Thinking: orOff(w.ThinkingTimeout), Attempt: orOff(w.AttemptTimeout),
	}
}

func orOff[N int | time.Duration](n N) N {
	if n == 0 {
		return -1
	}
	return n
}
