package main

import (
	"strings"
	"testing"
)

// TestSessionPrefix: lines that name no session get one from the prefix and their number, so
// that a repetition submits nothing twice.
func TestSessionPrefix(t *testing.T) {
	home(t)
	must(t, "", "migrate")
	lines := `{"prompt":"one"}` + "\n\n" + `{"prompt":"two","session":"own"}` + "\n" + `{"prompt":"three"}`
	for _, known := range []string{"", "3 of 3 tasks were known"} {
		code, out, errs := command(t, lines, "submit", "--file", "-", "--session-prefix", "job-7")
		if code != 0 || out != "job-7-1/1\nown/1\njob-7-4/1\n" || !strings.Contains(errs, known) {
			t.Errorf("%d, %s, %s", code, out, errs)
		}
	}
	if code, _, errs := command(t, "", "submit", "--session-prefix", "x", "hello"); code != codeUsage ||
		!strings.Contains(errs, "--session-prefix is for --file") {
		t.Errorf("%d, %s", code, errs)
	}
}
