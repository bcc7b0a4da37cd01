package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/sandbox"
)

// Prove runs a probe in a sandbox of the policy's kind. The probe tries each escape that the policy
// forbids; tried is their number, and the error names the successful ones (C22). Only the
// permissions of the policy count, not its paths. Policies with a proxy need the proxy, which must
// refuse the host canary.invalid.
func Prove(ctx context.Context, p sandbox.Policy, proxy Proxy) (tried int, err error) {
	if err := Confines(); err != nil {
		return 0, err
	}
	top, err := disk.NewScratch("canary")
	if err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	defer func() { _ = top.Remove() }() // the next sweep removes the rest
	b := sandbox.ProbeTarget{
		Dir:          filepath.Join(top.Path, "out"),
		Room:         filepath.Join(top.Path, "in"),
		Host:         os.Getpid(),
		Writes:       len(p.Write) > 0,
		Network:      p.Network,
		View:         p.View,
		Apart:        p.OwnNetwork,
		OwnProcesses: p.OwnProcesses,
	}
	b.Hides = p.View || !b.Writes
	if err := writeProbeFiles(b); err != nil {
		return 0, err
	}
	listener, err := listenIn(b.Dir)
	if err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	defer func() { _ = unix.Close(listener) }()
	policy := sandbox.ReadOnly("", "", b.Room, selfExe)
	if policy.Network = p.Network; b.Writes {
		policy.Write = []string{b.Room}
	}
	if policy.View = p.View; b.View {
		policy.Protect = []string{filepath.Join(b.Room, "keeper", "kept")}
	}
	policy.OwnNetwork, policy.OwnProcesses = p.OwnNetwork, p.OwnProcesses
	if b.Hides {
		for _, name := range []string{"hidden", "closed", "above/hidden"} {
			hidden, err := sandbox.Find(filepath.Join(b.Room, name))
			if err != nil {
				return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
			}
			policy.Hide = append(policy.Hide, hidden)
		}
	}
	if p.Network != sandbox.Proxied {
		return runProbe(ctx, b, policy, nil)
	}
	server, err := unix.Socket(
		unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0,
	) // without package net, which supervisors would load
	if err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	defer func() { _ = unix.Close(server) }()
	if b.Server, err = listenHere(server); err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	if policy.Port, err = ProxyPort(policy, proxy); err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	b.Proxy = proxy.URL(policy.Port)
	return runProbe(ctx, b, policy, proxy.ServeFile)
}

// listenIn opens a datagram socket at a path in a folder; nothing reads it.
func listenIn(dir string) (socket int, err error) {
	folder, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(folder) }()
	socket, err = unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Bind(socket, &unix.SockaddrUnix{Name: sandbox.ListenerName(folder)}); err != nil {
		_ = unix.Close(socket)
		return -1, err
	}
	return socket, nil
}

// runProbe runs the probe in a sandbox.
func runProbe(
	ctx context.Context, b sandbox.ProbeTarget, policy sandbox.Policy, proxyListener func(*os.File),
) (tried int, err error) {
	raw, err := json.Marshal(b)
	if err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	out, err := Run(
		ctx,
		Command{
			Argv:          []string{selfExe, sandbox.ProbeName, string(raw)},
			Dir:           "/",
			Env:           []string{"GOMAXPROCS=1"},
			Sandbox:       &policy,
			ProxyListener: proxyListener,
		},
	)
	var e sandbox.Escapes
	switch {
	case err != nil:
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	case !out.OK() || json.Unmarshal(out.Stdout, &e) != nil || e.Tried == 0:
		return 0, fmt.Errorf("cannot try out the sandbox: exit code %d", out.Code)
	case e.Stuck != "":
		return 0, fmt.Errorf("the sandbox refuses what it should allow: %s", e.Stuck)
	case len(e.Out) > 0:
		return e.Tried, fmt.Errorf("the kernel does not enforce the sandbox: %s", strings.Join(e.Out, ", "))
	}
	if target, err := os.ReadFile(filepath.Join(b.Dir, "target")); err != nil || string(target) != "target" {
		return e.Tried, errors.New("the kernel does not enforce the sandbox: a file outside of it was changed")
	}
	return e.Tried, nil
}
