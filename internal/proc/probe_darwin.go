package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/sandbox"
)

// confines runs a probe once, because the profile was never tested on a Mac: it reports whether
// commands run in a sandbox here and cannot escape.
func confines() error { return confinesOnce() }

var confinesOnce = sync.OnceValue(func() error {
	if err := sandbox.Check(); err != nil {
		return err
	}
	_, err := runProbe(context.Background(), sandbox.Policy{}, 0)
	return err
})

func confined(p sandbox.Policy, program string, argv []string) (path string, args []string, err error) {
	path, args = sandbox.Confined(p, program, argv)
	return path, args, nil
}

// Prove runs a probe in a sandbox of the policy's kind. The probe tries each escape that the policy
// forbids; tried is their number, and the error names the successful ones (C22). Only the
// permissions of the policy count, not its paths. Policies with a proxy need the proxy.
func Prove(ctx context.Context, p sandbox.Policy, proxy Proxy) (tried int, err error) {
	if err := Confines(); err != nil {
		return 0, err
	}
	if p.OwnNetwork {
		return 0, errors.New("macOS has no network of a command's own")
	}
	if p.OwnProcesses {
		return 0, errors.New("macOS hides no processes")
	}
	var port uint16
	if p.Network == sandbox.Proxied {
		if port, err = proxy.Listen(); err != nil {
			return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
		}
	}
	return runProbe(ctx, p, port)
}

// runProbe runs the probe in a sandbox. It is a shell script, so that it also shows that
// programs work there.
func runProbe(ctx context.Context, p sandbox.Policy, proxy uint16) (tried int, err error) {
	top, err := disk.NewScratch("canary")
	if err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	defer func() { _ = top.Remove() }() // the next sweep removes the rest
	b := sandbox.ProbeTarget{
		Dir:     filepath.Join(top.Path, "out"),
		Room:    filepath.Join(top.Path, "in"),
		Host:    os.Getpid(),
		Writes:  len(p.Write) > 0,
		View:    p.View,
		Network: p.Network,
		Proxy:   strconv.Itoa(int(proxy)),
	}
	if err := writeProbeFiles(b); err != nil {
		return 0, err
	}
	server, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	unix.CloseOnExec(server)
	defer func() { _ = unix.Close(server) }()
	if b.Server, err = listenHere(server); err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	policy := sandbox.ReadOnly("", "", b.Room)
	if policy.Network, policy.Port = p.Network, proxy; b.Writes {
		policy.Write, policy.Protect = []string{b.Room}, []string{filepath.Join(b.Room, "keeper", "kept")}
	}
	return sendProbe(ctx, b, policy)
}

func sendProbe(ctx context.Context, b sandbox.ProbeTarget, policy sandbox.Policy) (tried int, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	path, argv, err := confined(policy, "/bin/sh", []string{"sh", "-c", sandbox.ProbeScript(b)})
	if err != nil {
		return 0, err
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = "/", []string{"PATH=/usr/bin:/bin"}, &stdout, &stderr
	cmd.WaitDelay = time.Second
	err = spawn(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		return 0, fmt.Errorf("cannot try out the sandbox: %w", err)
	}
	err = cmd.Wait()
	forget(cmd.Process.Pid)
	e := sandbox.ReadProbe(stdout.String())
	switch {
	case err != nil || e.Tried == 0:
		return 0, fmt.Errorf("cannot try out the sandbox: %v: %.300s", err, strings.TrimSpace(stderr.String()))
	case e.Stuck != "":
		return 0, fmt.Errorf("the sandbox refuses what it should allow: %s", e.Stuck)
	case len(e.Out) > 0:
		return e.Tried, fmt.Errorf("macOS does not enforce the sandbox: %s", strings.Join(e.Out, ", "))
	}
	return e.Tried, nil
}
