package hostsocket

import (
	"os"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// A sandboxed command with a network reaches the control socket and gets no answer.
func TestServerRefusesSandboxedPeers(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing is confined here: %v", err)
		return
	}
	s := startServer(t, shortDir(t))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	readOnly := sandbox.ReadOnly("", "", "/")
	readOnly.Network = sandbox.Online
	for name, policy := range map[string]*sandbox.Policy{"free": nil, "sandboxed": &readOnly} {
		out, err := proc.Run(
			t.Context(),
			proc.Command{Argv: []string{program, joinRole, s.path}, Dir: "/", Sandbox: policy},
		)
		if err != nil || !out.OK() {
			t.Fatalf("%s: %v, %+v: %s", name, err, out.Exit, out.Stderr)
		}
		if answered := strings.Contains(string(out.Stdout), "hello"); answered != (policy == nil) {
			t.Errorf("%s: the server answered %q", name, out.Stdout)
		}
	}
}
