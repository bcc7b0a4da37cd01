package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/modeltest"
)

// homeAlone makes the environment one of its own, with a database and no Temporal.
func homeAlone(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, filepath.Join(dir, name))
	}
	t.Setenv("OPENAI_API_KEY", "sk-0123456789abcdefghijkl")
	t.Setenv(databaseVar, server.URL(t))
}

// command runs a command line.
func command(t testing.TB, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = execute(ctx, args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// must is command for one that succeeds.
func must(t testing.TB, stdin string, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := command(t, stdin, args...)
	if code != 0 {
		t.Fatalf("settle-fleet %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

// TestTasksFromAFile: they are submitted, run by a worker, and their results and logs
// are to be had.
func TestTasksFromAFile(t *testing.T) {
	home(t)
	const tasks = 6
	var turns []modeltest.Turn
	for range tasks {
		turns = append(turns, modeltest.Say("Hello from the fleet."))
	}
	model := modeltest.NewServer(t, modeltest.Script(turns...))
	if out := must(t, "", "migrate"); !strings.Contains(out, "had number 0 and has ") {
		t.Errorf("%q", out)
	}
	dir := t.TempDir()
	var lines strings.Builder
	for n := range tasks {
		fmt.Fprintf(&lines, `{"session":"s%d","prompt":"say hello","labels":{"n":"%d"}}`+"\n", n, n)
	}
	file := filepath.Join(dir, "tasks.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	submit := []string{"submit", "-C", dir, "--file", file, "--label", "batch=1", "-m", "openai/gpt-5.2"}
	if ids := strings.Fields(must(t, "", submit...)); len(ids) != tasks || ids[0] != "s0/1" {
		t.Errorf("%q", ids)
	}
	must(t, lines.String(), "submit", "-C", dir, "-f", "-", "--label", "batch=1") // again
	must(t, "", "rate", "set", "openai", "--requests", "60000")
	must(t, "", "rate", "set", "openai", "--tokens", "6000000")
	if out := must(t, "", "rate", "list"); !strings.Contains(out, "openai    60000         6000000") {
		t.Errorf("%s", out)
	}
	must(t, "", "tenant", "set", "default", "--weight", "2")
	if out := must(t, "", "tenant", "list", "--json"); out != fmt.Sprintf(
		`{"tenant":"default","weight":2,"queued":%d,"running":0}`+"\n", tasks,
	) {
		t.Errorf("%s", out)
	}
	if out := must(t, "", "status"); !strings.HasPrefix(out, fmt.Sprintf("queued %d, running 0", tasks)) {
		t.Errorf("%q", out)
	}
	ctx, stop := context.WithCancel(t.Context())
	worker := make(chan int, 1)
	var stderr bytes.Buffer
	go func() { // ends with stop, and is waited for
		worker <- execute(ctx, []string{"worker", "--slots", "2", "--base-url", model.OpenAI(), "--id", "w1", "--metrics", ":0"}, strings.NewReader(""), &bytes.Buffer{}, &stderr)
	}()
	results := must(t, "", "results", "--wait", "--label", "batch=1")
	stop()
	if code := <-worker; code != 0 {
		t.Errorf("the worker's exit code is %d\n%s", code, stderr.String())
	}
	for line := range strings.Lines(results) {
		var u fleet.TaskStatus
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			t.Fatal(err)
		}
		if u.Result.Outcome != event.Completed || u.Result.Answer != "Hello from the fleet." || u.Worker != "w1" ||
			u.Task.Labels["batch"] != "1" {
			t.Errorf("%s", line)
		}
	}
	if n := strings.Count(results, "\n"); n != tasks {
		t.Errorf("%d results", n)
	}
	if out := must(t, "", "results", "--format", "atif"); strings.Count(
		out, `{"schema_version":"ATIF-v1.7","session_id":"s`,
	) != tasks ||
		strings.Count(out, `"message":"Hello from the fleet."`) != tasks {
		t.Errorf("%s", out)
	}
	if out := must(t, "", "results", "--format", "atif", "--dir", filepath.Join(dir, "atif")); out != "" {
		t.Errorf("%s", out)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "atif", "s5.json")); err != nil ||
		!strings.Contains(string(data), `"session_id":"s5"`) {
		t.Errorf("%s, %v", data, err)
	}
	if out := must(t, "", "logs", "s3/1"); !strings.Contains(out, "turn.completed     Hello from the fleet.") {
		t.Errorf("%s", out)
	}
	if out := must(t, "", "logs", "--json", "--after", "1", "s3"); !strings.HasPrefix(
		out, `{"v":1,"session":"s3","seq":2,`,
	) {
		t.Errorf("%s", out)
	}
	if out := must(t, "", "prune"); out != "no session began more than 30 days ago\n" {
		t.Errorf("%s", out)
	}
}

// TestCancelBeforeAWorkerCame: the task has ended, and results say so.
func TestCancelBeforeAWorkerCame(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	taskID := strings.TrimSpace(must(t, "", "submit", "-C", t.TempDir(), "do it"))
	must(t, "", "cancel", taskID)
	if _, out, errs := command(t, "", "results", "--format", "atif"); out != "" ||
		!strings.Contains(errs, "1 sessions began no turn") {
		t.Errorf("%s%s", out, errs)
	}
	code, out, _ := command(t, "", "results")
	if code != codeFailed || !strings.Contains(out, `"outcome":"aborted","reason":"interrupted"`) {
		t.Errorf("%d: %s", code, out)
	}
}

// TestMistakes are told, with an exit code of their own.
func TestMistakes(t *testing.T) {
	homeAlone(t)
	database := os.Getenv(databaseVar)
	for _, c := range []struct {
		args  []string
		stdin string
		code  int
		says  string
	}{
		{args: []string{"status"}, code: codeFailed, says: "run settle-fleet migrate"},
		{args: []string{"submit"}, code: codeUsage, says: "the task has no prompt"},
		{args: []string{"submit", "-f", "-"}, code: codeUsage, says: "there are no tasks"},
		{args: []string{"submit", "-f", "-"}, stdin: `{"prompt":"a","promt":"b"}`, code: codeUsage, says: "line 1"},
		{args: []string{"submit", "-f", "-"}, stdin: "{\"session\":\"a\",\"prompt\":\"a\"}\n\n{\"session\":\"a\",\"prompt\":\"b\"}", code: codeUsage, says: "lines 1 and 3 have the same id a/1"},
		{args: []string{"submit", "-f", "-"}, stdin: `{"session":"a/b","prompt":"a"}`, code: codeUsage, says: "slash"},
		{args: []string{"worker", "--slots", "0", "--database", database}, code: codeFailed, says: "migrate"},
		{args: []string{"status", "--database", "postgres://user:verysecretpassword@/none?host=/nowhere"}, code: codeFailed, says: "cannot reach the database"},
		{args: []string{"prune"}, code: codeFailed, says: "run settle-fleet migrate"},
		{args: []string{"prune", "--days", "213503982334601"}, code: codeUsage, says: "--days must be from 1 to"},
		{args: []string{"dev", "--database", database}, code: codeUsage, says: "leave out --database"},
		{args: []string{"dev", "--slots", "0", "--dir", "/nowhere"}, code: codeUsage, says: "needs at least 1"},
		{args: []string{"dev", "--sandbox", "maybe", "--dir", "/nowhere"}, code: codeUsage, says: "it is required or off"},
		{args: []string{"dance"}, code: codeUsage, says: "unknown command"},
	} {
		code, _, stderr := command(t, c.stdin, c.args...)
		if code != c.code || !strings.Contains(stderr, c.says) {
			t.Errorf("settle-fleet %v: %d, %s", c.args, code, stderr)
		}
		if strings.Contains(stderr, "verysecretpassword") {
			t.Errorf("C15: %s", stderr)
		}
	}
}

// TestMistakesInAFleet: what they do not concern is done.
func TestMistakesInAFleet(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	dir := t.TempDir()
	must(t, "", "submit", "-C", dir, "--session", "a", "do it")
	must(t, "", "submit", "-C", dir, "--session", "b", "do it")
	if code, _, errs := command(t, "", "cancel", "a/1", "typo/1", "b/1"); code != codeFailed ||
		!strings.Contains(errs, "typo/1") {
		t.Errorf("%d: %s", code, errs)
	}
	if out := must(t, "", "status"); !strings.Contains(out, "queued 0, running 0, ended 2") {
		t.Error(out)
	}
	if code, _, errs := command(t, "", "checkpoint", "a/1", "-o", dir); code != codeFailed ||
		!strings.Contains(errs, "it is not a file") {
		t.Errorf("%d: %s", code, errs)
	}
	t.Setenv("OPENAI_API_KEY", "")
	must(t, "", "submit", "-C", dir, "--session", "c", "do it")
	for _, args := range [][]string{{"-m", "openai/x"}, {"-m", "nosuch/x"}, {"-m", "bad"}} {
		if code, _, errs := command(t, "", append([]string{"worker"}, args...)...); code != codeUsage {
			t.Errorf("%q: %d: %s", args, code, errs)
		}
	}
	t.Setenv("OPENAI_API_KEY", "sk-0123456789abcdefghijkl")
	if out := must(t, "", "status"); !strings.Contains(out, "queued 1") {
		t.Error(out)
	}
}

// TestABatchHasABudget: what is submitted after it was spent ends without a request.
func TestABatchHasABudget(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	turn := modeltest.Say("Hello.")
	model := modeltest.NewServer(t, modeltest.Script(turn))
	must(
		t, `{"prompt":"one"}`+"\n"+`{"prompt":"two"}`+"\n"+`{"prompt":"three"}`, "submit", "-C", t.TempDir(), "-f", "-",
		"--batch", "b", "--budget-tokens", "1", "-m", "openai/gpt-5.2",
	)
	ctx, stop := context.WithCancel(t.Context())
	worker := make(chan int, 1)
	go func() { // ends with stop, and is waited for
		worker <- execute(ctx, []string{"worker", "--slots", "1", "--base-url", model.OpenAI()}, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	}()
	code, out, errs := command(t, "", "results", "--wait", "--batch", "b")
	stop()
	<-worker
	if code != codeFailed || strings.Count(out, `"outcome":"completed"`) != 1 ||
		strings.Count(
			out, `"outcome":"aborted","reason":"limit","message":"the limit on tokens was reached: the batch`,
		) != 2 {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	if !strings.Contains(errs, "3 of 3 ended (0 failed, 2 aborted), 0 running, 0 waiting") {
		t.Errorf("%s", errs)
	}
	if out := must(t, "", "status", "--watch", "--batch", "b"); !strings.HasPrefix(out, "3 of 3 ended") {
		t.Errorf("%s", out)
	}
	if out := must(t, "", "status", "--batch", "b"); !strings.Contains(out, "tokens of 1,") {
		t.Errorf("%s", out)
	}
	if code, _, _ := command(t, "", "submit", "--budget-usd", "1", "work"); code != codeUsage {
		t.Errorf("a budget without a batch: %d", code)
	}
}
