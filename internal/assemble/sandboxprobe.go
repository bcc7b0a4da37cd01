package assemble

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/egress"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/sandbox"
)

// layers are the optional layers of a sandbox, in addition to Landlock and seccomp.
type layers struct {
	// viewless is the reason why commands of a workspace have no own view of the files, and
	// joined why they have no own network; nil if they have one.
	viewless, joined error
	// crowded is the reason why commands can see other processes; nil if they cannot.
	crowded error
}

// The gaps of a sandbox without these layers: a missing own network matters with the proxy.
const (
	viewGap = "modes, owners and times of files outside, and .git and the other protected files inside, can be changed"
	// gitGap is the gap of a workspace whose user lets commands change the repository.
	gitGap   = "commands can change the repository (sandbox.git): of .git, only hooks and config are protected while they run; the rest is judged when they have ended"
	proxyGap = "other machines can be reached without the proxy, at the number of its port"
	// aroundGap names a folder that commands do not get without an own view of the files.
	aroundGap  = "commands cannot change %s, because they could exchange the working directory in it"
	processGap = "other processes, their command lines among them, can be seen"
)

// holes returns the restrictions of a workspace that the kernel does not enforce here, and
// the reason. The process gap is not a hole: such a command sees more, but reaches nothing
// more.
func (s sandboxing) holes() (gaps []string, why error) {
	if s.viewless != nil {
		gaps = append(gaps, viewGap)
	}
	if s.joined != nil && s.Network == "proxy" && !sandbox.KnowsAddresses {
		gaps = append(gaps, proxyGap)
	}
	return gaps, cmp.Or(s.viewless, s.joined)
}

// kind is a kind of sandbox, apart from its files.
type kind struct {
	writes, view, apart, ownProcesses bool
	network                           sandbox.Network
}

func (k kind) policy() sandbox.Policy {
	p := sandbox.Policy{View: k.view, OwnNetwork: k.apart, OwnProcesses: k.ownProcesses, Network: k.network}
	if k.writes {
		p.Write = []string{"/"} // represents any folder
	}
	return p
}

// proofs are the results of the sandbox probes in this process.
type proofs struct {
	mu    sync.Mutex
	known map[kind]func() (tried int, err error)
}

var proven = sync.OnceValue(func() *proofs { return &proofs{known: map[kind]func() (int, error){}} })

// prove probes a kind of sandbox once (C22).
func (p *proofs) prove(k kind) (tried int, err error) {
	p.mu.Lock()
	probe, ok := p.known[k]
	if !ok {
		probe = sync.OnceValues(k.probe)
		p.known[k] = probe
	}
	p.mu.Unlock()
	return probe()
}

func (k kind) probe() (tried int, err error) {
	if k.network != sandbox.Proxied {
		return proc.Prove(context.Background(), k.policy(), nil)
	}
	proxy := egress.NewProxy(nil, egress.Dialer{})
	defer proxy.Close()
	return proc.Prove(context.Background(), k.policy(), proxy)
}

// prove probes the kinds of sandbox that sessions rely on, and finds the layers (C22).
func (s *sandboxing) prove() (tried int, err error) {
	reading := kind{ownProcesses: true}
	_, s.crowded = proven().prove(reading)
	var list []kind
	if s.Mode == event.Workspace || s.byMode {
		list = append(list, s.workspace())
	}
	if s.Network == "on" || s.byMode {
		list = append(list, kind{
			writes: true, view: s.viewless == nil, ownProcesses: s.crowded == nil,
			network: sandbox.Online,
		})
	}
	reading.ownProcesses = s.crowded == nil
	for _, k := range append(list, reading) {
		n, failed := proven().prove(k)
		tried, err = tried+n, errors.Join(err, failed)
	}
	return tried, err
}

// workspace returns the kind of sandbox with the most layers that workspaces can have here.
// Without an own view of the files there are no namespaces, and no other layer.
func (s *sandboxing) workspace() kind {
	k := kind{writes: true, view: true, apart: true, ownProcesses: s.crowded == nil}
	if s.Network == "proxy" {
		k.network = sandbox.Proxied
	}
	for {
		_, err := proven().prove(k)
		switch {
		case err == nil:
			return k
		case k.apart:
			k.apart, s.joined = false, err
		case k.ownProcesses:
			k.apart, k.ownProcesses, s.joined, s.crowded = true, false, nil, err
		default:
			k.view, s.viewless = false, err
			return k
		}
	}
}
