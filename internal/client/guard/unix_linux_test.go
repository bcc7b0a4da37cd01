package guard

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// A sandboxed command with a network reaches the socket of a server and gets no answer.
func TestListenUnixRefusesSandboxedPeers(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Logf("nothing is confined here: %v", err)
		return
	}
	path := filepath.Join(t.TempDir(), "private", "s")
	place, err := ListenUnix(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends with the listener
		defer close(done)
		for {
			conn, err := place.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "hello")
			_ = conn.Close()
		}
	}()
	defer func() {
		_ = place.Close()
		<-done
	}()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	readOnly := sandbox.ReadOnly("", "", "/")
	readOnly.Network = sandbox.Online
	for name, policy := range map[string]*sandbox.Policy{"free": nil, "sandboxed": &readOnly} {
		command := proc.Command{Argv: []string{program, connectRole, path}, Dir: "/", Sandbox: policy}
		out, err := proc.Run(t.Context(), command)
		if err != nil || !out.OK() {
			t.Fatalf("%s: %v, %+v: %s", name, err, out.Exit, out.Stderr)
		}
		if answered := string(out.Stdout) == "hello"; answered != (policy == nil) {
			t.Errorf("%s: the server answered %q", name, out.Stdout)
		}
	}
}
