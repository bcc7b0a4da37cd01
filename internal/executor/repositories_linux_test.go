package executor

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/internal/sandbox"
)

// C9: a command whose call has ended does not start, and files before the next command are the
// user's. The files that the next command makes are judged.
func TestCancelledLookStartsNothing(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing can be confined here: %v", err)
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := local(t)
	l.Sandbox = func(Confined) (sandbox.Policy, []string, error) {
		return sandbox.Workspace("", os.Getenv("PATH"), []string{dir}, []string{dir}), nil, nil
	}
	l.Repositories = &Repositories{
		Guard: quarantine.New(),
		Area:  func() quarantine.Area { return quarantine.Area{Look: []string{dir}} },
	}
	var out bytes.Buffer
	start := func(ctx context.Context, script string) error {
		p, err := l.Start(ctx, Command{Call: "c", Script: script, Dir: dir, Output: &out, Sandbox: event.Workspace})
		if err == nil {
			<-p.Done()
		}
		return err
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := start(cancelled, "touch made"); err == nil {
		t.Error("the command starts")
	}
	const plant = `mkdir -p "$D/objects" "$D/refs"; echo 'ref: refs/heads/x' >"$D/HEAD"; printf '[core]\nfsmonitor = x\n' >"$D/config"`
	if err := os.MkdirAll(filepath.Join(dir, "mine", "objects"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"refs/x": "", "HEAD": "ref: refs/heads/x\n", "config": "[core]\nfsmonitor = x\n"} {
		path := filepath.Join(dir, "mine", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := start(t.Context(), "D=yours; "+plant); err != nil {
		t.Fatal(err)
	}
	found := l.Repositories.Check(t.Context())
	if len(found) != 1 || found[0].Path != filepath.Join(dir, "yours", "config") {
		t.Errorf("%v; the command said: %s", found, out.String())
	}
	if _, err := os.Lstat(filepath.Join(dir, "made")); err == nil {
		t.Error("the cancelled command ran")
	}
	if err := l.Repositories.Close(); err != nil {
		t.Error(err)
	}
}
