package execserver

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
)

const (
	// maxSessions, maxProcesses and maxIDs bound the clients' resources: sessions, and in each of
	// them processes at a time and ids ever.
	maxSessions  = 256
	maxProcesses = 4096
	maxIDs       = 1 << 20
	// keepTimeout is the time during which an ended process can be read.
	keepTimeout = 30 * time.Second
	// idBytes is the maximum length of a process id, in bytes.
	idBytes = 512
)

// session is the state of a client on this server, across all of its connections.
type session struct {
	id     string
	server *Server

	mu        sync.Mutex // guards all below, and the processes
	conn      *conn      // nil while detached
	expiry    *time.Timer
	processes map[string]*process
	used      map[string]struct{} // every id that a process had; ids are not reused
	queue     []*process          // processes with something to send, in turn
	closed    bool
	keep      map[*process]*time.Timer
	work      sync.WaitGroup // the processes and the goroutines that feed them
}

// attach gives a connection its session: a new one, or the session with the id resume.
func (s *Server) attach(ctx context.Context, c *conn, resume *string) (*session, error) {
	if resume != nil {
		return s.resume(ctx, c, *resume)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errOver()
	case len(s.sessions) >= maxSessions:
		return nil, invalidRequest("there are %d sessions already; end one, or wait for one to expire", maxSessions)
	}
	one := &session{
		id: uuid.NewString(), server: s, conn: c,
		processes: map[string]*process{}, used: map[string]struct{}{}, keep: map[*process]*time.Timer{},
	}
	s.sessions[one.id], s.live[one] = one, true
	return one, nil
}

func errOver() error { return invalidRequest("the server is ending") }

// resume gives a connection a session that has lost its own. One that is still
// there, and answers, keeps it.
func (s *Server) resume(ctx context.Context, c *conn, id string) (*session, error) {
	s.mu.Lock()
	one := s.sessions[id]
	s.mu.Unlock()
	if one == nil {
		return nil, invalidRequest("unknown session id %s", id)
	}
	one.mu.Lock()
	old := one.conn
	one.mu.Unlock()
	if old != nil && old != c {
		pingCtx, cancel := context.WithTimeout(ctx, s.options.ProbeTimeout)
		defer cancel()
		if old.carrier.Ping(pingCtx) == nil {
			return nil, invalidRequest("session %s is already attached to another connection", id)
		}
		old.cut("its session was resumed by another connection")
	}
	one.mu.Lock()
	defer one.mu.Unlock()
	switch {
	case one.closed:
		return nil, invalidRequest("unknown session id %s", id)
	case one.conn != nil && one.conn != old:
		return nil, invalidRequest("session %s is already attached to another connection", id)
	}
	if one.expiry != nil {
		one.expiry.Stop()
		one.expiry = nil
	}
	one.conn = c
	return one, nil
}

// detach is called when a connection is gone. Without another one in time, the
// session ends.
func (s *session) detach(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c || s.closed {
		return
	}
	s.conn = nil
	s.expiry = time.AfterFunc(s.server.options.ResumeTimeout, scope.Shield(s.panicked, func() {
		s.mu.Lock()
		resumed := s.conn != nil
		s.mu.Unlock()
		if !resumed {
			s.end(context.Background())
		}
	}))
}

// end ends every process of the session. It is over then: nothing can be started.
func (s *session) end(ctx context.Context) (left []event.Process) {
	s.server.forget(s)
	s.mu.Lock()
	s.closed = true
	if s.expiry != nil {
		s.expiry.Stop()
	}
	all := make([]*process, 0, len(s.processes))
	for _, p := range s.processes {
		if p.tracked != nil { // or its start ends it
			all = append(all, p)
		}
	}
	for p, timer := range s.keep {
		timer.Stop()
		s.drop(p)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, p := range all {
		wg.Go(scope.Shield(s.panicked, func() { // ends with ctx
			survivors := p.end(ctx, proc.DefaultGrace)
			mu.Lock()
			left = append(left, survivors...)
			mu.Unlock()
		}))
	}
	wg.Wait()
	if len(left) == 0 {
		s.server.ended(s)
	}
	return left
}

// start starts a process, under an id that has not been used. A process with a terminal or
// an open standard input receives input.
func (s *session) start(ctx context.Context, id string, spec proc.Spec, takesInput bool) (*process, error) {
	p := &process{id: id, session: s, sandboxed: spec.Sandbox != nil, changed: make(chan struct{})}
	spec.Stdout, spec.Stderr = sink{p, stdout}, sink{p, stderr}
	if spec.Terminal != nil {
		spec.Stdout, spec.Stderr = sink{p, terminal}, nil
	}
	if err := s.reserve(p); err != nil {
		return nil, err
	}
	var err error
	if p.guard, err = s.server.guard(ctx, &spec); err != nil {
		s.abandon(p)
		return nil, err
	}
	panicked := scope.Log(s.server.options.Logger, nil, "looking at repositories panicked")
	spec.Ended = scope.Shield(panicked, p.guard.leave)
	tracked, err := proc.Start(ctx, spec)
	if err != nil {
		p.guard.leave()
		s.abandon(p)
		return nil, err
	}
	if spec.Terminal != nil || takesInput {
		p.input = newInputs(tracked.Write)
	}
	if !s.adopt(p, tracked) {
		p.end(context.WithoutCancel(ctx), 0)
		return nil, errOver()
	}
	return p, nil
}

// reserve takes an id for a process.
func (s *session) reserve(p *process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, used := s.used[p.id]
	switch {
	case s.closed:
		return errOver()
	case used:
		return invalidRequest("process %s already exists", p.id)
	case len(s.used) >= maxIDs:
		return invalidRequest("the session has started %d processes; begin another one", maxIDs)
	case len(s.processes) >= maxProcesses:
		return invalidRequest("the session has %d processes already; end some", maxProcesses)
	}
	s.used[p.id], s.processes[p.id] = struct{}{}, p
	return nil
}

// abandon gives an id back under which nothing was started.
func (s *session) abandon(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.used, p.id)
	delete(s.processes, p.id)
}

// adopt adds a started process. It reports false if the session has ended in between.
func (s *session) adopt(p *process, tracked *proc.Process) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.tracked = tracked
	s.work.Go(scope.Shield(s.panicked, p.watch)) // ends with the process
	if p.input != nil {
		s.work.Go(scope.Shield(s.panicked, func() { p.input.run(context.Background()) })) // ends with the process
	}
	return !s.closed
}

// find returns a process, or nil.
func (s *session) find(id string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.processes[id]
	if p == nil || p.tracked == nil {
		return nil
	}
	return p
}

// retire forgets a process that has ended, after a while. The caller has the lock.
func (s *session) retire(p *process) {
	if s.closed {
		s.drop(p)
		return
	}
	s.keep[p] = time.AfterFunc(keepTimeout, scope.Shield(s.panicked, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.keep[p] == nil {
			return
		}
		if p.log.sent < p.log.last { // the client is away, or slow
			s.keep[p].Reset(keepTimeout)
			return
		}
		s.drop(p)
	}))
}

// drop forgets the output of a process. The caller has the lock.
func (s *session) drop(p *process) {
	delete(s.keep, p)
	delete(s.processes, p.id)
	s.server.held.Add(-int64(p.log.bytes))
	p.log.entries, p.log.bytes = nil, 0
	p.log.sent = p.log.last
}

// parcel is the next entry to send, with the result of its process.
type parcel struct {
	entry

	p      *process
	code   int
	denied bool
}

// take returns the next message for a connection, from each process in turn. It reports
// false if there is none.
func (s *session) take(c *conn) (parcel, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != c {
		return parcel{}, false
	}
	for len(s.queue) > 0 {
		p := s.queue[0]
		s.queue = s.queue[1:]
		p.queued = false
		next := p.log.after(max(p.log.sent, p.log.kept))
		if len(next) == 0 {
			p.log.sent = p.log.last
			continue
		}
		e := next[0]
		p.log.sent, p.log.shown = e.seq, max(p.log.shown, e.seq)
		if len(next) > 1 {
			p.queued = true
			s.queue = append(s.queue, p)
		}
		return parcel{e, p, p.code, p.refused()}, true
	}
	return parcel{}, false
}

// received records that the client has received the output up to the marks.
func (s *session) received(marks map[*process]uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p, seq := range marks {
		if seq > p.log.kept {
			p.log.kept = seq
			p.notifyChange()
		}
	}
}

// panicked reports a defect that a goroutine of the session met.
func (s *session) panicked(err error) {
	scope.LogPanic(s.server.options.Logger, nil, "a session of the exec-server panicked", err)
}

// attachedTo reports whether the session belongs to a connection.
func (s *session) attachedTo(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn == c
}
