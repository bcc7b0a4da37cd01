package executor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/repo/quarantine"
	"github.com/settle-agent/settle/internal/sandbox"
)

// maxWatched bounds the remembered sandboxed calls.
const maxWatched = 256

// Repositories finds git repositories that sandboxed commands created or changed, and moves the
// parts aside that could run a program.
type Repositories struct {
	*quarantine.Guard
	// Area returns the paths that a sandboxed command can change.
	Area func() quarantine.Area
	// Exclusion, shared by the sandboxes whose commands can change the same folders, keeps sandboxed
	// commands apart from [Command.Alone]; nil excludes nothing.
	Exclusion *Exclusion
}

// sandboxedCall has the parts that watch a sandboxed command. Each can be nil.
type sandboxedCall struct {
	proxy        *egress.Proxy
	guard        *guard
	repositories *Repositories
	process      *proc.Process // nil before the start
	leave        func()        // the exclusion
}

// end is called when all processes of the command have ended.
func (w sandboxedCall) end() {
	if w.guard != nil {
		w.guard.end()
	}
	if w.repositories != nil {
		w.repositories.Leave()
	}
	if w.proxy != nil {
		w.proxy.Close()
	}
	if w.leave != nil {
		w.leave()
	}
}

// leaveWithCall leaves the exclusion when the context of the call ends and the command or processes of it
// run on, as a job. If nothing runs on, the end of the command leaves it.
func (w sandboxedCall) leaveWithCall(ctx context.Context) {
	context.AfterFunc(ctx, func() {
		if !w.process.LeftNothing() {
			w.leave()
		}
	})
}

// awaitEnd waits until end has returned, or ctx ends. If processes of the command run on, it returns
// at once.
func (w sandboxedCall) awaitEnd(ctx context.Context) {
	if w.process == nil || !w.process.LeftNothing() {
		return
	}
	select {
	case <-w.process.Concluded():
	case <-ctx.Done():
	}
}

// sandboxedCalls are the sandboxed commands by the id of their call.
type sandboxedCalls struct {
	mu     sync.Mutex // guards the fields below
	calls  []string   // oldest first
	byCall map[string]sandboxedCall
}

func (c *sandboxedCalls) add(call string, w sandboxedCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byCall == nil {
		c.byCall = make(map[string]sandboxedCall)
	}
	if _, known := c.byCall[call]; !known {
		c.calls = append(c.calls, call)
	}
	c.byCall[call] = w
	if len(c.calls) > maxWatched {
		delete(c.byCall, c.calls[0])
		c.calls = c.calls[1:]
	}
}

func (c *sandboxedCalls) of(call string) sandboxedCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byCall[call]
}

// refused returns the refusals of the call's proxy so far.
func (w sandboxedCall) refused() []egress.Refusal {
	if w.proxy == nil {
		return nil
	}
	return w.proxy.Refused()
}

// maxStarts bounds the starts of a command while files with secrets move.
const maxStarts = 10

// startInSandbox starts a command in its sandbox. If a file with secrets moves
// before the sandbox hides it, the start begins again.
func (l *Local) startInSandbox(
	ctx context.Context, call string, c Confined, spec proc.Spec,
) (p *proc.Process, err error) {
	changed := (*sandbox.ChangedError)(nil)
	for range maxStarts {
		if p, err = l.startInSandboxOnce(ctx, call, c, spec); !errors.As(err, &changed) {
			break
		}
	}
	return p, err
}

// startInSandboxOnce starts a command in its sandbox. It first scans the repositories; the scan
// counts as part of the call and ends with it (C9).
func (l *Local) startInSandboxOnce(
	ctx context.Context, call string, c Confined, spec proc.Spec,
) (*proc.Process, error) {
	w := sandboxedCall{}
	if c.Sandbox == event.Workspace && l.Repositories != nil {
		leave, err := l.Repositories.Exclusion.enterSandboxed(ctx)
		if err != nil {
			return nil, err
		}
		w.leave = leave
		if err := l.Repositories.Enter(ctx, l.Repositories.Area()); err != nil {
			w.end()
			return nil, fmt.Errorf("cannot look at the git repositories before the command: %w", err)
		}
		w.repositories = l.Repositories
	}
	policy, env, err := l.Sandbox(c)
	if err != nil {
		w.end()
		return nil, fmt.Errorf("cannot confine the command: %w", err)
	}
	spec.Sandbox, spec.Env = &policy, overrideEnv(spec.Env, env)
	if c.Secrets == event.SecretsWithheld {
		spec.Confirm = func() error { // a file that has moved since the search has no mount over it
			later, _, err := l.Sandbox(c)
			if err != nil {
				return fmt.Errorf("cannot confine the command: %w", err)
			}
			return policy.Unhidden(later)
		}
	}
	return l.startSandboxed(ctx, call, spec, w)
}

// startSandboxed starts a sandboxed command. A command with a proxy has its own one, which is
// closed when all processes of the command have ended.
func (l *Local) startSandboxed(
	ctx context.Context, call string, spec proc.Spec, w sandboxedCall,
) (*proc.Process, error) {
	w.guard = newGuard(*spec.Sandbox)
	if spec.Sandbox.Network == sandbox.Proxied {
		w.proxy = egress.NewProxy(l.Hosts, l.Dialer)
		if err := useProxy(&spec, w.proxy); err != nil {
			w.end()
			return nil, fmt.Errorf("cannot confine the command: %w", err)
		}
	}
	spec.Ended = w.end
	p, err := proc.Start(ctx, spec)
	if err != nil {
		w.end()
		return nil, err
	}
	w.process = p
	switch {
	case w.leave == nil:
	case call == "": // a server or a hook can run for long
		w.leave()
	default:
		w.leaveWithCall(ctx)
	}
	l.sandboxed.add(call, w)
	return p, nil
}

// useProxy passes the address of the proxy to a command.
func useProxy(spec *proc.Spec, proxy *egress.Proxy) error {
	policy := *spec.Sandbox
	port, err := proc.ProxyPort(policy, proxy)
	if err != nil {
		return err
	}
	policy.Port, spec.ProxyListener = port, proxy.ServeFile
	more := proxy.Env(port)
	if name, variable := sshProxyCommand(spec.Env); variable != "" {
		policy.Read = append(slices.Clip(policy.Read), name)
		more = append(more, variable)
	}
	spec.Sandbox, spec.Env = &policy, overrideEnv(spec.Env, more)
	return nil
}

// sshProxyCommand returns the variable that sends git's ssh through the proxy, and the path of
// this program, which it runs. They are empty if the path needs quoting.
func sshProxyCommand(env []string) (program, variable string) {
	program, err := os.Executable()
	if err != nil ||
		strings.Trim(program, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-") != "" {
		return "", ""
	}
	ssh := "ssh"
	for _, entry := range env {
		if own, ok := strings.CutPrefix(entry, "GIT_SSH_COMMAND="); ok && own != "" {
			ssh = own
		}
	}
	return program, "GIT_SSH_COMMAND=" + ssh + " -o ProxyCommand='" + program + " " + sandbox.ConnectName + " %h %p'"
}

// overrideEnv returns an environment with other values. It removes the previous ones, because
// some programs use the first of two equal names.
func overrideEnv(env, values []string) []string {
	out := make([]string, 0, len(env)+len(values))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.ContainsFunc(values, func(value string) bool { return strings.HasPrefix(value, name+"=") }) {
			out = append(out, entry)
		}
	}
	return append(out, values...)
}
