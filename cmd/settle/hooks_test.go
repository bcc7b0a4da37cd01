package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/config"
)

// A file whose hooks cannot be trusted does not keep the others from being trusted.
func TestTrustHooksOmitsFileWithProblem(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "repo")
	hook := func(command string) string {
		return `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "` + command + `"}]}]}}`
	}
	for name, text := range map[string]string{
		".git/HEAD": "", "big.sh": "",
		".claude/settings.json": hook("sh ./big.sh"), ".claude/settings.local.json": hook("true"),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, "big.sh"), 65<<20); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(top, "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	getenv := func(name string) string { return map[string]string{"HOME": filepath.Join(top, "home")}[name] }
	r, err := config.Load(config.Input{Dir: dir, GOOS: "linux", Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&streams{stderr: out}).showHooks(r); err != nil {
		t.Fatal(err)
	}
	err = (&streams{stderr: out}).trustHooks(r)
	if exit, ok := errors.AsType[*exitError](err); !ok || exit.code != 1 ||
		!strings.Contains(exit.err.Error(), "settings.json cannot be trusted: the files that they name") {
		t.Errorf("%v", err)
	}
	good := filepath.Join(dir, ".claude", "settings.local.json")
	if all := r.Recorded(); len(all) != 1 || all[good] == "" {
		t.Errorf("trusted are %v", all)
	}
	if said, err := os.ReadFile(out.Name()); strings.Count(string(said), "PreToolUse") != 1 {
		t.Errorf("it said %q, %v", said, err)
	}
}
