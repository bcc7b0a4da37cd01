//go:build linux && network

package proof

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/fleet/fleettest/executortest"
)

// The addresses of the servers: the database's and that of the executor. Workers have
// 10.77.N.2.
const (
	databaseAt = "10.77.0.1"
	executorAt = "10.77.0.5"
)

// network is a router and the workers around it, each a network namespace:
//
//	this process ── router ─┬─ worker 1
//	                        └─ worker 2 …
type network struct {
	t       *testing.T
	workers int
}

// ip runs commands of ip, one a line.
func (n *network) ip(format string, args ...any) error {
	for line := range strings.Lines(fmt.Sprintf(format, args...)) {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.TrimSpace(line), err, out)
		}
	}
	return nil
}

func (n *network) must(format string, args ...any) {
	n.t.Helper()
	if err := n.ip(format, args...); err != nil {
		n.t.Fatalf("%v; network.sh makes what this needs", err)
	}
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{t: t}
	n.must(`netns add router
		link add out type veth peer name in netns router
		addr add %s/30 dev out
		addr add %s/32 dev lo
		link set out up
		-n router addr add 10.77.0.2/30 dev in
		-n router link set in up
		-n router route add %s via %s
		route add 10.77.0.0/16 via 10.77.0.2`, databaseAt, executorAt, executorAt, databaseAt)
	if out, err := exec.Command("ip", "netns", "exec", "router", "sysctl", "-qw", "net.ipv4.ip_forward=1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return n
}

// join makes another worker's namespace, and returns the command that runs a program there.
func (n *network) join() []string {
	n.t.Helper()
	n.workers++
	n.must(`netns add w%[1]d
		-n router link add w%[1]d type veth peer name eth netns w%[1]d
		-n router addr add 10.77.%[1]d.1/30 dev w%[1]d
		-n router link set w%[1]d up
		-n w%[1]d addr add 10.77.%[1]d.2/30 dev eth
		-n w%[1]d link set eth up
		-n w%[1]d link set lo up
		-n w%[1]d route add default via 10.77.%[1]d.1`, n.workers)
	return []string{"ip", "netns", "exec", fmt.Sprintf("w%d", n.workers)}
}

// cuts are what can happen to packets between workers and a server: all are lost, those to the
// worker are, or the router refuses them.
func (n *network) cuts(server, at string) (all []fault) {
	for _, what := range []struct{ name, rules string }{
		{"nothing arrives", "from WORKER to SERVER blackhole\nfrom SERVER to WORKER blackhole"},
		{"answers are lost", "from SERVER to WORKER blackhole"},
		{"there is no route", "from WORKER to SERVER unreachable\nfrom SERVER to WORKER unreachable"},
	} {
		all = append(all, fault{server + ": " + what.name, func(ctx context.Context, _ *crew, r *rand.Rand) error {
			first := max(1, n.workers-workers+1) // the others may be dead
			cut := []int{first + r.IntN(n.workers-first+1)}
			if r.IntN(3) == 0 {
				cut = cut[:0]
				for w := first; w <= n.workers; w++ {
					cut = append(cut, w)
				}
			}
			var rules []string
			for _, w := range cut {
				worker := fmt.Sprintf("10.77.%d.2", w)
				rules = slices.AppendSeq(
					rules, strings.Lines(strings.NewReplacer("WORKER", worker, "SERVER", at).Replace(what.rules)),
				)
			}
			for _, rule := range rules {
				if err := n.ip("-n router rule add pref 10 %s", rule); err != nil {
					return err
				}
			}
			hold(ctx, r)
			for _, rule := range rules {
				if err := n.ip("-n router rule del pref 10 %s", rule); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return all
}

// TestNetworkCuts: workers are on machines of their own as far as the network goes, and are cut
// off from the database and from the executor: packets are lost, no connection ends, and none
// can be made. Workers die. When all of that is over, each task has ended once and completed,
// and no call ran twice.
func TestNetworkCuts(t *testing.T) {
	c, n := newCrew(t), newNetwork(t)
	host := executortest.New(t, c.work)
	c.executor = host.DialCommand()
	c.within = n.join
	u, err := url.Parse(c.place.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	database := newGateAt(t, "tcp", databaseAt+":0", "unix", filepath.Join(q.Get("host"), socket))
	executor := newGateAt(t, "tcp", executorAt+":0", "unix", host.Socket)
	q.Del("host")
	q.Set("sslmode", "disable")
	u.Host, u.RawQuery = database.at, q.Encode()
	temporal := newGateAt(t, "tcp", databaseAt+":0", "tcp", temporalServer.Address(t))
	c.env = func() []string {
		return []string{
			databaseVar + "=" + u.String(),
			executortest.HostVar + "=" + executor.at,
			addressVar + "=" + temporal.at,
		}
	}
	c.prove(
		t,
		*handy,
		*seed,
		slices.Concat(
			n.cuts("the database and Temporal", databaseAt),
			n.cuts("the executor", executorAt),
			[]fault{workerDies()},
		),
	)
}
