package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// TestHeldCalls: a task whose call needs a person is held, without a worker. The call runs when it is
// approved, once; a second verdict says so. A denied one does not run, and its task continues.
func TestHeldCalls(t *testing.T) {
	home(t)
	t.Setenv("SETTLE_PERMISSION", "ask")
	must(t, "", "migrate")
	dir := t.TempDir()
	call := modeltest.Reply(modeltest.Call("shell", `{"command":"echo x >> ran"}`))
	model := modeltest.NewServer(t, modeltest.Script(
		call, modeltest.Say("It is done."), call, modeltest.Say("Then not."),
	))
	run := func() {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan int, 1)
		var stderr bytes.Buffer
		go func() { // ends with stop, and is waited for
			ended <- execute(ctx, []string{"worker", "--base-url", model.OpenAI(), "-m", "openai/gpt-5.2"},
				strings.NewReader(""), &bytes.Buffer{}, &stderr)
		}()
		command(t, "", "status", "--watch")
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("the worker's exit code is %d\n%s", code, stderr.String())
		}
	}
	must(t, "", "submit", "-C", dir, "--session", "s", "--batch", "b", "work")
	run()
	const held = "queued 0, running 0, held 1 (settle-fleet approvals), ended 0"
	if out := must(t, "", "status"); !strings.HasPrefix(out, held) {
		t.Errorf("%s", out)
	}
	if code, out, errs := command(t, "", "results", "--wait"); code != codeFailed || out != "" ||
		!strings.Contains(errs, "tasks that wait for a person: 1") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	var line struct {
		TaskID                                    string `json:"unit"`
		ID, Session, State, Tool, Arguments, Text string
	}
	if err := json.Unmarshal([]byte(must(t, "", "approvals", "--json", "--batch", "b")), &line); err != nil {
		t.Fatal(err)
	}
	if line.TaskID != "s/1" || line.Session != "s" || line.State != "held" || line.Tool != "shell" ||
		len(line.ID) != 64 || !strings.Contains(line.Arguments, "echo x >> ran") {
		t.Errorf("%+v", line)
	}
	if out := must(t, "", "approvals"); !strings.HasPrefix(out, line.ID[:8]+"  held  s/1  ") {
		t.Errorf("%s", out)
	}
	if out := must(t, "", "approvals", "show", line.ID[:6]); !strings.Contains(out, "echo x >> ran") {
		t.Errorf("%s", out)
	}
	approved := "approved " + line.ID[:8] + ": a worker continues task s/1\n"
	if out := must(t, "", "approvals", "approve", line.ID[:6]); out != approved {
		t.Errorf("%s", out)
	}
	run()
	if out := must(t, "", "results"); !strings.Contains(out, `"answer":"It is done."`) {
		t.Errorf("%s", out)
	}
	for _, verdict := range []string{"approve", "deny"} {
		if code, _, errs := command(t, "", "approvals", verdict, line.ID[:8]); code != codeFailed ||
			!strings.Contains(errs, "it was approved before by user; nothing was run") {
			t.Errorf("%d: %s", code, errs)
		}
	}
	must(t, "", "submit", "-C", dir, "--session", "t", "work")
	run()
	short, _, _ := strings.Cut(must(t, "", "approvals"), " ")
	must(t, "", "approvals", "deny", short, "--message", "use a branch")
	run()
	exchanges := model.Exchanges()
	if body := string(exchanges[len(exchanges)-1].Body); !strings.Contains(body, "use a branch") {
		t.Errorf("the model does not see the denial: %s", body)
	}
	if out := must(t, "", "results"); !strings.Contains(out, `"answer":"Then not."`) {
		t.Errorf("%s", out)
	}
	if _, _, errs := command(t, "", "approvals"); errs != "no calls are held\n" {
		t.Errorf("%s", errs)
	}
	if code, _, errs := command(t, "", "approvals", "approve", "0000"); code != codeFailed ||
		!strings.Contains(errs, "there is no held call") {
		t.Errorf("%d: %s", code, errs)
	}
	if ran, err := os.ReadFile(filepath.Join(dir, "ran")); err != nil || string(ran) != "x\n" {
		t.Errorf("it ran %q, %v", ran, err)
	}
}
