package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/fleet/temporaldev"
	"github.com/settle-agent/settle/fleet/temporaldev/temporaltest"
)

// quickstart returns the commands of the page, with the port replaced by a free one.
func quickstart(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/fleet-quickstart.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "Then, in an empty directory:")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	commands, _, found := strings.Cut(rest, "```")
	if n := strings.Count(commands, "\n"); !found || n != 7 {
		t.Fatalf("the quickstart has %d commands", n)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strings.ReplaceAll(commands, "127.0.0.1:8080", l.Addr().String())
}

// install builds the programs of the quickstart into a directory.
func install(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	for module, program := range map[string]string{"../../..": "settle", "../..": "settle-fleet"} {
		build := exec.CommandContext(
			t.Context(), "go", "build", "-C", module, "-o", filepath.Join(bin, program), "./cmd/"+program,
		)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return bin
}

// TestQuickstart: the commands of the page lead to 100 finished tasks, and a second
// submission changes nothing. When the shell is killed, nothing that it started is left.
func TestQuickstart(t *testing.T) {
	program := temporaltest.Program(t)
	commands, bin := quickstart(t), install(t)
	root, err := os.MkdirTemp("/tmp", "settle-quick-") // the path of a socket has less than 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	work := filepath.Join(root, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	second := strings.Split(commands, "\n")[5]
	// The servers end in good order, as with Ctrl-C.
	script := "set -e\n" + commands + second + "\nkill -INT %2\nwait %2\nkill %1\n"
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-m", "-c", script)
	cmd.WaitDelay = time.Second
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "HOME="+root, "SETTLE_DATA_DIR="+filepath.Join(root, "data"),
		"PATH="+bin+":"+os.Getenv("PATH"),
		// Another fleet of the shell, which the commands must not use.
		databaseVar+"=postgres://127.0.0.1:1/other", "TEMPORAL_ADDRESS=127.0.0.1:1", "TEMPORAL_NAMESPACE=other",
		temporaldev.ProgramVar+"="+program)
	if os.Geteuid() == 0 { // root's dev has one place on the machine
		owner := 65534
		if err := chownAll(root, owner); err != nil {
			t.Fatal(err)
		}
		for at := bin; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(owner), Gid: uint32(owner)}}
	}
	began := time.Now()
	out, err := cmd.CombinedOutput()
	t.Logf("the quickstart took %v", time.Since(began).Round(time.Second))
	results, _ := os.ReadFile(filepath.Join(work, "results.jsonl"))
	completed := strings.Count(string(results), `"outcome":"completed"`)
	if err != nil || completed != 100 || !strings.Contains(string(out), "100 of 100 tasks were known") ||
		!strings.Contains(string(out), "temporal web UI: http://127.0.0.1:") {
		t.Errorf("%v, %d tasks have completed\n%s", err, completed, out)
	}
}

func chownAll(root string, owner int) error {
	return filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, owner, owner)
		}
		if err != nil {
			return fmt.Errorf("cannot give %q to another user: %w", path, err)
		}
		return nil
	})
}
