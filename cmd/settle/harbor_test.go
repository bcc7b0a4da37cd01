//go:build machine && linux

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// Harbor's adapter runs settle in an environment, and has a trajectory after any end of the run;
// integrations/harbor names the replacement for Harbor.
func TestHarbor(t *testing.T) {
	t.Parallel()
	wait := modeltest.Reply(modeltest.Call("exec_command", `{"cmd":"sleep 60"}`)).For("wait")
	server := modeltest.NewServer(t, modeltest.Script(
		modeltest.Say("Hello.").For("hello").Using(modeltest.Usage{Input: 1200, CacheRead: 800, Output: 60}),
		modeltest.Say("Once.").For("again").Using(modeltest.Usage{Input: 10, Output: 1}),
		modeltest.Say("Twice.").For("again").Using(modeltest.Usage{Input: 20, Output: 1}),
		modeltest.Reply(modeltest.Call("exec_command", `{"cmd":"ls"}`)).For("list"),
		modeltest.Fail(modeltest.Status(404).Saying("model_not_found", "no such model")).For("fail"),
		wait, wait,
	))
	cmd := exec.CommandContext(t.Context(), "python3", "test_settle_harbor.py")
	cmd.Dir = "../../integrations/harbor"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "SCRATCH=" + t.TempDir(), "MODEL=" + server.OpenAI()}
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "ok ") != 8 {
		t.Errorf("%v: %s", err, out)
	}
}
