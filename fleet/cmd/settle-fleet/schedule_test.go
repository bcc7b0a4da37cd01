package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet"
	"github.com/settle-agent/settle/fleet/engine"
	"github.com/settle-agent/settle/fleet/index"
	"github.com/settle-agent/settle/modeltest"
)

// TestSchedules: a schedule is created, submits its task, which a worker runs, and is deleted.
// A key in its prompt is masked.
func TestSchedules(t *testing.T) {
	home(t)
	t.Setenv("OPENAI_API_KEY", "sk-0123456789abcdefghijkl")
	must(t, "", "migrate")
	for _, wrong := range [][]string{
		{"create", "n", "work"},
		{"create", "n", "--cron", "* * * * *", "--every", "1h", "work"},
		{"create", "n", "--every", "1ms", "work"},
		{"create", "a b", "--every", "1h", "work"},
		{"create", "n/m", "--every", "1h", "work"},
	} {
		if code, _, errs := command(t, "", append([]string{"schedule"}, wrong...)...); code != codeUsage {
			t.Errorf("%q: %d, %s", wrong, code, errs)
		}
	}
	code, _, errs := command(t, "", "schedule", "create", "n", "--cron", "nonsense", "work")
	if code != codeFailed || !strings.Contains(errs, `cannot create schedule "n" in Temporal`) {
		t.Errorf("%d, %s", code, errs)
	}
	must(t, "", "schedule", "create", "often", "--every", "1s", "--label", "k=v", "say", "sk-0123456789abcdefghijkl")
	must(t, "", "schedule", "create", "yearly", "--cron", "CRON_TZ=Europe/Berlin 0 2 1 1 *", "say")
	if out := must(t, "", "schedule", "list"); !strings.Contains(out, "often   every 1s ") ||
		!strings.Contains(out, "0 2 1 1 *  20") || strings.Contains(out, "sk-0123") {
		t.Errorf("%s", out)
	}
	model := modeltest.NewServer(t, modeltest.Scenario{Loop: true, Turns: []modeltest.Turn{modeltest.Say("Hello.")}})
	ctx, stop := context.WithCancel(t.Context())
	worker := make(chan int, 1)
	var stderr bytes.Buffer
	go func() { // ends with stop, and is waited for
		args := []string{"worker", "-m", "openai/gpt-5.2", "--base-url", model.OpenAI()}
		worker <- execute(ctx, args, strings.NewReader(""), &bytes.Buffer{}, &stderr)
	}()
	var u fleet.TaskStatus
	for deadline := time.Now().Add(time.Minute); u.Result == nil && time.Now().Before(deadline); {
		if line, _, found := strings.Cut(must(t, "", "results", "--label", "k=v"), "\n"); found {
			if err := json.Unmarshal([]byte(line), &u); err != nil {
				t.Fatal(err)
			}
		}
	}
	if u.Result == nil || u.Result.Answer != "Hello." || !strings.HasPrefix(u.ID, "often-20") ||
		strings.Contains(u.Task.Prompt, "sk-0123") {
		t.Errorf("%+v", u)
	}
	must(t, "", "schedule", "delete", "often")
	must(t, "", "schedule", "delete", "yearly")
	code, _, errs = command(t, "", "schedule", "delete", "often")
	if code != codeFailed || !strings.Contains(errs, "there is no schedule") {
		t.Errorf("%d, %s", code, errs)
	}
	stop()
	if code := <-worker; code != 0 {
		t.Errorf("the worker's exit code is %d\n%s", code, stderr.String())
	}
}

// TestTimesOfSchedules: durations have no zeros at their end.
func TestTimesOfSchedules(t *testing.T) {
	for every, want := range map[time.Duration]string{
		30 * time.Minute: "every 30m", 24 * time.Hour: "every 24h", 90 * time.Minute: "every 1h30m",
		10 * time.Second: "every 10s", time.Hour + time.Second: "every 1h0m1s",
	} {
		if got := scheduleTimes(engine.Schedule{Schedule: index.Schedule{Every: every}}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
