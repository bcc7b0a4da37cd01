package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An ordinary user for whom the kernel allows user namespaces has all layers of the
// sandbox, although settle keeps other processes out of its own (C15, C22).
func TestOrdinaryUserHasNamespaces(t *testing.T) {
	uid := os.Geteuid()
	if uid == 0 {
		uid = 54322
	}
	unshare := exec.CommandContext(t.Context(), "unshare", "-Urmpf", "--mount-proc", "true")
	unshare.Dir, unshare.SysProcAttr = "/", as(uid)
	if out, err := unshare.CombinedOutput(); err != nil {
		t.Logf("this machine gives user %d no namespaces: %v: %s", uid, err, out)
		return
	}
	p := newPlace(t)
	programs := p.programs(uid)
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "settle"), "doctor", "-v")
	cmd.Dir, cmd.Env, cmd.SysProcAttr = p.work, p.env, as(uid)
	out, _ := cmd.CombinedOutput() // without a key, doctor has something to complain of
	for _, want := range []string{
		"workspace with a view of its own", "workspace that sees no other processes", "with a proxy, in a network of its own",
	} {
		found := false
		for line := range strings.Lines(string(out)) {
			found = found || strings.HasPrefix(line, "ok") && strings.Contains(line, want)
		}
		if !found {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}
