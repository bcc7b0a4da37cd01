package main

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// A command finds no key in any process of settle's (C15), and the probe finds
// one where it is.
func TestKeysAreOutOfReach(t *testing.T) {
	decoy := "decoy-" + hex.EncodeToString([]byte(t.Name()))
	tests := map[string]struct {
		uid    int
		memory bool // of settle is out of reach, too
	}{
		"as it is":         {os.Geteuid(), os.Geteuid() != 0},
		"an ordinary user": {54321, true},
	}
	for name, tt := range tests {
		if tt.uid != os.Geteuid() && os.Geteuid() != 0 {
			continue // it is one already
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			key := "sk-" + rand.Text() // nobody else's
			programs := p.programs(tt.uid)
			server := modeltest.NewServer(t, modeltest.Script(
				modeltest.Reply(modeltest.Call("shell", fmt.Sprintf(`{"command":"%s/probe %s %s %s"}`,
					programs, backwards(key), backwards("gateway-0123456789abcdefghij"), backwards(decoy)))),
				modeltest.Say("done"),
			))
			p.env = append(p.env, "SETTLE_API_KEY="+key, "COPY="+key, "GATE=gateway-0123456789abcdefghij")
			p.write(filepath.Join(filepath.Dir(p.work), "home", ".config", "settle", "config.toml"),
				"[providers.gate]\nwire = \"chat\"\nbase_url = \"http://x/v1\"\nkey_env = \"GATE\"\n", 0o644)
			decoyed := exec.CommandContext(p.ctx, "sleep", "60")
			decoyed.Env = []string{"DECOY=" + decoy}
			decoyed.SysProcAttr = as(tt.uid)
			started(t, decoyed)
			defer func() { _ = decoyed.Process.Kill(); _ = decoyed.Wait() }()

			cmd := p.run(server, "--json", "--session", "s", "go")
			cmd.Path, cmd.SysProcAttr = filepath.Join(programs, "settle"), as(tt.uid)
			started(t, cmd)
			exited(t, cmd, 0)
			body := string(server.Exchanges()[1].Body)
			for _, want := range []string{"probed true", "FOUND 2 in environ of sleep", "FOUND 2 in mem of sleep"} {
				if !strings.Contains(body, want) {
					t.Fatalf("the probe did not work, %q is not in\n%s", want, body)
				}
			}
			for n, place := range []string{"environ of settle", "cmdline of settle", "environ of bash", "environ of sh", "mem of settle"} {
				for k := range 2 {
					if found := fmt.Sprintf("FOUND %d in %s", k, place); strings.Contains(body, found) &&
						(n < 4 || tt.memory) {
						t.Errorf("%s\n%s", found, body)
					}
				}
			}
		})
	}
}

// programs puts settle and the probe, and the place itself, where the user has
// them.
func (p *place) programs(uid int) (dir string) {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	dir = p.t.TempDir()
	for _, name := range []string{"settle", "probe"} {
		raw, err := os.ReadFile(self)
		if err != nil {
			p.t.Fatal(err)
		}
		p.write(filepath.Join(dir, name), string(raw), 0o755)
	}
	for _, path := range []string{p.data, filepath.Join(filepath.Dir(p.work), "home")} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
	for path := dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
	if uid != os.Geteuid() {
		for _, path := range []string{p.work, p.data, filepath.Join(filepath.Dir(p.work), "home")} {
			if err := os.Chown(path, uid, uid); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	return dir
}

func as(uid int) *syscall.SysProcAttr {
	if uid == os.Geteuid() {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
}
