package setsid_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/test/setsid"
	"github.com/settle-agent/settle/modeltest/leak"
)

// tests are one that runs without setsid in PATH, except for the test's own program.
type tests func() int

func (f tests) Run() int { return f() }

func TestMain(m *testing.M) {
	setsid.Command()
	os.Exit(leak.Run(m))
}

// A command that is started by it leads a session: its group is its own pid,
// which no shell without job control gives it.
func TestStandsIn(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	code := setsid.With(tests(func() int {
		for _, command := range []string{"setsid /bin/sh -c 'read -r line </proc/$$/stat; echo $$ $line'", "exec setsid /bin/sh -c 'read -r line </proc/$$/stat; echo $$ $line'"} {
			out, err := exec.Command(sh, "-c", command).CombinedOutput()
			fields := strings.Fields(string(out))
			if err != nil || len(fields) < 7 || fields[0] != fields[6] {
				t.Errorf("%s: %v: %q", command, err, out)
			}
		}
		if out, err := exec.Command(sh, "-c", "setsid no-such-command").CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "no-such-command") {
			t.Errorf("%v: %q", err, out)
		}
		return 3
	})).Run()
	if code != 3 {
		t.Errorf("code %d", code)
	}
	if _, err := exec.LookPath("setsid"); err == nil {
		t.Error("it is still in PATH")
	}
}
