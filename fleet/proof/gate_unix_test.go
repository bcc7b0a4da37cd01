//go:build unix

package proof

import (
	"net"
	"path/filepath"
	"sync"
	"testing"
)

// passage is what becomes of what is sent through a gate.
type passage string

const (
	open         passage = "open"
	closed       passage = "closed" // connections break, and none can be made
	silent       passage = "silent" // nothing arrives, and nobody is told
	dropsAnswers passage = "deaf"   // the server hears the worker, and its answers are lost
)

// gate is a worker's way to a server: the database, Temporal, or an executor.
type gate struct {
	at, network, to string // its own address; the server's
	l               net.Listener
	done            sync.WaitGroup

	mu      sync.Mutex
	state   passage
	changed chan struct{} // closed when the state changes
	conns   map[net.Conn]bool
}

// newGate opens a gate to a server. Its own address is of the same kind: a socket of
// the same name, or a free port.
func newGate(t *testing.T, network, to string) *gate {
	t.Helper()
	at := "127.0.0.1:0"
	if network == "unix" {
		at = filepath.Join(t.TempDir(), filepath.Base(to))
	}
	return newGateAt(t, network, at, network, to)
}

// newGateAt opens a gate at an address of another kind.
func newGateAt(t *testing.T, kind, at, network, to string) *gate {
	t.Helper()
	g := &gate{network: network, to: to, state: open, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	var err error
	if g.l, err = net.Listen(kind, at); err != nil {
		t.Fatal(err)
	}
	g.at = g.l.Addr().String()
	g.done.Go(g.accept)
	t.Cleanup(func() {
		_ = g.l.Close()
		g.set(closed)
		g.done.Wait()
	})
	return g
}

// set changes what becomes of what is sent. Connections on which something was lost
// break.
func (g *gate) set(p passage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p == closed || g.state == dropsAnswers {
		for c := range g.conns {
			_ = c.Close()
		}
		clear(g.conns)
	}
	g.state = p
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *gate) accept() {
	for {
		worker, err := g.l.Accept()
		if err != nil {
			return // the gate is taken away
		}
		server, err := net.Dial(g.network, g.to)
		g.mu.Lock()
		if err != nil || g.state == closed {
			_ = worker.Close()
			if err == nil {
				_ = server.Close()
			}
			g.mu.Unlock()
			continue
		}
		g.conns[worker], g.conns[server] = true, true
		g.mu.Unlock()
		g.done.Go(func() { g.pass(worker, server, "") })
		g.done.Go(func() { g.pass(server, worker, dropsAnswers) })
	}
}

// pass copies from one side to the other until either breaks. What comes while the
// state is that of lost is lost.
func (g *gate) pass(from, to net.Conn, lost passage) {
	defer func() {
		_ = from.Close()
		_ = to.Close()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.conns, from)
		delete(g.conns, to)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if !g.await(from) {
			return
		}
		g.mu.Lock()
		state := g.state
		g.mu.Unlock()
		if state == lost {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// await waits while nothing arrives. It reports whether the connection is still there.
func (g *gate) await(c net.Conn) bool {
	for {
		g.mu.Lock()
		state, changed, there := g.state, g.changed, g.conns[c]
		g.mu.Unlock()
		if !there || state != silent {
			return there
		}
		<-changed // the gate is opened or taken away in the end
	}
}
