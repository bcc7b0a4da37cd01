package assemble

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
	"github.com/settle-agent/settle/tool/lsp"
)

// A language server reads the directory and the folders of sandbox.write, and changes only
// its own.
func TestLanguageServersCannotChangeTheDirectory(t *testing.T) {
	extra := t.TempDir()
	a := make1(t, resolve(t, "/", map[string]string{
		"model": "chat/m", "base_url": "http://127.0.0.1:1/v1", "sandbox.use": "auto", "sandbox.write": extra,
		"sandbox.network": "on",
	}, nil, ""), nil)
	sandboxes := newSandboxes(a.confined.sandbox, a.confined, "mark")
	defer func() {
		if err := sandboxes.discard(); err != nil {
			t.Error(err)
		}
	}()
	for _, kind := range []event.Sandbox{event.Workspace, event.ReadOnly} {
		p, _, err := sandboxes.languagePolicy(executor.Confined{Sandbox: kind, Dir: sandboxes.dir}, "/bin/gopls")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range p.Write {
			if disk.Within(sandboxes.dir, path) || disk.Within(extra, path) || disk.Within(path, sandboxes.dir) {
				t.Errorf("%s: it can change %s", kind, path)
			}
		}
		for _, path := range []string{sandboxes.dir, extra} {
			if !slices.Contains(p.Read, path) {
				t.Errorf("%s: it cannot read %s, but %q", kind, path, p.Read)
			}
		}
		if got, want := p.Network, sandbox.NetworkOf(map[event.Sandbox]string{
			event.Workspace: "on", event.ReadOnly: "off",
		}[kind]); got != want {
			t.Errorf("%s: the network is %v, want %v", kind, got, want)
		}
	}
}

// The settings name the servers that package tool/lsp knows.
func TestLanguageServersAreSettings(t *testing.T) {
	if got, want := config.LanguageServers(), lsp.Names(); !slices.Equal(got, want) {
		t.Errorf("the settings name %q, want %q", got, want)
	}
}

// languageTools returns the tools of a session in a mode, with a sandbox only where the mode
// has one.
func languageTools(use string, mode *Mode, sandboxes string) sessionTools {
	return sessionTools{toolFactory: &toolFactory{
		confinement: &confinement{sandbox: sandboxing{Sandbox: config.Sandbox{Use: sandboxes}, byMode: true}},
		lsp:         languageServers{LSP: config.LSP{Use: use}, mode: func() Mode { return *mode }},
	}}
}

// Without a sandbox, a language server starts only if every call is allowed, or if the user
// says so: it can run code of the project.
func TestLanguageServersNeedSandbox(t *testing.T) {
	for _, tt := range []struct {
		use        string
		permission settle.Permission
		starts     bool
	}{
		{config.LSPAuto, settle.Ask, false},
		{config.LSPAuto, settle.Deny, false},
		{config.LSPAuto, settle.Allow, true},
		{config.LSPOn, settle.Ask, true},
		{config.LSPOn, settle.Deny, false},
	} {
		s := languageTools(tt.use, &Mode{Permission: tt.permission}, config.SandboxOff)
		_, err := s.languageRules()
		if (err == nil) != tt.starts {
			t.Errorf("%s, %s: got %v", tt.use, tt.permission, err)
		}
		if err != nil {
			continue
		}
		spec := proc.Spec{Argv: []string{"/bin/true"}, Dir: t.TempDir()}
		p, err := s.startLanguage(t.Context(), event.NoSandbox, spec)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
	}
}

// In the read-only mode, a language server starts only if the user says so, and then in the
// read-only sandbox: it runs code of the project, which the user may not trust.
func TestLanguageServersNeedPermissionInReadOnlyMode(t *testing.T) {
	mode := Mode{Permission: settle.Deny, Sandbox: event.Workspace}
	s := languageTools(config.LSPAuto, &mode, config.SandboxAuto)
	if _, err := s.languageRules(); !errors.Is(err, errLanguagesReadOnly) {
		t.Errorf("by itself: %v", err)
	}
	s = languageTools(config.LSPOn, &mode, config.SandboxAuto)
	if in, err := s.languageSandbox(); in != event.ReadOnly || err != nil {
		t.Errorf("with lsp.use = \"on\": sandbox %q, %v", in, err)
	}
}

// The model is offered the tool that asks language servers only where one can start.
func TestLanguageServersThatCannotStartAreNotOffered(t *testing.T) {
	dir, programs := t.TempDir(), t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module m\n"), 0o600),
		os.WriteFile(filepath.Join(programs, "gopls"), []byte("#!/bin/sh\n"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		use   string
		mode  Mode
		offer bool
	}{
		{config.LSPAuto, Mode{Permission: settle.Allow}, true},
		{config.LSPAuto, Mode{Permission: settle.Ask, Sandbox: event.Workspace}, true},
		{config.LSPAuto, Mode{Permission: settle.Ask}, false},
		{config.LSPOn, Mode{Permission: settle.Ask}, true},
		{config.LSPAuto, Mode{Permission: settle.Deny, Sandbox: event.Workspace}, false},
		{config.LSPOn, Mode{Permission: settle.Deny, Sandbox: event.Workspace}, true},
		{config.LSPAuto, ReviewMode(), false},
	} {
		s := languageTools(tt.use, &tt.mode, config.SandboxAuto)
		s.info.WorkDir, s.lsp.path, s.lsp.Servers = dir, programs, []string{"gopls"}
		if got := s.openLanguages(); got != tt.offer {
			t.Errorf("%s, %+v: the tool is offered: %t", tt.use, tt.mode, got)
		}
		if s.languages == nil {
			t.Fatal("there are no servers for a later mode")
		}
		if err := s.languages.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A running language server cannot run on if the user tightens the mode beyond the rules
// under which it started.
func TestLanguageServersHoldInStricterSandbox(t *testing.T) {
	allow, ask := Mode{Permission: settle.Allow}, Mode{Permission: settle.Ask}
	work := Mode{Permission: settle.Ask, Sandbox: event.Workspace}
	read := Mode{Permission: settle.Ask, Sandbox: event.ReadOnly}
	deny := Mode{Permission: settle.Deny, Sandbox: event.Workspace}
	for _, tt := range []struct {
		name          string
		use           string
		started, then Mode
		holds         bool
	}{
		{"the same", config.LSPAuto, allow, allow, true},
		{"ask without a sandbox", config.LSPAuto, allow, ask, false},
		{"ask without a sandbox, which the user allows", config.LSPOn, allow, ask, true},
		{"a sandbox", config.LSPAuto, allow, work, false},
		{"a sandbox, which the user does not need", config.LSPOn, allow, work, false},
		{"plan", config.LSPAuto, work, read, false},
		{"plan after allow", config.LSPAuto, allow, read, false},
		{"looser", config.LSPAuto, read, work, true},
		{"looser without a sandbox", config.LSPAuto, work, ask, true},
		{"allow", config.LSPAuto, work, allow, true},
		{"read-only", config.LSPAuto, work, deny, false},
		{"read-only, of the read-only sandbox", config.LSPAuto, read, deny, false},
		{"read-only, which the user allows", config.LSPOn, work, deny, false},
		{"read-only, which the user allows in its sandbox", config.LSPOn, read, deny, true},
	} {
		mode := tt.started
		s := languageTools(tt.use, &mode, config.SandboxAuto)
		launch, err := s.languageRules()
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		mode = tt.then
		if holds := launch.Holds(); holds != tt.holds {
			t.Errorf("%s: a server that started in %+v holds in %+v: %t", tt.name, tt.started, tt.then, holds)
		}
	}
}
