package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet"
)

// People name the command of the executor "executor"; the database has it as "hands".
func TestNameOfExecutorInTasks(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	must(t, `{"session":"line","prompt":"a","executor":"ssh h"}`+"\n", "submit", "-f", "-", "--executor", "ssh other")
	must(t, "", "submit", "--session", "flag", "--executor", "ssh h", "a")
	for _, session := range []string{"line", "flag"} {
		if out := must(t, "", "status", session+"/1"); !strings.Contains(out, `"executor":"ssh h"`) ||
			strings.Contains(out, `"hands"`) || !strings.Contains(out, `"unit":"`+session+`/1"`) {
			t.Errorf("%s: %s", session, out)
		}
	}
	code, _, errs := command(t, `{"prompt":"a","hands":"x"}`, "submit", "-f", "-")
	if code == 0 || !strings.Contains(errs, `unknown field "hands"`) {
		t.Errorf("the name in the database: exit code %d: %s", code, errs)
	}
	stored, err := json.Marshal(fleet.Task{Prompt: "a", Executor: "ssh h"})
	if err != nil || !strings.Contains(string(stored), `"hands":"ssh h"`) {
		t.Errorf("stored as %s, %v", stored, err)
	}
}
