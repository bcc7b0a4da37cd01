package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet/pgdev/pgtest"
	"github.com/settle-agent/settle/modeltest"
)

// buildOlder builds the program of the schema's version before: its last step is unknown to it.
func buildOlder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	path, err := filepath.Abs("../../pglog/schema.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, found := strings.Cut(string(source), "`, tenants")
	list, rest, ended := strings.Cut(tail, "}")
	last := strings.LastIndex(list, ", ")
	if !found || !ended || last < 0 {
		t.Fatal("cannot find the list of steps in schema.go")
	}
	older := filepath.Join(dir, "schema.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: older}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		older: head + "`, tenants" + list[:last] + "}" + rest, filepath.Join(dir, "overlay.json"): string(overlay),
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "settle-fleet")
	build := exec.CommandContext(
		t.Context(),
		"go",
		"build",
		"-overlay",
		filepath.Join(dir, "overlay.json"),
		"-ldflags=-s -w",
		"-o",
		program,
		".",
	)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// versions is a rollout between two programs.
type versions struct {
	t     *testing.T
	older string
	model *modeltest.Server
}

// run runs a command of one of the programs.
func (v *versions) run(older bool, args ...string) (code int, out, errs string) {
	v.t.Helper()
	if !older {
		return command(v.t, "", args...)
	}
	ctx, cancel := context.WithTimeout(v.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, v.older, args...)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the exit code says it
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// works submits a task with each of the programs, has a worker of one of them run both, and asks
// both how they are.
func (v *versions) works(name string, workerIsOlder bool) {
	v.t.Helper()
	must := func(older bool, args ...string) string {
		code, out, errs := v.run(older, args...)
		if code != 0 {
			v.t.Fatalf("%s: older %v: %q: exit code %d\n%s", name, older, args, code, errs)
		}
		return out
	}
	must(true, "submit", "-C", os.TempDir(), "--session", name+"-older", "--batch", name, "say")
	must(false, "submit", "-C", os.TempDir(), "--session", name+"-newer", "--batch", name, "say")
	program, env := os.Args[0], append(
		os.Environ(), roleVar+"="+roleCommand, argsVar+"="+strings.Join(v.worker(), "\t"),
	)
	if workerIsOlder {
		program, env = v.older, os.Environ()
	}
	worker := exec.CommandContext(v.t.Context(), program, v.worker()...)
	worker.Env = env
	var stderr strings.Builder
	worker.Stderr = &stderr
	if err := worker.Start(); err != nil {
		v.t.Fatal(err)
	}
	results := must(!workerIsOlder, "results", "--wait", "--batch", name)
	if n := strings.Count(results, `"answer":"Hello."`); n != 2 {
		v.t.Errorf("%s: %d of 2 tasks have completed: %s", name, n, results)
	}
	for _, older := range []bool{true, false} {
		if out := must(older, "status", "--batch", name); !strings.Contains(out, "completed 2") {
			v.t.Errorf("%s: older %v: status says %q", name, older, out)
		}
	}
	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		v.t.Error(err)
	}
	if err := worker.Wait(); err != nil {
		v.t.Errorf("%s: %v\n%s", name, err, stderr.String())
	}
}

func (v *versions) worker() []string {
	return []string{"worker", "-m", "openai/gpt-5.2", "--base-url", v.model.OpenAI(), "--drain-timeout", "5s"}
}

// TestTwoVersions: two programs whose schemas differ by one step work together, with both
// schemas, in both directions. A schema that has dropped what the older one needs is refused by it.
func TestTwoVersions(t *testing.T) {
	temporalServer.Address(t) // or the test fails
	v := &versions{t: t, older: buildOlder(t)}
	home(t) // Go's cache is not there
	v.model = modeltest.NewServer(t, modeltest.Scenario{Loop: true, Turns: []modeltest.Turn{modeltest.Say("Hello.")}})
	expect := func(older bool, want string, args ...string) {
		t.Helper()
		if _, out, errs := v.run(older, args...); !strings.Contains(out+errs, want) {
			t.Errorf("older %v: %q: %s%s", older, args, out, errs)
		}
	}
	expect(true, "had number 0", "migrate")
	v.works("before-migrate", false)
	expect(false, "and has ", "migrate")
	v.works("after-migrate", true)
	expect(true, "this one works with it, and changed nothing", "migrate")
	pool := pgtest.Connect(t, os.Getenv(databaseVar))
	if _, err := pool.Exec(t.Context(), `UPDATE settle_fleet.version SET oldest = version`); err != nil {
		t.Fatal(err)
	}
	expect(true, "use the newer settle-fleet", "status")
	expect(false, "queued 0", "status")
}
