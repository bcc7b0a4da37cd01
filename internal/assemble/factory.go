package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/disk/changes"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/ask"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/lsp"
	"github.com/settle-agent/settle/tool/mcp"
	"github.com/settle-agent/settle/tool/plan"
	"github.com/settle-agent/settle/tool/search"
	"github.com/settle-agent/settle/tool/shell"
	"github.com/settle-agent/settle/tool/skill"
	"github.com/settle-agent/settle/tool/task"
)

// toolFactory makes the tools of sessions.
type toolFactory struct {
	selection toolSelection
	*confinement
	servers *serverSet
	ending  jobRules
	web     webTools
	lsp     languageServers
	rewind  config.Rewind
	editor  *file.Editor           // nil for none
	private func(path string) bool // files whose lines no search of a folder returns; may be nil
	newPlan func() *planning       // returns nil for none
	asks    func() bool            // as in [shell.Config]
	logger  *slog.Logger           // may be nil
}

// jobRules decide what happens to jobs. All values are validated by the configuration.
type jobRules struct {
	release     settle.Permission // whether the model can release a process
	onExit      string            // at the end of the session
	onInterrupt string
}

// webTools configure the tools that read and search the web.
type webTools struct {
	version  string   // of this program
	private  []string // private addresses that fetches can reach
	searcher []string // the command that searches; nil for the model's provider
}

// toolFactory returns the factory for the selected tools.
func (o *Options) toolFactory(selection toolSelection, c *confinement, servers *serverSet,
	logger *slog.Logger,
) *toolFactory {
	r := o.Settings
	b := &toolFactory{
		selection: selection, confinement: c, servers: servers,
		ending: jobRules{o.release(), r.Jobs.OnExit, r.Jobs.OnInterrupt},
		web:    webTools{cmp.Or(o.Version, "unknown"), r.Web.Private, o.searcher()},
		lsp:    o.languageServers(), rewind: r.Rewind,
		editor: o.Editor, logger: logger, newPlan: o.planning, asks: o.asks,
	}
	if o.Policy != nil || o.permission() != settle.Allow {
		b.private = c.files.Secret
	}
	return b
}

// toolbox makes the tools of one session.
func (b *toolFactory) toolbox(info settle.SessionInfo) (settle.Toolbox, error) {
	t := &sessionTools{toolFactory: b, info: info, notices: &notices{logger: b.logger}, plans: b.newPlan()}
	t.spool, t.discardSpool = spool(info.OutputDir)
	t.workDir, _ = disk.HoldWorkDir(info.WorkDir) // one that cannot be opened: tools report it
	t.changes = b.recorder(info, t.workDir)
	t.commands = newSandboxes(b.sandbox, b.confinement, info.Marker)
	t.programs = t.commands
	if b.remote != nil { // servers run on this machine
		t.programs = newSandboxes(b.confinement.servers, b.confinement, info.Marker)
	}
	b.sessions.Store(info.Marker, t.programs)
	tools, err := t.make()
	if err != nil {
		b.sessions.Delete(info.Marker)
		defer t.workDir.Close()
		return settle.Toolbox{}, errors.Join(
			err, t.changes.Close(context.Background()), t.languages.Close(context.Background()), t.disconnect(context.Background()), t.discardSpool(),
		)
	}
	kit := settle.Toolbox{
		Reminder: t.plans.reminder(),
		Tools:    tools, Close: t.close, Kill: t.jobs.Kill,
		Sweep: func(released []string) []int { return shell.Sweep(info.Marker, released) },
	}
	if t.connection != nil && b.remote.shared != nil {
		kit.Reattach = b.remote.shared.reattach(t.connection, t.jobs)
	}
	if b.ending.onInterrupt == "end" {
		// the end of each job names its survivors
		kit.Interrupted = func(ctx context.Context) { _, _ = t.jobs.KillAll(ctx) }
	}
	return kit, nil
}

// sessionTools are the tools of one session, and everything that ends with them.
type sessionTools struct {
	*toolFactory
	info         settle.SessionInfo
	notices      *notices
	spool        string // directory for long outputs; empty for none
	discardSpool func() error
	workDir      *disk.WorkDir
	changes      *changes.Recorder // nil for none
	commands     *sandboxes        // of commands
	programs     *sandboxes        // of MCP servers; the same as commands if both run on this machine
	connection   *executor.Remote
	leave        func(context.Context) error // ends the connection; nil without one
	jobs         *shell.Jobs
	plans        *planning    // nil for none
	open         *mcp.Servers // nil for none
	languages    *lsp.Servers // nil for none
}

// make makes the tools in the order of the selection; the tools of MCP servers follow.
func (t *sessionTools) make() ([]tool.Tool, error) {
	offersCode := t.openLanguages()
	local, err := t.executorTools()
	if err != nil {
		return nil, err
	}
	set, err := tool.NewSet(append(
		local, t.web.fetch(), t.search(t.info), plan.New(), ask.New(), skill.New(t.skills.load),
	)...)
	if err != nil {
		return nil, err
	}
	var tools []tool.Tool
	for _, name := range t.selection.names {
		if name == task.Name { // the session makes this tool itself
			continue
		}
		if name == lsp.Name {
			if offersCode {
				tools = append(tools, t.languages.Tool())
			}
			continue
		}
		one, ok := set.Lookup(name)
		if !ok {
			return nil, fmt.Errorf("there is no tool %q", name)
		}
		tools = append(tools, one)
	}
	if t.plans != nil {
		tools = append(tools, plan.Propose(t.plans))
	}
	if t.open = t.servers.open(t); t.open != nil {
		tools = append(tools, recorded(t.changes, false, t.open.Tools()...)...)
	}
	return tools, nil
}

// executorTools are the tools of commands and files, on this machine or on the executor's.
func (t *sessionTools) executorTools() ([]tool.Tool, error) {
	info, s := t.info, t.sandbox
	sandboxed := s.Use != config.SandboxOff && s.missing == nil
	commands := shell.Config{
		Env: t.env, Withheld: t.withheld, SpoolDir: t.spool, Marker: info.Marker, Lock: info.Lock,
		Mask: masker(info), Registry: info.Jobs, Release: t.mayRelease,
		Sandbox: t.commands.sandbox, Secret: t.secret, Hosts: s.Hosts,
		Inspect: s.Network == "proxy" || s.viewless != nil,
		Outside: sandboxed && !s.unasked, Unasked: sandboxed && s.unasked, Asks: t.asks,
	}
	commands = commands.Guarding(t.commands.repositories)
	if t.remote == nil {
		commands = commands.In(t.workDir)
		t.jobs = shell.NewJobs(commands)
		return append(recorded(t.changes, false, t.jobs.Tools()...), recorded(t.changes, true, fileTools(
			kept(info.OutputDir, file.Config{
				Masked: info.Masked, Editor: t.editor, Checked: t.newErrors(),
			}).In(t.workDir),
			search.Config{Private: t.private}.In(t.workDir),
		)...)...), nil
	}
	var err error
	if t.connection, t.leave, err = t.remote.open(info, t.notices); err != nil {
		return nil, err
	}
	commands = commands.On(t.connection)
	commands.EndTimeout, commands.Release = remoteEndTimeout, t.remote.refuseRelease
	t.jobs = shell.NewJobs(commands)
	return append(t.remote.commands(t.jobs.Tools(), t.notices),
		t.remote.files(t.connection, info, t.notices, t.private != nil)...), nil
}

// close ends the session's processes and servers, and removes its private files.
func (t *sessionTools) close(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { // ends within a deadline; the receive below waits for it
		ended <- errors.Join(t.open.Close(ctx), t.languages.Close(ctx))
	}()
	t.servers.roster.left(t.info.ID)
	t.sessions.Delete(t.info.Marker)
	defer t.workDir.Close()
	err := errors.Join(t.endJobs(ctx), <-ended, t.disconnect(ctx), t.changes.Close(ctx), t.commands.discard())
	if t.programs != t.commands {
		err = errors.Join(err, t.programs.discard())
	}
	return errors.Join(err, t.discardSpool())
}

// disconnect ends the connection to the executor, if there is one.
func (t *sessionTools) disconnect(ctx context.Context) error {
	if t.leave == nil {
		return nil
	}
	return t.leave(ctx)
}

// endJobs ends the session's processes; the error names each process that did not end.
func (t *sessionTools) endJobs(ctx context.Context) error {
	if t.ending.onExit == "release" {
		for _, job := range t.jobs.List() {
			if job.How == "" {
				_, _ = t.jobs.Release(ctx, job.ID) // Close below ends a job that Release refuses
			}
		}
	}
	left, err := t.jobs.Close(ctx)
	for _, p := range left {
		err = errors.Join(err, fmt.Errorf("cannot end process %d (%s): %s", p.PID, p.Command, p.Why))
	}
	return err
}

// mayRelease refuses the release of a process if the policy forbids it. If the policy
// asks, a person approved the call before it started.
func (b *toolFactory) mayRelease(_ context.Context, _ string) error {
	if b.ending.release != settle.Deny {
		return nil
	}
	return errors.New("cannot release the process: the setting jobs.release is deny")
}
