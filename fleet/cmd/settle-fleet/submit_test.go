package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet"
)

// accepting is an engine that takes so many groups of tasks.
type accepting struct {
	groups int
	tasks  []fleet.Task
	sent   int
}

func (a *accepting) Accept(_ context.Context, tasks []fleet.Task) (fresh []string, err error) {
	if a.groups--; a.groups < 0 {
		return nil, errors.New("the database is gone")
	}
	a.tasks = append(a.tasks, tasks...)
	for _, t := range tasks {
		fresh = append(fresh, t.ID())
	}
	return fresh, nil
}

func (a *accepting) Send(_ context.Context, ids []string) error {
	a.sent += len(ids)
	return nil
}

// fullOutput is an output whose writes fail.
type fullOutput struct{}

func (fullOutput) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// many returns so many tasks.
func many(n int) []fleet.Task {
	tasks := make([]fleet.Task, n)
	for i := range tasks {
		tasks[i] = fleet.Task{Session: fmt.Sprint("s", i), Input: "1", Prompt: "work"}
	}
	return tasks
}

// TestACutOffSubmission prints the ids that were accepted, and says what to repeat.
func TestACutOffSubmission(t *testing.T) {
	var out, errs bytes.Buffer
	e := &accepting{groups: 2}
	err := submit(t.Context(), &out, &errs, e, many(1201))
	if n := strings.Count(out.String(), "\n"); n != 1000 || e.sent != 1000 {
		t.Errorf("%d ids are printed, and %d tasks are sent", n, e.sent)
	}
	for _, says := range []string{"1000 tasks were accepted of 1201: the database is gone", "submit again those that name their session", "others would be new"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, without %q", err, says)
		}
	}
}

// TestIDsThatCannotBePrinted end no submission, and the error says where they begin.
func TestIDsThatCannotBePrinted(t *testing.T) {
	for _, n := range []int{1, 1201} {
		e := &accepting{groups: 3}
		err := submit(t.Context(), fullOutput{}, &bytes.Buffer{}, e, many(n))
		if len(e.tasks) != n || err == nil ||
			!strings.Contains(err.Error(), "submitted, but the ids from s0/1 on could not be printed: no space left") {
			t.Errorf("%d of %d: %v", len(e.tasks), n, err)
		}
	}
}

// TestAClosedPipe does not cut a submission off.
func TestAClosedPipe(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	var lines strings.Builder
	for n := range 1201 {
		fmt.Fprintf(&lines, `{"session":"s%d","prompt":"work"}`+"\n", n)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVar+"="+roleCommand, argsVar+"=submit\t-f\t-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(lines.String()), w, &stderr
	_ = cmd.Run() // its exit code says it
	if code := cmd.ProcessState.ExitCode(); code != codeFailed ||
		!strings.Contains(stderr.String(), "1201 tasks were submitted, but the ids from s0/1 on could not be printed") {
		t.Errorf("%d: %s", code, stderr.String())
	}
	if out := must(t, "", "status"); !strings.HasPrefix(out, "queued 1201,") {
		t.Errorf("%s", out)
	}
}

// TestWrongLines refuse the whole file, and leave no budget.
func TestWrongLines(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	good := strings.Repeat(`{"prompt":"work"}`+"\n", 600)
	for line, says := range map[string]string{
		`{"prompt":"hi"} garbage`:                    "line 601: there is something behind the task",
		`{"prompt":"a\u0000b"}`:                      "line 601: the prompt of the task has a NUL",
		`{"prompt":"hi","limits":{"seconds":1e300}}`: "line 601: the limit of 1e+300 seconds",
		`{"prompt":"hi","session":".."}`:             "line 601: the id",

		`{"session":"two1","prompt":"hi"}{"session":"two2","prompt":"hi"}`: "line 601: there is something behind the task",

		`{"prompt":"` + strings.Repeat("a", maxLine-len(`{"prompt":""}`)+1) + `"}`: "line 601: it has more than 4 MiB",
	} {
		code, out, errs := command(t, good+line, "submit", "-f", "-", "--batch", "b", "--budget-usd", "1")
		if code != codeUsage || out != "" || !strings.Contains(errs, says) {
			t.Errorf("%.80s: %d, %s%s", line, code, out, errs)
		}
	}
	if out := must(t, "", "status", "--batch", "b"); !strings.HasPrefix(out, "queued 0,") ||
		strings.Contains(out, "$1") {
		t.Errorf("%s", out)
	}
	must(t, "\ufeff"+`{"session":"bom","prompt":"hi"}`, "submit", "-f", "-")
	var f submitFlags
	if tasks, err := f.read(strings.NewReader(`{"prompt":"` + strings.Repeat("a", maxLine-len(`{"prompt":""}`)) + "\"}\r\n")); err != nil ||
		len(tasks) != 1 {
		t.Errorf("a line of 4 MiB: %d, %v", len(tasks), err)
	}
}

// TestWrongNumbersAndNames are wrong usage.
func TestWrongNumbersAndNames(t *testing.T) {
	homeAlone(t)
	must(t, "", "migrate")
	for line, says := range map[string]string{
		"rate set chat --requests NaN":               "a number that is not negative",
		"rate set chat --tokens Inf":                 "a number that is not negative",
		"rate set ":                                  "the provider has no name",
		"rate bogus":                                 `unknown command "bogus"`,
		"tenant bogus":                               `unknown command "bogus"`,
		"tenant set ":                                "the tenant has no name",
		"tenant set x --weight NaN":                  "--weight must be a number",
		"submit --batch b --budget-usd NaN hi":       "that are not negative",
		"submit --batch b --budget-usd Inf hi":       "that are not negative",
		"submit --batch \u00a0 --budget-tokens 1 hi": "does not print",
		"submit --timeout NaN hi":                    "the limit of NaN seconds",
		"submit --timeout 1e-10 hi":                  "the limit of 1e-10 seconds",
		"submit --timeout 9300000000 hi":             "the limit of 9.3e+09 seconds",
	} {
		if code, _, errs := command(t, "", strings.Split(line, " ")...); code != codeUsage ||
			!strings.Contains(errs, says) {
			t.Errorf("%s: %d, %s", line, code, errs)
		}
	}
	if out := must(t, "", "rate", "list", "--json"); out != "" {
		t.Errorf("%s", out)
	}
}
