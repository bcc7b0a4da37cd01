package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/internal/client/rewind"
	"github.com/settle-agent/settle/internal/client/store"
	"github.com/settle-agent/settle/internal/client/toolview"
	"github.com/settle-agent/settle/internal/client/transcript"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/journal"
	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/tool/mcp"
	"github.com/settle-agent/settle/tool/plan"
)

// sessionState is the client's session, with the options of its opening.
type sessionState struct {
	id        string
	session   *assemble.Opened
	failure   error        // why there is none
	childText bool         // forwardSubagentText
	window    atomic.Int64 // the model's window, in tokens; 0 if unknown
}

// open opens the session, if that was not tried yet: at the first prompt, or when the
// client has sent its initialization.
func (d *driver) open() error {
	if d.session == nil && d.failure == nil {
		d.failure = d.begin()
	}
	return d.failure
}

func (d *driver) begin() error {
	r, err := d.Sessions.Settings(d.Dir, d.settings(nil))
	if err != nil {
		return err
	}
	given := d.settings(r)
	if d.Mode == "auto" {
		d.warn("settle has no permission mode \"auto\"; \"default\" applies")
		d.Mode = modeDefault
	}
	d.policy.ceiling = r.Permission
	d.policy.protected = func(dir string) string {
		return assemble.Protected(r, d.Sessions.Base.Getenv, toolview.Absolute(d.Dir, dir))
	}
	d.rules()
	if err := d.policy.set(cmp.Or(d.Mode, modeFor(r.Permission))); err != nil {
		own := modeFor(r.Permission)
		if _, known := modes()[d.Mode]; !known || d.policy.set(own) != nil {
			return err
		}
		d.warn(err.Error() + fmt.Sprintf("; %q applies", own))
		d.Mode = own
	}
	if d.Mode == modeBypass {
		given["permission"] = string(settle.Allow) // the client said so, also for / and $HOME
	}
	if err := d.place(r); err != nil {
		return err
	}
	d.session, err = d.Sessions.Open(d.ctx, d.id, assemble.SessionSpec{Dir: d.Dir, Settings: given, Options: d.change})
	if err != nil {
		return err
	}
	for _, note := range d.session.Agent.Notes {
		d.say("note: %s", note)
	}
	d.warnOfDirectories(d.AddDirs)
	d.startFollowing()
	return nil
}

// addDirectories lets the file tools read more directories, and edit their files while the
// client accepts edits.
func (d *driver) addDirectories(dirs []string) {
	d.policy.dirs = append(d.policy.dirs, dirs...)
	d.policy.add()
	d.warnOfDirectories(dirs)
}

// warnOfDirectories warns the client of directories that it gets less of than it asked for
// (C22).
func (d *driver) warnOfDirectories(dirs []string) {
	for _, dir := range dirs {
		if why := d.policy.protected(dir); why != "" {
			d.warn(fmt.Sprintf(
				"the model can read the added directory %s, and each edit there needs an approval: it %s", dir, why,
			))
		}
	}
	if len(dirs) > 0 && d.session.Agent.Confines(d.policy.inForce.Mode()) {
		d.warn("sandboxed commands do not get the added directories: list them in sandbox.read or sandbox.write")
	}
}

// settings returns the client's values of settle's settings; without a configuration,
// without the model.
func (d *driver) settings(r *config.Resolved) map[string]string {
	given := map[string]string{}
	if d.MaxBudget != "" {
		given["max_cost"] = d.MaxBudget
	}
	if d.MaxTurns != "" {
		given["max_steps"] = d.MaxTurns
	}
	if d.Effort != "" {
		given["effort"] = d.Effort
	}
	if r != nil {
		for setting, name := range map[string]string{"model": d.Model, "fallback_model": d.Fallback} {
			if name = modelName(name, r.Providers); name != "" {
				given[setting] = name
			}
		}
	}
	return given
}

// rules brings the client's lists of tools into the policy.
func (d *driver) rules() {
	allowed, denied := rulesFor(settle.Allow, specs(d.Allowed...)), rulesFor(settle.Deny, specs(d.Disallowed...))
	scoped := func(r config.Rule) bool { return r.Pattern == "" && slices.Contains(denied.allTools, r.Tool) }
	d.policy.flagRules = slices.Concat(
		allowed.rules, slices.DeleteFunc(denied.rules, scoped),
	) // tools that are not offered need no rule
	d.policy.dirs = d.AddDirs
	if c := d.policy.ceiling; len(allowed.rules) > 0 && c.Strictness() > settle.Allow.Strictness() {
		d.warn(
			fmt.Sprintf(
				"the allowed tools were ignored: the user configured the permission %q, "+
					"and a client can only choose a stricter one",
				c,
			),
		)
	}
	if len(allowed.unknown) > 0 {
		d.say("warning: settle does not have these allowed tools: %s", strings.Join(allowed.unknown, ", "))
	}
}

// offers returns the function that decides which tools the model receives.
func (d *driver) offers() func(string) bool {
	denied := rulesFor(settle.Deny, specs(d.Disallowed...)).allTools
	var chosen []string
	for _, name := range specs(d.Tools...) {
		chosen = append(chosen, toolsNamed(name)...)
		if name == "Bash" {
			chosen = append(chosen, "job")
		}
	}
	return func(tool string) bool {
		if tool == plan.ProposeName { // offered in plan mode, if a person can accept the plan
			return d.Asks && !slices.Contains(denied, tool)
		}
		return !slices.Contains(denied, tool) && (d.Tools == nil || slices.Contains(chosen, tool))
	}
}

// offered are the tools that the model gets, by Claude's names: settle's own, then the servers'.
func (d *driver) offered() []string {
	list := []string{}
	own, err := d.session.ToolNames(d.ctx)
	if err != nil { // the session has ended
		return list
	}
	own = slices.DeleteFunc(own, func(name string) bool { return strings.Contains(name, mcp.Separator) })
	for _, name := range slices.Concat(own, d.session.Agent.ServerTools) {
		if name = aliasOf(name).claude; !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// change makes the agent as the client wants it.
func (d *driver) change(o *assemble.Options) {
	o.Offers = d.offers()
	o.Policy, o.Attended, o.Reviewed = d.policy.inForce, true, d.hooks.reviewed
	d.bring(o)
	o.Append = strings.TrimSpace(o.Append + "\n\n" + d.Append)
	if d.System != nil {
		o.System = d.System
	}
	if d.Ephemeral {
		o.Keeping = assemble.Ephemeral
	}
	if d.Mode == modeBypass {
		o.Release = settle.Allow
	}
}

// place finds the session that the client means.
func (d *driver) place(r *config.Resolved) error {
	if d.SessionID != "" && uuid.Validate(d.SessionID) != nil {
		return fmt.Errorf("cannot use %q as a session id: it must be a UUID", d.SessionID)
	}
	dataDir, err := r.NeedDataDir()
	if err != nil {
		if d.Ephemeral {
			return nil
		}
		return err
	}
	from := d.Resume
	if from == "" && d.Continue {
		if from, err = rewind.LastSession(d.ctx, dataDir, d.Dir); err != nil {
			return fmt.Errorf("no conversation found to continue: %w", err)
		}
	}
	id, err := store.Resolve(dataDir, from)
	if _, several := errors.AsType[*store.AmbiguousError](err); several {
		return fmt.Errorf("cannot resume: %w", err)
	}
	if err == nil {
		from = id
	}
	switch {
	case from == "" && d.SessionID != "" && exists(d.ctx, dataDir, d.SessionID):
		return fmt.Errorf("session ID %s is already in use; resume it, or omit --session-id", d.SessionID)
	case from == "":
		return nil
	case !exists(d.ctx, dataDir, from):
		return fmt.Errorf("no conversation found with session ID: %s", from)
	case d.Fork && exists(d.ctx, dataDir, d.id):
		return fmt.Errorf("session ID %s is already in use", d.id)
	case d.Fork:
		return store.Fork(d.ctx, dataDir, from, d.id)
	case d.SessionID != "" && d.SessionID != from:
		return errors.New("--session-id with --resume or --continue needs --fork-session")
	}
	d.id = from
	return nil
}

// exists reports whether there is a log of the session.
func exists(ctx context.Context, dataDir, session string) bool {
	for _, err := range journal.Read(ctx, dataDir, session, 0) {
		return err == nil
	}
	return false
}

// startFollowing starts a goroutine that sends the events of the session from now on.
func (d *driver) startFollowing() {
	t := &encoder{
		session: d.id,
		dir:     d.Dir,
		out:     d.out,
		partial: d.Partial,
		replays: d.Replay,
		states:  d.States,
		waiting: func() int { return max(0, d.prompts.Len()-1) },
		window:  &d.window,
		schema:  d.Schema != "",
		usage:   map[string]modelUsage{},
		log:     transcript.New(d.session.State(), transcript.Live),
	}
	t.below = newBelow(context.WithoutCancel(d.ctx), d.session.ChildEvents, d.panicked)
	t.below.full = d.childText
	key := "none"
	if d.session.Agent.Choice.Provider.KeyEnv == "ANTHROPIC_API_KEY" {
		key = "ANTHROPIC_API_KEY"
	}
	agents := agentsOf(d.session.Agent)
	head := map[string]any{
		"apiKeySource":        key,
		"claude_code_version": Imitated + "-settle",
		"cwd":                 d.Dir,
		"tools":               d.offered(),
		"slash_commands": slashCommands(
			d.session,
		),
		"output_style": "default",
		"skills":       skillNames(d.session.Agent),
		"plugins":      pluginsOf(d.session.Agent),
		"agents":       agentNames(agents),
		"capabilities": []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1"},
	}
	t.head = func(model string) notice {
		m := newNotice(t.session, "init", head)
		m["model"], m["permissionMode"], m["mcp_servers"] = model, d.policy.inForceMode(), d.serverStates()
		return m
	}
	held := 0
	for _, i := range t.log.State().Waiting {
		if i.Held {
			held++
		}
	}
	if held > 0 {
		d.warn(fmt.Sprintf("prompts without an answer from an earlier run: %d; they run with the next prompt", held))
	}
	d.window.Store(int64(d.session.Agent.Session.Model.Window))
	d.following = true
	go scope.Shield(
		d.panicked, func() { d.follow(t, t.log.State().Seq) },
	)() // ends when the session is closed; loop waits for it
}

// setModel has the next turns ask another model.
func (d *driver) setModel(name string) error {
	if d.session == nil {
		d.Model = name // it will be opened with it
		return nil
	}
	r, err := d.Sessions.Settings(d.Dir, d.settings(nil))
	if err == nil {
		err = d.Sessions.Choose(
			context.WithoutCancel(d.ctx), d.session, map[string]string{"model": modelName(name, r.Providers)},
		)
	}
	if err != nil {
		return err
	}
	d.Model = name
	d.window.Store(int64(d.session.Model().Window))
	return nil
}
