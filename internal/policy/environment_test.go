package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/internal/policy"
)

// What a command does through its environment is looked at.
func TestEnvironment(t *testing.T) {
	dir := newCalmDir(t)
	if err := os.WriteFile(filepath.Join(dir, "ls"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	const path = "PATH=/usr/bin:/bin"
	for _, tt := range []struct {
		command string
		environ []string
		want    policy.Decision
	}{
		{"ls", []string{path}, policy.Allow},
		{"ls", []string{path, "LANG=C", "GIT_DIR=x", "GIT_SSL_CAINFO=x", "LD_LIBRARY_PATH=/opt/lib", "BASH_ENV="}, policy.Allow},
		{"ls", nil, policy.Ask},
		{"ls", []string{"PATH="}, policy.Ask},
		{"ls", []string{"PATH=.:/bin"}, policy.Ask},
		{"ls", []string{"PATH=:/bin"}, policy.Ask},
		{"ls", []string{"PATH=sub:/bin"}, policy.Ask},
		{"ls", []string{"PATH=" + dir + ":/bin"}, policy.Ask},
		{"ls", []string{"PATH=" + dir + "/sub:/usr/bin:/bin"}, policy.Allow},
		{"ls", []string{path, "BASH_ENV=x"}, policy.Ask},
		{"ls", []string{path, "BASH_FUNC_ls%%=() { evil; }"}, policy.Ask},
		{"ls", []string{path, "ls=() { evil; }"}, policy.Ask},
		{"ls", []string{path, "BASHOPTS=dotglob"}, policy.Ask},
		{"cd sub && ls", []string{path, "CDPATH=/"}, policy.Ask},
		{"ls", []string{path, "LD_PRELOAD=./x.so"}, policy.Ask},
		{"ls", []string{path, "LD_LIBRARY_PATH=/opt/lib:"}, policy.Ask},
		{"ls", []string{path, "LD_LIBRARY_PATH=lib"}, policy.Ask},
		{"rg x", []string{path, "RIPGREP_CONFIG_PATH=" + dir + "/.ripgreprc"}, policy.Ask},
		{"git status", []string{path, "GIT_SSL_CAINFO=x", "GIT_AUTHOR_NAME=x"}, policy.Allow},
		{"git status", []string{path, "GIT_DIR=x"}, policy.Ask},
		{"git diff", []string{path, "GIT_EXTERNAL_DIFF=x"}, policy.Ask},
		{"git diff", []string{path, "GIT_CONFIG_COUNT=1"}, policy.Ask},
		{"git status", []string{path, "HOME=" + dir + "/sub"}, policy.Ask},
	} {
		c := policy.Config{Environ: tt.environ}
		if tt.environ == nil {
			c.Environ = []string{"X=y"}
		}
		if j := newPolicy(t, c).Judge(shell(t, dir, tt.command)); j.Decision != tt.want {
			t.Errorf("%s with %q: %s, want %s (%s)", tt.command, tt.environ, j.Decision, tt.want, j.Why)
		}
	}
}
