package proc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/internal/sandbox"
)

// A confined command starts when its host has confirmed the sandbox, and not before.
func TestStartIsConfirmed(t *testing.T) {
	if Confines() != nil {
		return
	}
	dir := t.TempDir()
	policy := sandbox.Workspace("", os.Getenv("PATH"), []string{dir}, []string{dir})
	spec := sh("touch started")
	spec.Dir, spec.Sandbox = dir, &policy
	started := func() bool {
		_, err := os.Stat(filepath.Join(dir, "started"))
		return err == nil
	}
	refusal := errors.New("refused")
	spec.Confirm = func() error { return refusal }
	if _, err := Start(t.Context(), spec); !errors.Is(err, refusal) || started() {
		t.Errorf("start: %v, started: %t", err, started())
	}
	confirmed := false
	spec.Confirm = func() error {
		confirmed = !started()
		return nil
	}
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	if !confirmed || !started() {
		t.Errorf("confirmed: %t, started: %t", confirmed, started())
	}
}

// A file that moved before it was hidden is reported as such.
func TestStartReportsChangedFile(t *testing.T) {
	if Confines() != nil {
		return
	}
	dir := t.TempDir()
	policy := sandbox.ReadOnly("", os.Getenv("PATH"), dir)
	policy.Hide = []sandbox.Hidden{{Path: filepath.Join(dir, "gone"), Device: 1, Inode: 1}}
	spec := sh("true")
	spec.Dir, spec.Sandbox = dir, &policy
	_, err := Start(t.Context(), spec)
	if changed := (*sandbox.ChangedError)(nil); !errors.As(err, &changed) {
		t.Errorf("start: %v", err)
	}
}

// A sandboxed command cannot make a program that other users would run as this user.
func TestSandboxRefusesPrivilegedModes(t *testing.T) {
	if Confines() != nil {
		return
	}
	dir := t.TempDir()
	policy := sandbox.Workspace("", os.Getenv("PATH"), []string{dir}, []string{dir})
	spec := sh(
		"touch f; mkdir d; chmod 755 f && chmod 1777 d && echo usual; for m in 4755 2755 6755; do chmod $m f && echo set; done; chmod 2777 d && echo set; mkdir -m 2777 e; true",
	)
	spec.Dir, spec.Sandbox = dir, &policy
	p, out := begin(t, spec)
	out.await(t, "usual\n")
	wait(t, p)
	for _, name := range []string{"f", "d", "e"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil &&
			info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

// Root cannot change the machine's null device through standard input.
func TestStandardInputIsInView(t *testing.T) {
	if _, err := Prove(t.Context(), sandbox.Policy{Write: []string{"/"}, View: true}, nil); err != nil {
		t.Logf("not claimed here: %v", err)
		return
	}
	dir := t.TempDir()
	policy := sandbox.Workspace("", os.Getenv("PATH"), []string{dir}, []string{dir})
	policy.View = true
	spec := sh("chmod 0666 /proc/self/fd/0 && touch changed; cat; true")
	spec.Dir, spec.Sandbox = dir, &policy
	p, _ := begin(t, spec)
	wait(t, p)
	if _, err := os.Stat(filepath.Join(dir, "changed")); err == nil {
		t.Error("the mode of standard input was set")
	}
}
