package executor

import (
	"context"
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

// mostWatched is how many calls are remembered for what came of their box.
const mostWatched = 256

// Repositories finds git repositories that sandboxed commands have made or changed, and
// moves aside what in them could run a program.
type Repositories struct {
	*quarantine.Guard
	// Area returns what a sandboxed command can change.
	Area func() quarantine.Area
}

// watched is what is known of a boxed command. Each part may be missing.
type watched struct {
	gate         *egress.Proxy
	guard        *guard
	repositories *Repositories
}

// end is for when everything of the command is gone.
func (w watched) end() {
	if w.guard != nil {
		w.guard.restore()
	}
	if w.repositories != nil {
		w.repositories.Leave()
	}
	if w.gate != nil {
		w.gate.Close()
	}
}

// watchedCalls are boxed commands by the id of their call.
type watchedCalls struct {
	mu     sync.Mutex // guards what follows
	calls  []string   // from the oldest
	byCall map[string]watched
}

func (c *watchedCalls) add(call string, w watched) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byCall == nil {
		c.byCall = make(map[string]watched)
	}
	if _, known := c.byCall[call]; !known {
		c.calls = append(c.calls, call)
	}
	c.byCall[call] = w
	if len(c.calls) > mostWatched {
		delete(c.byCall, c.calls[0])
		c.calls = c.calls[1:]
	}
}

func (c *watchedCalls) of(call string) watched {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byCall[call]
}

// refused returns what the gate of a call has refused until now.
func (w watched) refused() []egress.Refusal {
	if w.gate == nil {
		return nil
	}
	return w.gate.Refused()
}

// startConfined starts a command in the sandbox of its kind. What is in the repositories
// before that is looked at first: it takes what the call has, and ends with the call (C9).
func (l *Local) startConfined(ctx context.Context, call string, c Confined, spec proc.Spec) (*proc.Process, error) {
	w := watched{}
	if c.Sandbox == event.Workspace && l.Repositories != nil {
		if err := l.Repositories.Enter(ctx, l.Repositories.Area()); err != nil {
			return nil, fmt.Errorf("cannot look at the git repositories before the command: %w", err)
		}
		w.repositories = l.Repositories
	}
	box, env, err := l.Sandbox(c)
	if err != nil {
		w.end()
		return nil, fmt.Errorf("cannot confine the command: %w", err)
	}
	spec.Sandbox, spec.Env = &box, override(spec.Env, env)
	return l.startBoxed(ctx, call, spec, w)
}

// startBoxed starts a command that is confined. One with a proxy has a gate of its
// own, which is closed when everything of the command is gone.
func (l *Local) startBoxed(ctx context.Context, call string, spec proc.Spec, w watched) (*proc.Process, error) {
	w.guard = newGuard(*spec.Sandbox)
	if spec.Sandbox.Network == sandbox.Proxied {
		w.gate = egress.NewProxy(l.Hosts, l.Dialer)
		if err := throughGate(&spec, w.gate); err != nil {
			w.end()
			return nil, fmt.Errorf("cannot confine the command: %w", err)
		}
	}
	p, err := proc.Start(ctx, spec)
	if err != nil {
		w.end()
		return nil, err
	}
	if w == (watched{}) {
		return p, nil
	}
	l.watched.add(call, w)
	go func() { // whoever started the command waits for Done
		<-p.Done()
		w.end()
	}()
	return p, nil
}

// throughGate has a command find its gate.
func throughGate(spec *proc.Spec, gate *egress.Proxy) error {
	box := *spec.Sandbox
	port, err := proc.ProxyPort(box, gate)
	if err != nil {
		return err
	}
	box.Port, spec.ProxyListener = port, gate.ServeFile
	more := gate.Env(port)
	if name, variable := carrier(spec.Env); variable != "" {
		box.Read = append(slices.Clip(box.Read), name)
		more = append(more, variable)
	}
	spec.Sandbox, spec.Env = &box, override(spec.Env, more)
	return nil
}

// carrier returns what has git's ssh go through the proxy: this program, by the name
// that it has. It is empty if that cannot be said in a variable.
func carrier(env []string) (program, variable string) {
	program, err := os.Executable()
	if err != nil || strings.Trim(program, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-") != "" {
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

// override returns an environment with other values: of a variable that is there
// twice, some programs take the first.
func override(env, values []string) []string {
	out := make([]string, 0, len(env)+len(values))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.ContainsFunc(values, func(value string) bool { return strings.HasPrefix(value, name+"=") }) {
			out = append(out, entry)
		}
	}
	return append(out, values...)
}
