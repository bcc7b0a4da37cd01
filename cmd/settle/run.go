package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/attach"
	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/client/oneturn"
	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/frontend/run"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool/plan"
)

const runHelp = `Run one prompt and exit.

The prompt is the arguments. With no arguments, or with "-", settle reads it from
standard input. If there are both, standard input is context for the prompt; add
"-" to wait for end of input if it is slow to arrive.

On a terminal the answer streams to standard output. Standard error shows
progress: calls, the end of a running command's output, changes to files, and a
closing line. settle respects NO_COLOR and TERM=dumb. With --permission ask, it
asks there before anything changes. Elsewhere standard output gets only the final
answer, and standard error only errors. With --json, standard output gets one
event per line, and the last one says how the turn ended.

Exit codes:
  0    the turn completed
  1    it failed; the line of standard error that begins "settle: failed:" is the cause
  2    wrong usage or configuration, or the session could not be opened; no
       model was called
  3    it reached a limit (--max-steps, --max-repeats, --max-tokens, --max-cost, --max-session-…, --timeout)
  129  ended by SIGHUP, or because the parent process died
  130  interrupted by SIGINT (Ctrl-C); a second one skips the grace period
  131  ended by SIGQUIT (Ctrl-\)
  141  standard output was closed
  143  ended by SIGTERM

settle keeps the session; --last continues the last one of this directory. A
continued session keeps the model, the effort and the server that were named for
it last, by a flag or by a choice such as /model, unless you name another model.
It does not keep --permission and --sandbox: give them again.`

const runExamples = `  settle run "fix the failing test"
  git diff | settle run "review this"
  settle run --last "now write a test for it"
  settle run --json --timeout 10m - < task.md > events.jsonl
  settle run -m chat/my-model --base-url http://localhost:8000/v1 "hello"`

// runFlags are the flags of run that are not settings.
type runFlags struct {
	projectFlags
	dir           string
	json          string
	output        string
	session       string
	resume        string
	schema        string
	last          bool
	resumeCrashed bool
	plan          bool
	ephemeral     bool
	trajectory    string
	take          bool
	worktree      worktreeFlag
	detachFlags
	images         []string
	quiet, verbose bool
	// opened reports whether the session was opened.
	opened bool
	// held is the held call that is approved; nil for a prompt. work is the mode that a flag chooses for the
	// work on a held plan; empty for none.
	held *store.HeldCall
	// bare reports that standard input was an empty pipe beside the prompt.
	bare bool
	work string
	// review is the turn of a review; nil for another turn.
	review *reviewTurn
}

func newRun(s *streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:     "run [flags] [PROMPT… | -]",
		Short:   "Run one prompt and exit",
		Long:    runHelp,
		Example: runExamples,
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := f.run(cmd, s, args)
			if err == nil && code != stdio.CodeCompleted {
				return &exitError{code: code} // the command has printed the cause
			}
			return err
		},
	}
	settingFlags(cmd.Flags())
	f.define(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("session", "resume", "last", "ephemeral")
	cmd.MarkFlagsMutuallyExclusive("load-trajectory", "resume", "last", "ephemeral")
	cmd.MarkFlagsMutuallyExclusive("resume-crashed", "ephemeral")
	cmd.MarkFlagsMutuallyExclusive("resume-crashed", "load-trajectory")
	cmd.MarkFlagsMutuallyExclusive("resume-crashed", "image")
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
	cmd.MarkFlagsMutuallyExclusive("worktree", "resume", "last", "ephemeral")
	cmd.MarkFlagsMutuallyExclusive("worktree", "resume-crashed")
	f.exclude(cmd)
	return cmd
}

// settingFlags defines the flags that are settings; see [config.Settings].
func settingFlags(flags *pflag.FlagSet) {
	flags.StringP("model", "m", "", "use the model `PROVIDER/NAME`")
	flags.String("fallback-model", "", "use `PROVIDER/NAME` if the model is overloaded or out of retries")
	flags.String("base-url", "", "send requests to the provider's server at `URL`")
	flags.String("effort", "", "have the model think at `LEVEL`: none, minimal, low, medium, high, xhigh, max")
	flags.String("permission", "", "decide about calls that change something by `POLICY`: ask, review, allow or deny")
	flags.String("max-steps", "", "end the turn after `N` model responses; 0: no limit")
	flags.String("max-tokens", "", "end the turn after `N` tokens, input and output; 0: no limit")
	flags.String("max-cost", "", "end the turn when it has cost `USD` dollars; 0: no limit")
	flags.String(
		"max-session-steps",
		"",
		"end a turn when the session, with its child agents, has taken `N` model responses; 0: no limit",
	)
	flags.String("max-session-time", "", "end a turn when the session's turns have run for `DURATION`; 0: no limit")
	flags.String(
		"max-session-tokens",
		"",
		"end a turn when the session, with its child agents, has used `N` tokens; 0: no limit",
	)
	flags.String(
		"max-session-cost",
		"",
		"end a turn when the session, with its child agents, has cost `USD` dollars; 0: no limit",
	)
	flags.String("max-repeats", "", "end the turn at `N` identical calls with identical results; 0: off")
	flags.String(
		"compact",
		"",
		"shorten the history by `HOW` when the model's window is nearly full: auto, mechanical, off",
	)
	flags.String("timeout", "", "end the turn after `DURATION`, such as 90s or 10m; 0: no limit")
	flags.String("stall-timeout", "", "cut a response that makes no progress for `DURATION`; 0: off")
	flags.String("header-timeout", "", "cut a request whose response does not begin within `DURATION`")
	flags.String(
		"attempt-timeout",
		"",
		"cut a response that is not complete after `DURATION`, even if it makes progress; 0: off",
	)
	flags.String("thinking-timeout", "", "cut a response that shows no progress for `DURATION` while the model thinks")
	flags.String("retries", "", "retry a failed request `N` times; 0: never")
	flags.String("retry-for", "", "retry for `DURATION` while the provider is overloaded or unreachable")
	flags.String("tools", "", "offer the tools `NAMES`, separated by commas; empty: none")
	flags.String("tool-family", "", "name the tools as models of `FAMILY` know them: auto, settle, gpt, claude")
	flags.String(
		"mcp-import",
		"",
		"also use the MCP servers that are configured for `AGENTS`: claude,codex; empty: none",
	)
	flags.String("rules-import", "", "also use the permission rules of `AGENTS`: claude; empty: none")
	flags.String("pass-env", "", "let commands see the provider key variables `NAMES`, separated by commas")
	flags.String(
		"keep-env",
		"",
		"pass the variables `NAMES`, which have secrets, to commands also without a question, "+
			"separated by commas; \"*\" matches any characters",
	)
	flags.String(
		"executor",
		"",
		"run commands and work on files on another machine, through `COMMAND`: \"ssh host settle executor\"",
	)
	flags.String("executor-install", "", "copy settle to the other machine: never, or if it is `missing` there")
	flags.Lookup("executor-install").NoOptDefVal = config.InstallMissing
	flags.String(
		"executor-lease",
		"",
		"end commands on the other machine when it has not heard from settle for `DURATION`",
	)
	flags.String("run-hooks", "", "run `WHICH` hooks: all, own (your configuration and plugins) or off")
	flags.String("data-dir", "", "keep sessions and logs in `DIR`")
	flags.String("log-level", "", "write the log in the data directory at `LEVEL`: debug, info, warn, error")
	if flags.Lookup("sandbox") == nil { // the flag of "settle exec" has another meaning
		sandboxFlags(flags)
	}
}

// takeHelp is the help of --take, takeAllHelp for a command with several sessions.
const (
	takeHelp    = "take the session over from another process, which ends the turn that runs there"
	takeAllHelp = "take sessions over from other processes, which ends the turns that run there"
)

func (f *runFlags) define(flags *pflag.FlagSet) {
	flags.StringVarP(&f.dir, "cwd", "C", ".", "work in `DIR`")
	f.defineOutput(flags)
	flags.StringVar(
		&f.schema,
		"output-schema",
		"",
		"ask for an answer that follows the JSON Schema in `FILE`, and check it",
	)
	flags.StringVar(&f.session, "session", "", "continue the session `ID`, or create it")
	flags.StringVar(&f.resume, "resume", "", "continue the session `ID`, or the unique prefix of a UUID; it must exist")
	flags.BoolVar(&f.last, "last", false, "continue the last session of this directory")
	flags.BoolVar(
		&f.resumeCrashed, "resume-crashed", false,
		"continue, without a prompt, what the end of settle's process cut; alone: in this directory's last session",
	)
	flags.StringVar(
		&f.trajectory,
		"load-trajectory",
		"",
		"begin with what happened in `FILE`: a trajectory of any agent (ATIF), or an exported session",
	)
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "do not keep the session")
	flags.BoolVar(&f.take, "take", false, takeHelp)
	flags.BoolVar(&f.plan, "plan", false, planUsage)
	flags.Lookup("permission").Usage = modesUsage
	f.worktree.define(flags)
	f.detachFlags.define(flags)
	flags.StringArrayVarP(&f.images, "image", "i", nil, "attach the image or PDF in `FILE`; repeatable")
	f.projectFlags.define(flags)
}

// defineOutput defines the flags that say how a turn is shown.
func (f *runFlags) defineOutput(flags *pflag.FlagSet) {
	flags.StringVar(&f.json, "json", "", "print one event per line; with `deltas`, also text deltas")
	flags.Lookup("json").NoOptDefVal = "events"
	flags.StringVarP(&f.output, "output-last-message", "o", "", "also write the final answer to `FILE`")
	flags.BoolVarP(
		&f.quiet, "quiet", "q", false, "print only errors to standard error, and questions that nobody could be asked",
	)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print progress to standard error even if it is not a terminal")
}

// sandboxFlags defines the flags of the sandbox.
func sandboxFlags(flags *pflag.FlagSet) {
	flags.String("sandbox", "", "confine commands `WHEN` this says: off, auto (where the system can), required")
	flags.String("sandbox-mode", "", "confine commands in `MODE`: read-only, workspace")
	flags.String(
		"sandbox-network",
		"",
		"give confined commands `NETWORK`: off, proxy (the hosts that you allow), on",
	)
	flags.String(
		"sandbox-allow-hosts",
		"",
		"let confined commands reach `HOSTS` through the proxy, "+
			"separated by commas: example.com,*.example.org,example.net:8080",
	)
	for name, key := range map[string]string{"sandbox": "sandbox.use", "sandbox-mode": "sandbox.mode", "sandbox-network": "sandbox.network", "sandbox-allow-hosts": "sandbox.allow_hosts"} {
		_ = flags.SetAnnotation(name, settingKey, []string{key}) // the flag exists
	}
}

// settingKey annotates a flag whose setting has another name.
const settingKey = "setting"

// modesUsage describes the flag --permission of commands that can begin in each mode.
const modesUsage = "decide about calls that change something by `MODE`: " +
	"ask, accept-edits, review, read-only, plan or allow"

// planUsage describes the flag --plan.
const planUsage = "begin in plan mode: the model only reads, and presents a plan"

// plans reports whether the flags begin plan mode: --plan or --permission plan.
func plans(flags *pflag.FlagSet) bool {
	on, _ := flags.GetBool("plan") // false without the flag
	return on || flags.Lookup("plan") != nil && flags.Lookup("permission").Value.String() == assemble.PlanMode().Name
}

// given returns the settings that were given as flags.
func given(flags *pflag.FlagSet) map[string]string {
	all := map[string]string{}
	settings := pflag.NewFlagSet("", pflag.ContinueOnError)
	settingFlags(settings)
	flags.Visit(func(f *pflag.Flag) {
		switch key := f.Annotations[settingKey]; {
		case len(key) == 1:
			all[key[0]] = f.Value.String()
		case settings.Lookup(f.Name) != nil && settings.Lookup(f.Name).Annotations == nil:
			all[strings.ReplaceAll(f.Name, "-", "_")] = f.Value.String()
		}
	})
	if plans(flags) && all["permission"] == assemble.PlanMode().Name {
		delete(all, "permission") // it is a mode, and the permission of the work is another one
	}
	return all
}

// runPlace is the place of a run: the directory with its settings, and the session.
type runPlace struct {
	dir      string
	settings func(given map[string]string) (*config.Resolved, error)
	flags    map[string]string // given settings
	resolved *config.Resolved
	session  string          // to continue or to create; "" for a new one
	worktree *event.Worktree // of the session to continue
}

// place resolves the settings and finds the session. A session in a git worktree has the
// settings of the directory for which the worktree was made.
func (f *runFlags) place(cmd *cobra.Command, s *streams) (p runPlace, err error) {
	if p.dir, err = directory(f.dir); err != nil {
		return p, err
	}
	p.settings = func(given map[string]string) (*config.Resolved, error) {
		return s.settings(p.dir, given, f.project())
	}
	p.flags = f.heldFlags(given(cmd.Flags()))
	if p.resolved, err = p.settings(p.flags); err != nil {
		return p, err
	}
	if p.session, err = f.continued(cmd.Context(), p.resolved, p.dir); err != nil {
		return p, err
	}
	if p.worktree, err = f.worktree.recorded(cmd, p.resolved.DataDir, &p.session); err != nil {
		return p, err
	}
	if p.worktree != nil && p.worktree.From != p.dir {
		p.dir = p.worktree.From
		if p.resolved, err = p.settings(p.flags); err != nil {
			return p, err
		}
	}
	if !f.ephemeral {
		p.resolved, p.flags, err = p.resolved.Continue(p.session, p.flags, p.settings)
	}
	return p, err
}

// build builds the run's agent, in the session's git worktree if it has one.
func (f *runFlags) build(ctx context.Context, s *streams, p runPlace, format run.Format) (*assemble.Agent, error) {
	o := f.agent(s, p.resolved, p.dir, format)
	o.Shared, o.Given = &assemble.Shared{}, p.flags
	o.Resolve = func(dir string, given map[string]string) (*config.Resolved, error) {
		return s.settings(dir, given, f.project())
	}
	return o.NewInWorktree(ctx, p.session, p.worktree, f.worktree.name())
}

// run prepares and runs a turn. An error means that settle called no model.
func (f *runFlags) run(cmd *cobra.Command, s *streams, args []string) (int, error) {
	if f.host != "" {
		return f.runHost(cmd, s)
	}
	s.collectLate()
	if err := named(cmd.Flags()); err != nil {
		return 0, err
	}
	if err := separated(cmd, os.Args[1:], args); err != nil {
		return 0, err
	}
	if f.detach {
		return 0, f.detached(cmd, s, args)
	}
	format, err := f.format(s)
	if err != nil {
		return 0, err
	}
	f.plan = plans(cmd.Flags())
	p, err := f.place(cmd, s)
	if err != nil {
		return 0, err
	}
	if err := f.check(s, p.resolved, p.dir, format); err != nil {
		return 0, err
	}
	sig := catch(cmd.Context())
	defer sig.release()
	defer sig.watchParent()()
	text, err := f.prompt(sig.ctx, s, args, p)
	if err != nil {
		return 0, sig.instead(usage(cmd, err))
	}
	if stop, err := proc.BecomeReaper(); err == nil {
		defer stop()
	}
	a, err := f.build(sig.ctx, s, p, format)
	if err != nil {
		return 0, sig.instead(err)
	}
	defer f.leaveUnopened(a)
	options, err := f.options(s, a, p.resolved, p.session)
	if err != nil {
		return 0, err
	}
	if options.Config = a.Session; f.bare {
		options.Notes = append(options.Notes, "standard input was empty, so the model receives only the prompt")
	}
	if options.Expand = expansion(a); f.resumeCrashed {
		options.Expand, options.Continue = nil, oneturn.Unfinished
	}
	options.Prompt, options.Format, options.Stops = text, format, sig.stops
	options.StatusTerminal = s.statusTerminal()
	if f.held != nil {
		options.HeldCall = &event.HeldVerdict{Call: f.held.ID, Verdict: event.Approved, Permission: f.work}
	}
	if f.asks(s, format) {
		options.Answers, options.Forget = s.stdin, func() { discardInput(s.stdin) }
	}
	if options.Host, err = s.telemetry.Open(cmd.Context(), a.Host); err != nil {
		return 0, err
	}
	return run.Turn(cmd.Context(), options), nil
}

// leaveUnopened leaves the git worktree of a session that was not opened. An open session
// leaves its worktree itself.
func (f *runFlags) leaveUnopened(a *assemble.Agent) {
	if a.Session.Worktree != nil && !f.opened {
		a.Session.Worktree.Leave(context.Background())
	}
}

// prompt returns the prompt; with --resume-crashed or for a held call, there is none.
func (f *runFlags) prompt(ctx context.Context, s *streams, args []string, p runPlace) (string, error) {
	switch {
	case f.review != nil:
		return f.review.request(ctx, s, p)
	case f.held != nil:
		return "", nil
	case !f.resumeCrashed:
		text, bare, err := oneturn.Prompt(ctx, args, s.stdin, isTerminal(s.stdin))
		f.bare = bare
		return text, err
	case len(args) > 0:
		return "", &oneturn.UsageError{Message: "--resume-crashed and a prompt: give one of them"}
	}
	return "", nil
}

// named refuses an empty value. It comes from an unset variable of the shell, and must
// not start a new session or drop the output.
func named(flags *pflag.FlagSet) error {
	for _, name := range []string{"session", "resume", "load-trajectory", "output-last-message", "output-schema", "json"} {
		if flags.Lookup(name) != nil && flags.Changed(name) && flags.Lookup(name).Value.String() == "" {
			return fmt.Errorf("--%s: it is empty; give a value or leave the flag out", name)
		}
	}
	return nil
}

func (f *runFlags) format(s *streams) (run.Format, error) {
	switch f.json {
	case "":
		if isTerminal(s.stdout) {
			return run.Terminal, nil
		}
		return run.Plain, nil
	case "events":
		return run.JSON, nil
	case "deltas":
		return run.JSONDeltas, nil
	}
	return "", fmt.Errorf("--json=%s: use --json or --json=deltas", f.json)
}

// usage adds the usage line to the error of a wrong call.
func usage(cmd *cobra.Command, err error) error {
	var mistake *oneturn.UsageError
	if errors.As(err, &mistake) {
		return fmt.Errorf("%w\n%s\nsee %q", err, cmd.UseLine(), cmd.CommandPath()+" --help")
	}
	return err
}

// check refuses settings that a run cannot fulfil.
func (f *runFlags) check(s *streams, r *config.Resolved, dir string, format run.Format) error {
	named := isPermissionFlag(r)
	if named && r.Permission == settle.Ask && r.Mode == "" && !f.asks(s, format) {
		return errors.New(
			"--permission ask: no person can be asked: standard input, output and error must be a terminal, without --json or --quiet; use allow or deny",
		)
	}
	return cmp.Or(f.checkHeld(s, r, format), assemble.CheckDirectory(dir, r, s.getenv))
}

// asks reports whether a person at the terminal can answer questions.
func (f *runFlags) asks(s *streams, format run.Format) bool {
	return format == run.Terminal && !f.quiet && s.person()
}

// agent returns the options of the agent.
func (f *runFlags) agent(s *streams, r *config.Resolved, dir string, format run.Format) assemble.Options {
	o := s.options(r, dir)
	o.HostOptions = assemble.HostOptions{
		Frontend: "run", Take: f.take, Releasable: true, Attach: attach.Serve, AtEnd: settle.AwaitTasks,
	}
	o.PermissionOptions = assemble.PermissionOptions{
		Permission: settle.Allow, Release: "allow", Attended: f.asks(s, format),
	}
	plans := f.plan
	if f.held != nil {
		plans = f.restrictHeld(&o, r) || plans
	}
	if f.review != nil {
		f.review.agent(&o)
	}
	if o.Settings.Mode != "" && f.held == nil && f.review == nil {
		o.Policy = assemble.NewPolicy(assemble.Begins(o.Settings.Settings, settle.Allow))
	}
	if plans {
		work, ceiling := assemble.ModeOf(cmp.Or(o.Settings.Permission, settle.Ask)), o.Settings.Permission
		if f.held != nil {
			work, ceiling = f.heldWork(o.Settings)
		}
		o.Policy = assemble.NewPlanPolicy(work)
		o.Ceiling = ceiling // neither plan mode nor the work is looser
	}
	f.apply(&o)
	if f.ephemeral {
		o.Keeping = assemble.Ephemeral
	} else {
		o.Logger = assemble.Log(r)
	}
	return o
}

// expansion returns the function that expands an agent's commands in a session.
func expansion(a *assemble.Agent) func(*settle.Session) func(context.Context, string) (string, []event.Image, error) {
	return func(session *settle.Session) func(context.Context, string) (string, []event.Image, error) {
		return commands.Expansion{Source: (&assemble.Opened{Session: session, Agent: a}).Commands()}.Expand
	}
}

// options returns the output options of the run.
func (f *runFlags) options(s *streams, a *assemble.Agent, r *config.Resolved, session string) (run.Options, error) {
	o := run.Options{Notes: a.Notes, Missing: a.MissingInstructions(), Options: oneturn.Options{
		Session: session, Stdout: s.stdout, Stderr: s.stderr, Mask: a.Redact.Diagnostic, Exit: os.Exit,
	}}
	switch {
	case f.quiet:
		o.Volume = run.Quiet
	case f.verbose:
		o.Volume = run.Verbose
	}
	for _, path := range f.images {
		if err := o.Add(path); err != nil {
			return o, err
		}
	}
	if f.schema != "" {
		if err := f.conform(&o); err != nil {
			return o, err
		}
	}
	if f.output != "" {
		keep, err := oneturn.AnswerFile(f.output)
		if err != nil {
			return o, err
		}
		o.Answer = keep
	}
	if f.review != nil {
		if err := f.review.options(&o); err != nil {
			return o, err
		}
	}
	if f.ephemeral {
		return o, nil
	}
	if f.plan && !a.Session.Attended && !f.quiet {
		o.Planned = func(session string) string {
			return fmt.Sprintf("settle run --resume %s --permission allow \"Carry out the plan\"", session)
		}
	}
	o.Resume = f.resumeCommand(r)
	o.Opened = func(session *settle.Session) {
		f.opened = true
		if err := a.KeepStarted(session.ID()); err != nil {
			s.say(err)
		}
	}
	if f.trajectory != "" {
		id, err := importSession(context.Background(), r.DataDir, f.trajectory, f.session, a.Session.WorkDir)
		if err != nil {
			return o, err
		}
		o.Session, o.Imported = id, true
	}
	return o, nil
}

// resumeCommand returns the function that names the command which continues the session. The session
// does not keep the permission and the sandbox of a flag or of a held call, and without them "settle run"
// allows more.
func (f *runFlags) resumeCommand(r *config.Resolved) func(session string) string {
	flags := ""
	switch {
	case f.held != nil && f.held.Approval.Tool == plan.ProposeName:
		work, _ := f.heldWork(r)
		flags = " --permission " + string(work.Permission)
	case f.plan, f.held != nil && f.heldPlans(r):
		flags = " --plan"
	case isPermissionFlag(r):
		flags = " --permission " + cmp.Or(r.Mode, string(r.Permission))
	case f.held != nil:
		flags = " --permission " + string(cmp.Or(r.Permission.Stricter(f.heldPermission()), settle.Ask))
	case f.review != nil:
		flags = " --permission " + string(settle.Deny)
	}
	for _, flag := range []struct{ name, key, value string }{
		{"sandbox", "sandbox.use", r.Sandbox.Use},
		{"sandbox-mode", "sandbox.mode", string(r.Sandbox.Mode)},
		{"sandbox-network", "sandbox.network", r.Sandbox.Network},
	} {
		if r.Origins[flag.key].Kind == config.Flag {
			flags += " --" + flag.name + " " + flag.value
		}
	}
	if f.held != nil && f.held.Sandboxed && r.Sandbox.Use == "" {
		flags += " --sandbox " + config.SandboxAuto
	}
	return func(session string) string { return fmt.Sprintf("settle run --resume %s%s PROMPT", session, flags) }
}

// continued returns the id of the session to continue; "" for a new one.
func (f *runFlags) continued(ctx context.Context, r *config.Resolved, dir string) (string, error) {
	if f.host != "" { // the command has found the session, or named it
		return f.host, nil
	}
	if f.resume == "" && !f.last && (f.session != "" || !f.resumeCrashed) {
		return f.session, nil
	}
	dataDir, err := r.NeedDataDir()
	if err != nil {
		return "", err
	}
	if f.resume == "" {
		return rewind.LastSession(ctx, dataDir, dir)
	}
	return store.Resolve(dataDir, f.resume)
}

// conform requires that the answer follows the schema.
func (f *runFlags) conform(o *run.Options) (err error) {
	if o.Schema, err = readSchema(f.schema); err != nil {
		return err
	}
	o.Check, err = oneturn.Conform(o.Schema, "--output-schema")
	return err
}
