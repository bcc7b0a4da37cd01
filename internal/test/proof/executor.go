package proof

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/tool"
)

const (
	// slowDelay is the latency of a slow connection. awayTime is how long a machine cannot
	// be reached: longer than the lease.
	slowDelay = time.Second
	awayTime  = 3 * executor.DefaultLease
	// endMost bounds the time beyond the lease for which processes of a dead host can run.
	endMost = 5 * time.Second
)

// machine is another machine, with the executor of the session of one disk. The processes
// that open the session reach it one after the other.
type machine struct {
	world *world
	group sync.WaitGroup // running work

	mu      sync.Mutex // guards the fields below
	server  *executor.Server
	streams map[*cable]*process
	hosts   map[string]*process // by call
	began   map[string]bool     // calls
	done    map[string]bool
	epoch   uint64
	shut    bool // no connection succeeds
	slow    int  // how many calls have the connection slow, and double
	double  int
}

// order is the work of a call on the machine.
type order struct {
	Kind StepKind
	For  time.Duration
}

// machine returns the machine of a disk.
func (w *world) machine(d *disk) *machine {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.machines[d]
	if m == nil {
		m = &machine{
			world:   w,
			streams: map[*cable]*process{},
			hosts:   map[string]*process{},
			began:   map[string]bool{},
			done:    map[string]bool{},
		}
		if w.machines == nil {
			w.machines = map[*disk]*machine{}
		}
		w.machines[d] = m
	}
	return m
}

// executor returns a new executor. An executor without work ends, and the next connection
// starts another one, as settle executor does.
func (m *machine) executor() *executor.Server {
	calls := map[string]func(context.Context, executor.Request) (json.RawMessage, error){"work": m.work}
	s := &executor.Server{
		Settle: "proof", Local: &executor.Local{Calls: calls},
		Spool: func() (*os.File, error) { return nil, errors.New("there is no disk") },
	}
	m.group.Go(func() { // ends with the server, which die and close end
		<-s.Done()
		m.mu.Lock()
		if m.server == s {
			m.server = nil
		}
		m.mu.Unlock()
		s.Close()
	})
	return s
}

// work is done at the executor: once for each call (C5).
func (m *machine) work(ctx context.Context, r executor.Request) (json.RawMessage, error) {
	var o order
	if err := json.Unmarshal(r.Args, &o); err != nil {
		return nil, err
	}
	m.mu.Lock()
	known, host := m.began[r.Call], m.hosts[r.Call]
	m.began[r.Call] = true
	m.mu.Unlock()
	if known {
		m.world.broke("C5", "call %s is done at the executor for the second time", r.Call)
	}
	defer func() { // C7: it does not outlast the lease
		if died, dead := host.diedAt(); dead && time.Since(died) > executor.DefaultLease+endMost {
			m.world.broke(
				"C7", "call %s continued at the executor for %v after its host was killed", r.Call, time.Since(died),
			)
		}
	}()
	if !passes(ctx, o.For/2) {
		return nil, context.Cause(ctx)
	}
	switch o.Kind {
	case HostDies:
		m.die()
	case Back:
		m.cut(nil)
	case Unreachable:
		m.leave()
	}
	if !passes(ctx, o.For-o.For/2) {
		return nil, context.Cause(ctx)
	}
	m.mu.Lock()
	m.done[r.Call] = true
	m.mu.Unlock()
	return json.RawMessage(`"done"`), nil
}

func passes(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// die replaces the executor by another one, as kill -9 and a new start do.
func (m *machine) die() {
	m.mu.Lock()
	old := m.server
	m.server = nil
	m.mu.Unlock()
	m.cut(nil)
	if old != nil {
		m.group.Go(old.Close) // bounded by itself
	}
}

// leave makes the machine unreachable for a time.
func (m *machine) leave() {
	m.mu.Lock()
	m.shut = true
	m.mu.Unlock()
	m.cut(nil)
	m.group.Go(func() { // ends with the world
		passes(m.world.life, awayTime)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.shut = false
	})
}

// cut ends the streams of a process, or all.
func (m *machine) cut(of *process) {
	m.mu.Lock()
	var ended []*cable
	for s, p := range m.streams {
		if of == nil || p == of {
			ended = append(ended, s)
			delete(m.streams, s)
		}
	}
	m.mu.Unlock()
	for _, s := range ended {
		_ = s.Close()
	}
}

// dial is the way of a process to the executor.
func (m *machine) dial(p *process) func(context.Context) (io.ReadWriteCloser, error) {
	return func(context.Context) (io.ReadWriteCloser, error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.shut || p.dead() {
			return nil, errors.New("no route to the machine")
		}
		a, b := net.Pipe()
		ours, theirs := newCable(a, m), newCable(b, m)
		m.streams[ours] = p
		if m.server == nil {
			m.server = m.executor()
		}
		server := m.server
		m.group.Go(func() { // ends with the stream
			g, err := executor.AcceptClient(theirs, "proof", executor.Machine{OS: "linux", Name: "machine"})
			if err == nil {
				_ = server.Serve(g) // its end is no news
			}
		})
		return ours, nil
	}
}

// close ends the machine, after the work that its executor still does without a host.
func (m *machine) close() {
	passes(context.Background(), executor.DefaultLease+2*endMost)
	m.mu.Lock()
	m.shut = true
	server := m.server
	m.mu.Unlock()
	m.cut(nil)
	if server != nil {
		server.Close()
	}
	m.group.Wait() // dying executors are bounded by themselves
}

// cable is one end of a stream, which may be slow, or bring messages twice.
type cable struct {
	net.Conn
	machine *machine
	once    sync.Once
	closed  chan struct{}
}

func newCable(conn net.Conn, m *machine) *cable {
	return &cable{Conn: conn, machine: m, closed: make(chan struct{})}
}

func (c *cable) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *cable) Write(data []byte) (int, error) {
	c.machine.mu.Lock()
	slow, double := c.machine.slow > 0, c.machine.double > 0
	c.machine.mu.Unlock()
	if slow {
		timer := time.NewTimer(slowDelay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.closed:
			return 0, net.ErrClosed
		}
	}
	sent := data
	if double {
		sent = doubled(data)
	}
	if _, err := c.Conn.Write(sent); err != nil {
		return 0, err
	}
	return len(data), nil
}

// doubled has each message of some frames twice (docs/remote-executor.md).
func doubled(data []byte) (out []byte) {
	for rest := data; len(rest) > 0; {
		if len(rest) < 5 {
			return data
		}
		n := 4 + int(binary.BigEndian.Uint32(rest))
		if n < 5 || n > len(rest) {
			return data
		}
		out = append(out, rest[:n]...)
		if rest[4] == 'M' {
			out = append(out, rest[:n]...)
		}
		rest = rest[n:]
	}
	return out
}

// reach is the connection of a process to its executor, made when it is first wanted.
type reach struct {
	token  chan struct{} // who holds it changes remote
	remote *executor.Remote
	left   chan struct{} // closed when the process releases the executor

	mu    sync.Mutex              // guards the fields below
	died  time.Time               // when the process was killed
	calls map[string]func(string) // receive changes of the connection, by call
}

func newReach() *reach {
	return &reach{token: make(chan struct{}, 1), left: make(chan struct{}), calls: map[string]func(string){}}
}

func (p *process) diedAt() (time.Time, bool) {
	if p == nil {
		return time.Time{}, false
	}
	p.reach.mu.Lock()
	defer p.reach.mu.Unlock()
	return p.reach.died, !p.reach.died.IsZero()
}

// executor returns the process's connection.
func (p *process) executor(ctx context.Context, m *machine) (*executor.Remote, error) {
	select {
	case p.reach.token <- struct{}{}:
		defer func() { <-p.reach.token }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if p.reach.remote != nil {
		return p.reach.remote, nil
	}
	m.mu.Lock()
	m.epoch++
	epoch := m.epoch
	m.mu.Unlock()
	r, err := executor.NewRemote(
		ctx, executor.RemoteConfig{Dial: m.dial(p), Settle: "proof", Session: "s", Epoch: epoch, Notice: p.reach.tell},
	)
	if err != nil {
		return nil, err
	}
	p.reach.remote = r
	m.group.Go(func() { // ends when the process does
		select {
		case <-p.mount.died:
			p.reach.mu.Lock()
			p.reach.died = time.Now()
			p.reach.mu.Unlock()
			m.cut(p)
		case <-p.reach.left:
		}
	})
	return r, nil
}

// tell has the running calls say how the connection does.
func (r *reach) tell(n executor.ConnectionChange) {
	r.mu.Lock()
	calls := slices.Collect(maps.Values(r.calls))
	r.mu.Unlock()
	for _, say := range calls { // which may wait for the disk
		say(n.Text)
	}
}

// watch has messages about a call sent to say until the returned function is called.
func (r *reach) watch(call string, say func(string)) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[call] = say
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, call)
	}
}

// leave releases the executor.
func (p *process) leave() {
	p.reach.token <- struct{}{} // its holder returns it when the calls have ended
	if p.reach.remote != nil {
		ctx, cancel := context.WithTimeout(context.Background(), endMost)
		defer cancel()
		_ = p.reach.remote.Close(ctx) // where they cannot be reached, they end it by themselves
	}
	close(p.reach.left)
}

// runRemote executes a step on the machine, and reports whether the call continues.
func (d doer) runRemote(ctx context.Context, c tool.Call, id string, s Step, result *tool.Result) (on bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.p.life, cancel)() // it dies with its process
	m := d.p.world.machine(d.p.mount.disk)
	defer m.spoil(s.Kind)()
	defer d.p.reach.watch(id, c.Notice)()
	remote, err := d.p.executor(ctx, m)
	if err != nil {
		return false, err
	}
	m.mu.Lock()
	m.hosts[id] = d.p
	m.mu.Unlock()
	args, err := json.Marshal(order{s.Kind, s.For})
	if err != nil {
		return false, err
	}
	_, err = remote.Call(ctx, executor.Request{Name: "work", Call: id, Args: args})
	var lost *executor.LostError
	switch {
	case errors.As(err, &lost):
		result.Unknown, result.Output = true, lost.Error()
		return false, nil
	case ctx.Err() != nil:
		result.Aborted = true
		return false, nil
	case err != nil:
		return false, err
	}
	m.mu.Lock()
	done := m.done[id]
	m.mu.Unlock()
	if !done {
		d.p.world.broke("C5", "the executor reports call %s as done, and it is not", id)
	}
	return true, nil
}

// spoil gives the connection the fault of the step, while it lasts.
func (m *machine) spoil(kind StepKind) (end func()) {
	change := func(by int) {
		m.mu.Lock()
		defer m.mu.Unlock()
		switch kind {
		case Slow:
			m.slow += by
		case Twice:
			m.double += by
		}
	}
	change(1)
	return func() { change(-1) }
}
