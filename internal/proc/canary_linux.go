package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/settle-agent/settle/internal/sandbox"
)

// canaryTimeout bounds a canary.
const canaryTimeout = 10 * time.Second

// Prove has a canary try to escape from a box of the kind of the policy in each way
// that it forbids, and returns how many it has tried. The error says what a command
// could do (C22). Of the policy, only what it allows counts, and not where.
func Prove(ctx context.Context, p sandbox.Policy) (tried int, err error) {
	if err := Confines(); err != nil {
		return 0, err
	}
	top, err := os.MkdirTemp("", "settle-canary-")
	if err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	defer func() { _ = os.RemoveAll(top) }()
	b := sandbox.Bait{Dir: filepath.Join(top, "out"), Room: filepath.Join(top, "in"), Host: os.Getpid(), Writes: len(p.Write) > 0, Online: p.Network == sandbox.Online, View: p.View}
	for path, content := range map[string]string{filepath.Join(b.Dir, "bait"): "bait", filepath.Join(b.Room, "file"): "", filepath.Join(b.Room, "keeper", "kept"): ""} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
		}
	}
	box := sandbox.ReadOnly("", "", b.Room, selfExe)
	if box.Network = p.Network; b.Writes {
		box.Write = []string{b.Room}
	}
	if box.View = p.View; b.View {
		box.Protect = []string{filepath.Join(b.Room, "keeper", "kept")}
	}
	return tryOut(ctx, b, box)
}

// tryOut sends a canary into a box.
func tryOut(ctx context.Context, b sandbox.Bait, box sandbox.Policy) (tried int, err error) {
	raw, err := json.Marshal(b)
	if err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, canaryTimeout)
	defer cancel()
	out, err := Run(ctx, Command{Argv: []string{selfExe, sandbox.CanaryName, string(raw)}, Dir: "/", Env: []string{"GOMAXPROCS=1"}, Box: &box})
	var e sandbox.Escapes
	switch {
	case err != nil:
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	case !out.OK() || json.Unmarshal(out.Stdout, &e) != nil || e.Tried == 0:
		return 0, fmt.Errorf("cannot try out the sandbox: exit code %d", out.Code)
	case e.Stuck != "":
		return 0, fmt.Errorf("the sandbox refuses what it should allow: %s", e.Stuck)
	case len(e.Out) > 0:
		return e.Tried, fmt.Errorf("the kernel does not enforce the sandbox: %s", strings.Join(e.Out, ", "))
	}
	if bait, err := os.ReadFile(filepath.Join(b.Dir, "bait")); err != nil || string(bait) != "bait" {
		return e.Tried, errors.New("the kernel does not enforce the sandbox: a file outside of it was changed")
	}
	return e.Tried, nil
}
