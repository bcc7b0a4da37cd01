//go:build unix && !temporal

package proof

import (
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"testing"
)

// passage is what becomes of what is sent through a gate.
type passage string

const (
	open   passage = "open"
	closed passage = "closed" // connections break, and none can be made
	silent passage = "silent" // nothing arrives, and nobody is told
	deaf   passage = "deaf"   // the database hears the worker, and its answers are lost
)

// gate is a worker's way to the database.
type gate struct {
	dir, to string
	l       net.Listener
	done    sync.WaitGroup

	mu      sync.Mutex
	state   passage
	changed chan struct{} // closed when the state changes
	conns   map[net.Conn]bool
}

// newGate opens a gate to the socket that the URL of the database names.
func newGate(t *testing.T, database string) *gate {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	const socket = ".s.PGSQL.5432"
	g := &gate{dir: t.TempDir(), to: filepath.Join(u.Query().Get("host"), socket), state: open, changed: make(chan struct{}), conns: map[net.Conn]bool{}}
	if g.l, err = net.Listen("unix", filepath.Join(g.dir, socket)); err != nil {
		t.Fatal(err)
	}
	g.done.Go(g.accept)
	t.Cleanup(func() {
		_ = g.l.Close()
		g.set(closed)
		g.done.Wait()
	})
	return g
}

// url is the database's, through the gate.
func (g *gate) url(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", g.dir)
	u.RawQuery = q.Encode()
	return u.String()
}

// set changes what becomes of what is sent. Connections on which something was lost
// break.
func (g *gate) set(p passage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p == closed || g.state == deaf {
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
		database, err := net.Dial("unix", g.to)
		g.mu.Lock()
		if err != nil || g.state == closed {
			_ = worker.Close()
			if err == nil {
				_ = database.Close()
			}
			g.mu.Unlock()
			continue
		}
		g.conns[worker], g.conns[database] = true, true
		g.mu.Unlock()
		g.done.Go(func() { g.pass(worker, database, "") })
		g.done.Go(func() { g.pass(database, worker, deaf) })
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
