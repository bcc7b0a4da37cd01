package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/modeltest"
)

// children returns the processes that the parent has started, with their command lines.
func children(t *testing.T, parent int) map[int]string {
	t.Helper()
	found := map[int]string{}
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, _ := os.ReadFile(path) // it may have ended
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(parent) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		found[pid] = strings.ReplaceAll(string(line), "\x00", " ")
	}
	return found
}

// server returns the process of dev whose command line contains the text.
func (d devFleet) server(t *testing.T, text string) int {
	t.Helper()
	for pid, line := range children(t, d.cmd.Process.Pid) {
		if strings.Contains(line, text) {
			return pid
		}
	}
	t.Fatalf("dev has no process %q", text)
	return 0
}

// TestDevKeepsServers: when Temporal or the database is killed, dev starts it again, at the
// same address, and every task that was accepted ends. When dev itself is killed, nothing
// that it started is left.
func TestDevKeepsServers(t *testing.T) {
	home(t)
	t.Setenv(databaseVar, "")
	t.Setenv("TEMPORAL_NAMESPACE", "devs") // which its server then has
	const tasks = 12
	model := modeltest.NewServer(t, modeltest.Scenario{Turns: []modeltest.Turn{modeltest.Say("done")}, Loop: true})
	d := startDevProcess(t, "-m", "openai/gpt-5.2", "--base-url", model.OpenAI(), "--slots", "2")
	address, ui := d.address(t, "temporal"), d.address(t, "temporal web UI")
	t.Setenv("TEMPORAL_ADDRESS", address)
	work := t.TempDir()
	servers := []string{"temporal", "postgres -D"}
	for n := range tasks {
		must(t, "", "submit", "--database", d.database, "-C", work, "--session", fmt.Sprint("s", n), "work")
		if n%4 != 1 {
			continue
		}
		pid := d.server(t, servers[n/4%2])
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
			code, _, stderr := command(t, "", "status", "--database", d.database)
			if code == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(stderr)
			}
		}
	}
	out := must(t, "", "results", "--wait", "--database", d.database)
	if strings.Count(out, `"outcome":"completed"`) != tasks {
		t.Errorf("not all tasks have completed: %s", out)
	}
	response, err := http.Get(ui + "/api/v1/cluster-info")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the web UI: %s", response.Status)
	}
	left := []int{d.server(t, servers[0]), d.server(t, servers[1])}
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); len(left) > 0; time.Sleep(20 * time.Millisecond) {
		if syscall.Kill(left[0], 0) != nil {
			left = left[1:]
		} else if time.Now().After(deadline) {
			t.Fatalf("%v outlive dev", left)
		}
	}
}
