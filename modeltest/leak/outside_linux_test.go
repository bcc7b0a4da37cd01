package leak

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestDescriptorIsLeft(t *testing.T) {
	var f *os.File
	code, said := runTests(func() (code int) {
		var err error
		if f, err = os.Open(os.DevNull); err != nil {
			t.Fatal(err)
		}
		return 0
	})
	defer f.Close()
	if code != 1 || !strings.Contains(said, ": /dev/null") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

func TestProcessIsLeft(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	code, said := runTests(func() int {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if code != 1 || !strings.Contains(said, "sleep 1000") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// A process whose parent has died is a child of another process, and has the mark.
func TestOrphanIsLeft(t *testing.T) {
	var pid string
	code, said := runTests(func() int {
		out, err := exec.Command("sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!").Output()
		if err != nil {
			t.Fatal(err)
		}
		pid = strings.TrimSpace(string(out))
		for line := ""; !strings.HasPrefix(line, "sleep"); { // until then it has no environment to show
			raw, err := os.ReadFile("/proc/" + pid + "/cmdline")
			if err != nil {
				t.Fatal(err)
			}
			line = string(raw)
		}
		return 0
	})
	if err := exec.Command("sh", "-c", "kill -9 "+pid).Run(); err != nil {
		t.Fatal(err)
	}
	if code != 1 || !strings.Contains(said, "process "+pid+": ") {
		t.Errorf("exit code %d: %s", code, said)
	}
}

// A child that has ended, and that nobody has waited for, is one as well.
func TestZombieIsLeft(t *testing.T) {
	cmd := exec.Command("true")
	code, said := runTests(func() int {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return 0
	})
	_ = cmd.Wait()
	if code != 1 || !strings.Contains(said, "process ") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
