package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/sandbox"
)

// C22: a sandboxed command, and its remaining processes, have the permissions of its sandbox; if it
// cannot be confined, it does not start. Its supervisor is not confined, and ends it as any other.
func TestSandboxedCommandKeepsPolicy(t *testing.T) {
	dir := t.TempDir()
	policy := sandbox.ReadOnly("", os.Getenv("PATH"), dir)
	spec := sh(
		"echo read >&2; cat known; touch new || echo refused; (setsid sleep 1000 &); (sleep 0.01; touch later) & sleep 1000",
	)
	spec.Dir, spec.Sandbox = dir, &policy
	if err := os.WriteFile(filepath.Join(dir, "known"), []byte("content\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if missing := Confines(); missing != nil {
		if _, err := Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), missing.Error()) {
			t.Errorf("confinement: %v; start: %v", missing, err)
		}
		return
	}
	p, out := begin(t, spec)
	out.await(t, "refused")
	if got := out.String(); !strings.Contains(got, "content\n") {
		t.Errorf("output %q", got)
	}
	if left := p.End(t.Context(), 0); len(left) > 0 {
		t.Errorf("left %v", left)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// A program that cannot be executed causes the same error as without a sandbox.
func TestSandboxedProgramIsMissing(t *testing.T) {
	dir := t.TempDir()
	policy := sandbox.ReadOnly("", "", dir)
	outside := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(outside, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Spec{Argv: []string{outside}, Dir: dir, Sandbox: &policy})
	if err == nil {
		t.Fatal("a program outside of the sandbox was started")
	}
	if Confines() == nil && !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
}

// A program without supervisors confines nothing, and says so.
func TestSandboxWithoutSupervisor(t *testing.T) {
	host.supervised.Store(false)
	defer host.supervised.Store(true)
	spec := sh("true")
	spec.Sandbox = &sandbox.Policy{}
	if _, err := Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "no supervisors") {
		t.Errorf("got %v", err)
	}
}
