package assemble

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/policy"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/tool/file"
	"github.com/settle-agent/settle/tool/lsp"
)

// languageServers configure the language servers of sessions.
type languageServers struct {
	config.LSP
	mode    func() Mode
	path    string // PATH of settle
	version string
}

func (o *Options) languageServers() languageServers {
	return languageServers{
		LSP: o.Settings.LSP, mode: func() Mode { return o.mode(o.permission()) }, path: o.Getenv("PATH"),
		version: o.Version,
	}
}

// openLanguages prepares the installed language servers, and reports whether the model is offered
// the tool that asks them: the directory is a project of one, and one can start in the mode in force.
// Language servers run on this machine only.
func (t *sessionTools) openLanguages() (offersCode bool) {
	if t.lsp.Use == config.LSPOff || t.remote != nil {
		return false
	}
	installed := lsp.Installed(t.lsp.Servers, func(program string) (string, error) {
		return proc.FindProgram(program, t.lsp.path)
	})
	dir, err := filepath.EvalSymlinks(t.info.WorkDir)
	if len(installed) == 0 || err != nil {
		return false
	}
	t.languages = lsp.Open(lsp.Config{
		Dir: dir, Env: t.withoutSecrets, Marker: t.info.Marker, Lock: t.info.Lock, Languages: installed,
		Timeout: t.lsp.Timeout, Version: t.lsp.version, Logger: t.logger,
	}.Under(t.languageRules))
	_, why := t.languageSandbox() // a later mode can differ, but a session keeps its tools (C21)
	return why == nil && slices.ContainsFunc(installed, func(l lsp.Language) bool { return l.ServesProject(dir) })
}

// withoutSecrets returns the environment of commands that run without an approval.
func (t *sessionTools) withoutSecrets() []string {
	return slices.DeleteFunc(slices.Clone(t.env), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return t.secret(name, value)
	})
}

// newErrors returns the function that checks changed files; nil for none.
func (t *sessionTools) newErrors() func(context.Context, []file.Edited) string {
	if t.languages == nil || t.lsp.Timeout <= 0 {
		return nil
	}
	return func(ctx context.Context, files []file.Edited) string {
		edits := make([]lsp.Edit, len(files))
		for n, f := range files {
			edits[n] = lsp.Edit{Path: f.Real, Before: f.Before, After: f.After}
		}
		return t.languages.Check(ctx, edits)
	}
}

// languageRules returns how a language server can start in the mode in force, or why it
// cannot. Servers can run code of the project (build scripts, plugins), so without a sandbox
// one runs only if every call is allowed, or if the user says so. The read-only mode promises that
// only tools run that change nothing, so that one runs only if the user says so, in a sandbox.
func (t *sessionTools) languageRules() (lsp.Launch, error) {
	in, why := t.languageSandbox()
	if why != nil {
		return lsp.Launch{}, why
	}
	start := func(ctx context.Context, spec proc.Spec) (*proc.Process, error) {
		return t.startLanguage(ctx, in, spec)
	}
	return lsp.NewLaunch(start, func() bool { // a sandbox that is stricter than the present one can remain
		now, why := t.languageSandbox()
		remains := why == nil || in.On() && errors.Is(why, errNoLanguageSandbox)
		return remains && policy.Stricter(in, now) == in
	}), nil
}

// The reasons why no language server starts.
var (
	errNoLanguageSandbox = errors.New("not started: it can run code of the project, and no sandbox is in force " +
		"(lsp.use = \"on\" starts it)")
	errLanguagesReadOnly = errors.New("not started: it can run code of the project, and the mode is read-only " +
		"(lsp.use = \"on\" starts it in a sandbox)")
)

// languageSandbox returns the sandbox in force, and why no language server can start in it; nil
// if one can.
func (t *sessionTools) languageSandbox() (in event.Sandbox, why error) {
	mode, on := t.lsp.mode(), t.lsp.Use == config.LSPOn
	in = policy.Stricter(t.sandbox.of(mode), event.NoSandbox)
	switch {
	case readsOnly(mode) && (!on || !in.On()):
		return in, errLanguagesReadOnly
	case readsOnly(mode):
		return event.ReadOnly, nil
	case in.On() || on || mode.Permission == settle.Allow:
		return in, nil
	}
	return in, errNoLanguageSandbox
}

// startLanguage starts a language server in a sandbox.
func (t *sessionTools) startLanguage(ctx context.Context, in event.Sandbox, spec proc.Spec) (*proc.Process, error) {
	if in.On() {
		hosts, _ := egress.ParseList(t.sandbox.Hosts) // validated with the configuration
		machine := &executor.Local{Hosts: hosts}
		machine.Sandbox = func(c executor.Confined) (sandbox.Policy, []string, error) {
			return t.commands.languagePolicy(c, spec.Argv[0])
		}
		return machine.StartProgram(ctx, in, spec)
	}
	spec.Env = proc.TrustedEnv(spec.Env)
	return proc.Start(ctx, spec)
}

// languagePolicy is the sandbox of language servers: the sandbox of commands that change
// the directory, but without changing it. So no server can leave anything in a repository.
// Where a command could change nothing, a server has no network.
func (b *sandboxes) languagePolicy(c executor.Confined, program string) (sandbox.Policy, []string, error) {
	readOnly := c.Sandbox == event.ReadOnly
	c.Sandbox = event.Workspace
	if b.found().viewless == nil {
		c.Secrets = event.SecretsWithheld
	}
	p, env, err := b.policy(c)
	if err != nil {
		return p, env, err
	}
	private, err := b.own()
	if err != nil {
		return p, env, err
	}
	own := []string{filepath.Join(private, "tmp"), b.cache(private)}
	p.Read = slices.Concat(p.Read, p.Write, programFiles(program))
	p.Write, p.Pinned, p.Protect = own, own, nil
	if readOnly {
		p.Network = sandbox.NetworkOf("off")
	}
	return p, env, nil
}

// programFiles returns the folder with the files of a program behind a link, such as the
// node_modules of npm install -g.
func programFiles(program string) []string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil || real == program {
		return nil
	}
	const modules = string(filepath.Separator) + "node_modules" + string(filepath.Separator)
	if before, _, found := strings.Cut(real, modules); found {
		return []string{before + strings.TrimSuffix(modules, string(filepath.Separator))}
	}
	return []string{filepath.Dir(real)}
}
