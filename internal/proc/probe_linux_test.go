package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/sandbox"
)

// C22: a sandbox that is as it says passes the probe, and one that is not is found out.
func TestProve(t *testing.T) {
	if missing := Confines(); missing != nil {
		t.Log(missing)
		if _, err := Prove(t.Context(), sandbox.Policy{}, nil); err == nil {
			t.Error("nothing is confined, and the probe passed")
		}
		return
	}
	gate := egress.NewProxy(nil, egress.Dialer{})
	defer gate.Close()
	for name, p := range map[string]sandbox.Policy{
		"read-only": {}, "workspace": {Write: []string{"/"}}, "online": {Write: []string{"/"}, Network: sandbox.Online}, "reading online": {Network: sandbox.Online}, "view": {Write: []string{"/"}, View: true}, "reading view": {View: true},
		"apart": {Write: []string{"/"}, View: true, OwnNetwork: true}, "proxied": {Write: []string{"/"}, Network: sandbox.Proxied}, "reading, proxied": {Network: sandbox.Proxied},
		"own processes, reading": {OwnProcesses: true}, "own processes": {Write: []string{"/"}, View: true, OwnNetwork: true, OwnProcesses: true},
		"proxied apart": {Write: []string{"/"}, View: true, OwnNetwork: true, Network: sandbox.Proxied},
	} {
		if tried, err := Prove(t.Context(), p, gate); err != nil || tried < 20 {
			t.Errorf("%s: %d tried, %v", name, tried, err)
		}
	}
	for want, hole := range map[string]func(*sandbox.ProbeTarget, *sandbox.Policy){
		"reading a file (<nil>)":       func(b *sandbox.ProbeTarget, p *sandbox.Policy) { p.Read = append(p.Read, b.Dir) },
		"making a file (<nil>)":        func(b *sandbox.ProbeTarget, p *sandbox.Policy) { p.Write = append(p.Write, b.Dir) },
		"TCP (<nil>)":                  func(_ *sandbox.ProbeTarget, p *sandbox.Policy) { p.Network = sandbox.Online },
		"passing a descriptor (<nil>)": func(_ *sandbox.ProbeTarget, p *sandbox.Policy) { p.Network = sandbox.Online },
		"a mode outside (<nil>)": func(b *sandbox.ProbeTarget, p *sandbox.Policy) {
			b.View, b.Writes, p.Write = true, true, []string{b.Room}
		},
		"a hidden file (<nil>)":                     func(b *sandbox.ProbeTarget, _ *sandbox.Policy) { b.Hides = true },
		"writing in the folder (<nil>)":             func(b *sandbox.ProbeTarget, p *sandbox.Policy) { p.Write = append(p.Write, b.Room) },
		"the sandbox refuses what it should allow:": func(b *sandbox.ProbeTarget, _ *sandbox.Policy) { b.Room += "/none" },
	} {
		top := t.TempDir()
		b := sandbox.ProbeTarget{Dir: filepath.Join(top, "out"), Room: filepath.Join(top, "in"), Host: os.Getpid()}
		for _, path := range []string{filepath.Join(b.Dir, "target"), filepath.Join(b.Room, "file"), filepath.Join(b.Room, "hidden")} {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("target"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		listener, err := listenIn(b.Dir)
		if err != nil {
			t.Fatal(err)
		}
		policy := sandbox.ReadOnly("", "", b.Room, selfExe)
		hole(&b, &policy)
		if _, err := runProbe(t.Context(), b, policy, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		_ = unix.Close(listener)
	}
}

// BenchmarkProbe measures one sandbox probe.
func BenchmarkProbe(b *testing.B) {
	for b.Loop() {
		if _, err := Prove(b.Context(), sandbox.Policy{Write: []string{"/"}}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// The shell script of the probe, which macOS uses, finds no way out of this machine's sandbox.
func TestProbeScriptInSandbox(t *testing.T) {
	top := t.TempDir()
	for _, p := range []sandbox.Policy{{}, {Write: []string{"/"}, View: true}} {
		if _, err := Prove(t.Context(), p, nil); err != nil {
			continue // the kernel has no such sandbox
		}
		b := sandbox.ProbeTarget{
			Dir:    filepath.Join(top, "out"),
			Room:   filepath.Join(top, "in"),
			Host:   os.Getpid(),
			Writes: p.View,
			View:   p.View,
			Server: 1,
		}
		if err := writeProbeFiles(b); err != nil {
			t.Fatal(err)
		}
		policy := sandbox.ReadOnly("", os.Getenv("PATH"), b.Room)
		if p.View {
			policy.Write, policy.View = []string{b.Room}, true
			policy.Protect = []string{filepath.Join(b.Room, "keeper", "kept")}
		}
		out, err := Run(
			t.Context(),
			Command{
				Argv:    []string{"/bin/sh", "-c", sandbox.ProbeScript(b)},
				Dir:     "/",
				Env:     []string{"PATH=" + os.Getenv("PATH")},
				Sandbox: &policy,
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		if e := sandbox.ReadProbe(string(out.Stdout)); len(e.Out) > 0 || e.Stuck != "" || e.Tried < 13 {
			t.Errorf("%+v\n%s", e, out.Stderr)
		}
	}
}
