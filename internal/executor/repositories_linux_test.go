package executor

import (
	"bytes"
	"context"
	"encoding/json"
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

// The report about a command that left no processes comes after the end of its guard: the next
// command finds no guard, and what it removes is not put back. Guards of other commands that run do
// not delay the report.
func TestDenialsFollowEndOfGuard(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing can be confined here: %v", err)
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	protected := filepath.Join(dir, ".envrc")
	l := local(t)
	l.Sandbox = func(Confined) (sandbox.Policy, []string, error) {
		p := sandbox.Workspace("", os.Getenv("PATH"), []string{dir}, []string{dir})
		p.Protect = []string{protected}
		return p, nil, nil
	}
	l.Repositories = &Repositories{
		Guard: quarantine.New(),
		Area:  func() quarantine.Area { return quarantine.Area{Look: []string{dir}} },
	}
	start := func(call, script string) *proc.Process {
		p, err := l.Start(t.Context(), Command{Call: call, Script: script, Dir: dir, Sandbox: event.Workspace})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	report := func(call string) (d Denial) {
		args, _ := json.Marshal(Output{Sandbox: event.Workspace})
		answer, err := l.Call(t.Context(), Request{Name: Denials, Call: call, Dir: dir, Args: args})
		if err != nil || json.Unmarshal(answer, &d) != nil {
			t.Fatal(err)
		}
		return d
	}
	for range 20 {
		if err := os.WriteFile(protected, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		p := start("short", "rm -f .envrc")
		_, _ = p.Wait(t.Context())
		if d := report("short"); len(d.Restored) != 1 || len(d.Unrestored) > 0 {
			t.Errorf("restored %q, not %q", d.Restored, d.Unrestored)
		}
		if l.Repositories.Unsettled(t.Context(), filepath.Join(dir, ".git")) {
			t.Error("the guard runs after the report")
		}
		if err := os.Remove(protected); err != nil {
			t.Error(err)
		}
		<-p.Concluded()
		if _, err := os.Lstat(protected); err == nil {
			t.Error("what was removed after the report is put back")
		}
	}
	long := start("long", "sleep 1000") // until its end below
	_, _ = start("short", "true").Wait(t.Context())
	report("short")
	report("long")
	if !l.Repositories.Unsettled(t.Context(), filepath.Join(dir, ".git")) {
		t.Error("the guard does not wait for the command that runs")
	}
	long.End(t.Context(), 0)
	report("long")
	if l.Repositories.Unsettled(t.Context()) {
		t.Error("the guard runs after the last command")
	}
	if err := l.Repositories.Close(); err != nil {
		t.Error(err)
	}
}
