package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet"
)

// TestExecutorNames: the earlier name of the executor's command is accepted in flags and in
// lines, and the database keeps it, for programs of other versions.
func TestExecutorNames(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	lines := `{"session":"line","prompt":"a","executor":"ssh h"}` + "\n" +
		`{"session":"former-line","prompt":"a","hands":"ssh h"}` + "\n"
	must(t, lines, "submit", "-f", "-", "--executor", "ssh other")
	must(t, "", "submit", "--session", "flag", "--executor", "ssh h", "a")
	code, _, errs := command(t, "", "submit", "--session", "former-flag", "--hands", "ssh h", "a")
	if code != 0 || !strings.Contains(errs, "--hands is called --executor now") {
		t.Errorf("the earlier flag: exit code %d: %s", code, errs)
	}
	for _, session := range []string{"line", "former-line", "flag", "former-flag"} {
		if out := must(t, "", "status", session+"/1"); !strings.Contains(out, `"executor":"ssh h"`) ||
			strings.Contains(out, `"hands"`) || !strings.Contains(out, `"unit":"`+session+`/1"`) {
			t.Errorf("%s: %s", session, out)
		}
	}
	code, _, errs = command(t, `{"prompt":"a","hands":"x","executor":"y"}`, "submit", "-f", "-")
	if code == 0 || !strings.Contains(errs, `leave out "hands"`) {
		t.Errorf("both names: exit code %d: %s", code, errs)
	}
	stored, err := json.Marshal(fleet.Task{Prompt: "a", Executor: "ssh h"})
	if err != nil || !strings.Contains(string(stored), `"hands":"ssh h"`) {
		t.Errorf("stored as %s, %v", stored, err)
	}
}
