package hands

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// mostGates is how many calls are remembered for what their gates refused.
const mostGates = 256

// gates are the ways out of proxied commands, by the id of their call.
type gates struct {
	mu    sync.Mutex // guards what follows
	calls []string   // from the oldest
	gates map[string]*egress.Gate
}

func (g *gates) add(call string, gate *egress.Gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gates == nil {
		g.gates = make(map[string]*egress.Gate)
	}
	if g.gates[call] == nil {
		g.calls = append(g.calls, call)
	}
	g.gates[call] = gate
	if len(g.calls) > mostGates {
		delete(g.gates, g.calls[0])
		g.calls = g.calls[1:]
	}
}

// refused returns what the gate of a call has refused until now.
func (g *gates) refused(call string) []egress.Refusal {
	g.mu.Lock()
	gate := g.gates[call]
	g.mu.Unlock()
	if gate == nil {
		return nil
	}
	return gate.Refused()
}

// startProxied starts a command that has a gate of its own, which is closed when
// everything of the command is gone.
func (l *Local) startProxied(ctx context.Context, call string, spec proc.Spec) (*proc.Process, error) {
	gate := egress.NewGate(l.Hosts, l.Dialer)
	box := *spec.Box
	port, err := proc.DoorPort(box, gate)
	if err != nil {
		gate.Close()
		return nil, fmt.Errorf("cannot confine the command: %w", err)
	}
	box.Port, spec.Box, spec.Door = port, &box, gate.ServeFile
	more := gate.Env(port)
	if name, carrier := carrier(spec.Env); carrier != "" {
		box.Read = append(slices.Clip(box.Read), name)
		more = append(more, carrier)
	}
	spec.Env = override(spec.Env, more)
	p, err := proc.Start(ctx, spec)
	if err != nil {
		gate.Close()
		return nil, err
	}
	l.gates.add(call, gate)
	go func() { // whoever started the command waits for Done
		<-p.Done()
		gate.Close()
	}()
	return p, nil
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
