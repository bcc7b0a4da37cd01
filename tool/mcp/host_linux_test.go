package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/mcp"
)

// hostRole makes this test binary a host with many servers.
const (
	hostRole  = "SETTLE_TEST_MCP_HOST"
	manyHosts = 100
)

// playHost starts many servers, prints how many have tools, and waits to be killed.
func playHost() {
	if _, err := proc.BecomeReaper(); err != nil {
		panic(err)
	}
	var servers []mcp.Server
	for i := range manyHosts {
		servers = append(servers, mcp.Server{
			Name: fmt.Sprintf(
				"s%d", i,
			), Argv: []string{"/proc/self/exe"}, Env: []string{fakeMode + "=stubborn", "STUBBORN=" + os.Getenv("STUBBORN")},
			StartTimeout: patience,
		})
	}
	dir := os.Getenv("HOST_DIR")
	s := mcp.Open(
		mcp.Config{Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: dir, CacheDir: dir, Marker: os.Getenv("STUBBORN")},
		mcp.Read(dir, servers),
	)
	set, err := tool.NewSet(s.Tools()...)
	if err != nil {
		panic(err)
	}
	args, _ := json.Marshal(map[string]string{"query": "nothing that is there"})
	r, err := set.Run(context.Background(), tool.Call{ID: "call", Name: "tool_search", Args: args, Dir: dir})
	fmt.Println(strings.Count(r.Output, "__echo"), err, len(r.Output))
	hang()
}

// C7: none of a hundred servers, and none of their child processes, outlives a killed host.
func TestKilledHost(t *testing.T) {
	mark := fmt.Sprintf("mcp-host-%d-%d", os.Getpid(), time.Now().UnixNano())
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), hostRole+"=1", "STUBBORN="+mark, "HOST_DIR="+t.TempDir())
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_, _ = proc.Sweep(mark)
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if files, _ := filepath.Glob(filepath.Join(strings.TrimPrefix(cmd.Env[len(cmd.Env)-1], "HOST_DIR="), "*.json")); len(
		files,
	) == 0 {
		t.Errorf("no server has told its tools; the host says %s", line)
	}
	if n := marked(t, mark); n < 2*manyHosts {
		t.Errorf("%d processes run, want at least %d; the host says %s", n, 2*manyHosts, line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	late := time.After(patience)
	for marked(t, mark) > 0 {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-late:
			t.Fatalf("%d processes are left", marked(t, mark))
		}
	}
}
