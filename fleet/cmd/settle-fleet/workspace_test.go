package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/modeltest"
)

// git runs git in a directory and returns what it puts out.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(
		"git",
		append(
			[]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"},
			args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// work has a worker run what there is to do.
func work(t *testing.T, model *modeltest.Server) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	worker := make(chan int, 1)
	var stderr bytes.Buffer
	go func() { // ends with stop, and is waited for
		worker <- execute(ctx, []string{"worker", "--base-url", model.OpenAI()}, strings.NewReader(""), &bytes.Buffer{}, &stderr)
	}()
	must(t, "", "results", "--wait")
	stop()
	if code := <-worker; code != 0 {
		t.Errorf("the worker's exit code is %d\n%s", code, stderr.String())
	}
}

// TestTwoFleets: workers of two fleets on one machine leave each other's workspaces
// alone, also those of sessions with one name.
func TestTwoFleets(t *testing.T) {
	home(t)
	databases := []string{server.URL(t), server.URL(t)}
	from := t.TempDir()
	git(t, from, "init", "-q")
	git(t, from, "commit", "-q", "--allow-empty", "-m", "one")
	model := modeltest.NewServer(
		t, modeltest.Script(modeltest.Say("one"), modeltest.Say("two"), modeltest.Say("three")),
	)
	for n, database := range []string{databases[0], databases[1], databases[0]} {
		t.Setenv(databaseVar, database)
		must(t, "", "migrate")
		must(
			t, "", "submit", "--repo", from, "--session", "s", "--input", strconv.Itoa(n), "-m", "openai/gpt-5.2",
			"work",
		)
		work(t, model)
	}
	if logs := must(t, "", "logs", "s"); strings.Contains(logs, "created again") {
		t.Errorf("%s", logs)
	}
}

// TestRepository: an agent works in a clone, and what it has made of it is to be had,
// also for the next task of the session, on a machine that has nothing of it.
func TestRepository(t *testing.T) {
	home(t)
	from := t.TempDir()
	git(t, from, "init", "-q")
	git(t, from, "commit", "-q", "--allow-empty", "-m", "one")
	model := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("shell", `{"command":"echo made > made; pwd"}`)),
		modeltest.Say("made"),
		modeltest.Reply(
			modeltest.Call("shell", `{"command":"cat made; git status --porcelain"}`),
		),
		modeltest.Say("read"),
	))
	must(t, "", "migrate")
	for n, session := range []string{"1", "2"} {
		taskID := strings.TrimSpace(
			must(
				t, "", "submit", "--repo", "file://"+from, "--ref", "main", "--session", "s", "--input", session, "-m",
				"openai/gpt-5.2", "work",
			),
		)
		if n == 1 {
			t.Setenv("XDG_DATA_HOME", t.TempDir()) // another machine
		}
		work(t, model)
		var u fleet.TaskStatus
		if err := json.Unmarshal([]byte(must(t, "", "status", taskID)), &u); err != nil {
			t.Fatal(err)
		}
		if u.Result.Outcome != event.Completed || u.Result.Checkpoint == nil || u.Result.Checkpoint.Bytes == 0 {
			t.Errorf("%+v, %+v", u.Result, u.Result.Checkpoint)
		}
	}
	logs := must(t, "", "logs", "s")
	if !strings.Contains(logs, "created again from the checkpoint") || !strings.Contains(logs, "?? made") {
		t.Errorf("%s", logs)
	}
	file := filepath.Join(t.TempDir(), "bundle")
	var c fleet.Checkpoint
	if err := json.Unmarshal([]byte(must(t, "", "checkpoint", "s/1", "-o", file)), &c); err != nil {
		t.Fatal(err)
	}
	git(t, from, "fetch", "-q", file, "refs/settle/checkpoint")
	if patch := git(t, from, "diff", c.Base, "FETCH_HEAD"); !strings.Contains(patch, "+made") {
		t.Errorf("%s", patch)
	}
	if code, _, stderr := command(t, "", "checkpoint", "s/3"); code != codeFailed ||
		!strings.Contains(stderr, "has no checkpoint") {
		t.Errorf("%d, %s", code, stderr)
	}
}

// TestRepositoryMistakes are told before anything is submitted.
func TestRepositoryMistakes(t *testing.T) {
	home(t)
	for says, args := range map[string][]string{
		"has a password":            {"--repo", "https://me:verysecretpassword@host/r"},
		"cannot be read":            {"--repo", "https://me:verysecret%pass@host/r"},
		"neither a URL nor":         {"--repo", "r"},
		"both a dir and a repo":     {"--repo", "/r", "-C", "/"},
		"a ref or a depth, and no":  {"--ref", "r"},
		"is not the name of":        {"--repo", "/r", "--ref", "a:b"},
		`cannot use "-upload-pack"`: {"--repo", "/r", "--ref", "-upload-pack"},
	} {
		code, _, stderr := command(t, "", append(append([]string{"submit"}, args...), "work")...)
		if code != codeUsage || !strings.Contains(stderr, says) || strings.Contains(stderr, "verysecret") {
			t.Errorf("%v: %d, %s", args, code, stderr)
		}
	}
}
