package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/policy"
)

// The policy considers the effects of the environment on a command.
func TestEnvironment(t *testing.T) {
	dir := newCalmDir(t)
	if err := os.WriteFile(filepath.Join(dir, "ls"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const path = "PATH=/usr/bin:/bin"
	for _, tt := range []struct {
		command string
		environ []string
		want    event.Permission
	}{
		{"ls", []string{path}, event.Allow},
		{"ls", []string{path, "LANG=C", "GIT_SSL_CAINFO=x", "LD_LIBRARY_PATH=/opt/lib", "BASH_ENV="}, event.Allow},
		{"ls", nil, event.Ask},
		{"ls", []string{"PATH="}, event.Ask},
		{"ls", []string{"PATH=.:/bin"}, event.Ask},
		{"ls", []string{"PATH=:/bin"}, event.Ask},
		{"ls", []string{"PATH=sub:/bin"}, event.Ask},
		{"ls", []string{"PATH=" + dir + ":/bin"}, event.Ask},
		{"ls", []string{"PATH=" + dir + "/sub:/usr/bin:/bin"}, event.Allow},
		{"ls", []string{path, "BASH_ENV=x"}, event.Ask},
		{"ls", []string{path, "BASH_FUNC_ls%%=() { evil; }"}, event.Ask},
		{"ls", []string{path, "ls=() { evil; }"}, event.Ask},
		{"ls", []string{path, "BASHOPTS=dotglob"}, event.Ask},
		{"cd sub && ls", []string{path, "CDPATH=/"}, event.Ask},
		{"ls", []string{path, "LD_PRELOAD=./x.so"}, event.Ask},
		{"ls", []string{path, "LD_LIBRARY_PATH=/opt/lib:"}, event.Ask},
		{"ls", []string{path, "LD_LIBRARY_PATH=lib"}, event.Ask},
		{"rg x", []string{path, "RIPGREP_CONFIG_PATH=" + dir + "/.ripgreprc"}, event.Ask},
		{"git status", []string{path, "GIT_SSL_CAINFO=x", "GIT_AUTHOR_NAME=x"}, event.Allow},
		{"git status", []string{path, "GIT_DIR=x"}, event.Ask},
		{"git diff", []string{path, "GIT_EXTERNAL_DIFF=x"}, event.Ask},
		{"git diff", []string{path, "GIT_CONFIG_COUNT=1"}, event.Ask},
		{"git status", []string{path, "HOME=" + dir + "/sub"}, event.Ask},
	} {
		c := policy.Config{Environ: tt.environ}
		if tt.environ == nil {
			c.Environ = []string{"X=y"}
		}
		if j := newPolicy(t, dir, c).Judge(shell(t, tt.command)); j.Decision != tt.want {
			t.Errorf("%s with %q: %s, want %s (%s)", tt.command, tt.environ, j.Decision, tt.want, j.Why)
		}
	}
}

// With a relative core.hooksPath in the user's configuration, git runs hooks of every
// repository.
func TestHooksOfTheUser(t *testing.T) {
	dir, home := newCalmDir(t), t.TempDir()
	for text, want := range map[string]event.Permission{
		"":                                       event.Allow,
		"[core]\n\thooksPath = /opt/hooks\n":     event.Allow,
		"[core]\n\thooksPath = ~/hooks\n":        event.Allow,
		"[core]\n\tHooksPath=.hooks\n":           event.Ask,
		"[core]\n\thookspath = \"my hooks\"\n":   event.Ask,
		"[alias]\n\tx = y\n[core] hooksPath = h": event.Ask,
	} {
		if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := newPolicy(t, dir, policy.Config{Environ: []string{"PATH=/usr/bin:/bin", "HOME=" + home}})
		if j := p.Judge(shell(t, "git status")); j.Decision != want {
			t.Errorf("%q: %s, want %s (%s)", text, j.Decision, want, j.Why)
		}
	}
}
