package about

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/config"
)

// The verdict and the one thing to do come first, then the checks, failures first.
func TestDoctorBeginsWithVerdict(t *testing.T) {
	d := &doctor{}
	d.report(passed, "settle", "v1")
	d.report(limited, "git", "not found")
	d.report(failed, "model", "no model was named\n  set A_KEY\n  or start a server")
	var text, raw strings.Builder
	if err := errors.Join(d.verdict().write(&text, false), d.verdict().write(&raw, true)); err != nil {
		t.Fatal(err)
	}
	want := `settle cannot work here yet: no model was named
  set A_KEY
  or start a server

fail  model           no model was named
note  git             not found
ok    settle          v1
`
	if text.String() != want {
		t.Errorf("got %q", text.String())
	}
	var got examination
	if err := json.Unmarshal([]byte(raw.String()), &got); err != nil || got.OK || len(got.Checks) != 3 || got.Do == "" {
		t.Errorf("%v: %s", err, raw.String())
	}
}

// The modes of the sandbox take one line for each finding; -v has a line for each mode.
func TestDoctorCountsSandboxModes(t *testing.T) {
	modes := sandboxModes{enforced: []string{"read-only: x", "workspace: y"}, missing: []string{"a: no"}, attempts: 7}
	short, long := &doctor{}, &doctor{Machine: Machine{Verbose: true}}
	modes.report(short)
	modes.report(long)
	if len(short.checks) != 2 || len(long.checks) != 3 {
		t.Fatalf("got %v and %v", short.checks, long.checks)
	}
	const head = "commands in the terminal can run sandboxed, without a question; a self-test of 2 kinds of sandbox ("
	const end = ") tried to escape in 7 ways, and none succeeded"
	if got := short.checks[1]; got.Finding != passed || !strings.HasPrefix(got.Message, head) ||
		!strings.HasSuffix(got.Message, end) {
		t.Errorf("got %q", got.Message)
	}
	if got := short.checks[0].Message; !strings.HasPrefix(got, "1 mode not enforced") {
		t.Errorf("got %q", got)
	}
}

// In a directory in which commands are not sandboxed, the checks state the reason, and do not claim that they can be.
func TestDoctorNamesDirectoryWithoutSandbox(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "project")
	for dir, want := range map[string]string{home: "contains your home directory", project: ""} {
		getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
		d := &doctor{Machine: Machine{Settings: &config.Resolved{}, Dir: dir, Getenv: getenv}}
		if got := d.outside(); got != want {
			t.Errorf("%s: %q", dir, got)
		}
		sandboxModes{enforced: []string{"read-only: x"}}.report(d)
		can := strings.HasPrefix(d.checks[0].Message, "commands in the terminal can run sandboxed")
		if can != (want == "") {
			t.Errorf("%s: %q", dir, d.checks[0].Message)
		}
	}
}

// A long value of a setting does not widen the rows of the others.
func TestSettingRowsAreNarrow(t *testing.T) {
	long := strings.Repeat("x", 200)
	got := settingRows([][]string{{"a", "1", "default"}, {"long", long, "file"}, {"b", "2", "default"}})
	for line := range strings.Lines(got) {
		if !strings.Contains(line, long) && len(line) > 70 {
			t.Errorf("a row of %d columns: %q", len(line), line)
		}
	}
}
