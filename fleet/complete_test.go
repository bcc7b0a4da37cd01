package fleet_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet"
)

// checkRefused checks that a task is refused, for the reason that it says.
func checkRefused(t *testing.T, says string, task fleet.Task) {
	t.Helper()
	task.Prompt += "work"
	if _, err := task.Complete(); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("%+v: %v, without %q", task, err, says)
	}
}

// TestNames: those of sessions, inputs, tenants, batches and labels can be read, and
// lead to no other directory.
func TestNames(t *testing.T) {
	for _, name := range []string{"a b", "a\x00", "a\rb", "a\x1b[2J", "a\u00a0b", "a\u200bb", "a\u202eb", "a\u3000b", "a\ufffd", "a\xff"} {
		says := "a space, or a character that does not print"
		checkRefused(t, says, fleet.Task{Session: name})
		checkRefused(t, says, fleet.Task{Input: name})
		checkRefused(t, says, fleet.Task{Tenant: name})
		checkRefused(t, says, fleet.Task{Batch: name})
		if name != "a b" {
			checkRefused(t, "a character that does not print", fleet.Task{Labels: map[string]string{name: "v"}})
		}
	}
	for _, id := range []string{".", ".."} {
		checkRefused(t, "the name of a directory", fleet.Task{Session: id})
		checkRefused(t, "the name of a directory", fleet.Task{Input: id})
	}
	for _, id := range []string{"a/b", "a~1"} {
		checkRefused(t, "a slash, a tilde", fleet.Task{Session: id})
		checkRefused(t, "a slash, a tilde", fleet.Task{Input: id})
	}
	long := strings.Repeat("a", 101)
	for _, task := range []fleet.Task{{Session: long}, {Input: long}, {Tenant: long}, {Batch: long}} {
		checkRefused(t, "more than 100 bytes", task)
	}
	checkRefused(t, "no key", fleet.Task{Labels: map[string]string{"": "v"}})
	task := fleet.Task{
		Session: "..a", Input: "größe-日本", Tenant: "é:1", Batch: "..", Prompt: "two\r\nlines\x1b",
		Labels: map[string]string{"the key=": "any\rvalue"},
	}
	if _, err := task.Complete(); err != nil {
		t.Error(err)
	}
	if err := fleet.CheckName("tenant", ""); err == nil || err.Error() != "the tenant has no name" {
		t.Error(err)
	}
}

// TestANUL is refused, wherever it is: Postgres stores none.
func TestANUL(t *testing.T) {
	for of, task := range map[string]fleet.Task{
		"prompt": {Prompt: "a\x00b"}, "dir": {Dir: "/a\x00b"}, "repo": {Repo: "/a\x00b"}, "ref": {Repo: "/a", Ref: "b\x00"},
		"model": {Model: "p/\x00"}, "executor": {Executor: "ssh \x00"},
		`label "k"`: {Labels: map[string]string{"k": "\x00"}},
	} {
		checkRefused(t, fmt.Sprintf("the %s of the task has a NUL", of), task)
	}
}

// TestSeconds: none that is no number, rounds to no limit, or fits no duration.
func TestSeconds(t *testing.T) {
	for _, seconds := range []float64{math.NaN(), math.Inf(1), 1e-10, 0.0009, 365*24*60*60 + 1, 9_300_000_000, 1e300} {
		checkRefused(t, "neither 0 nor between 0.001 and 31536000", fleet.Task{Limits: fleet.Limits{Seconds: seconds}})
	}
	for _, limits := range []fleet.Limits{{Seconds: math.Inf(-1)}, {Seconds: -1}, {Steps: -1}, {Tokens: -1}} {
		checkRefused(t, "below zero", fleet.Task{Limits: limits})
	}
	for _, seconds := range []float64{0, 0.001, 365 * 24 * 60 * 60} {
		task, err := fleet.Task{Prompt: "work", Limits: fleet.Limits{Seconds: seconds}}.Complete()
		if got := task.Limits.SessionLimits().Time.Seconds(); err != nil || got != seconds {
			t.Errorf("%g: %g, %v", seconds, got, err)
		}
	}
}
