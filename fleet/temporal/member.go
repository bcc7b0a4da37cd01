package temporal

import (
	"context"
	"strings"
	"sync"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/settle-agent/settle/fleet"
)

const (
	// maxPolls is how many long polls a worker has under way.
	maxPolls = 24
	// pollTimeout bounds one; the server answers a second earlier, with nothing. Temporal
	// sends tasks to the polls of a worker that stands still, and misses its heartbeats
	// only then: all of them are over soon. The server warns of less than ten seconds.
	pollTimeout = 11 * time.Second
	// pollDelay is how long to wait after one that failed.
	pollDelay = time.Second
)

// arrival is a task that Temporal has sent, and that was not claimed yet.
type arrival struct {
	unit  string
	token []byte
	at    time.Time
}

// hold is an attempt that a worker has.
type hold struct {
	attempt fleet.Attempt
	token   []byte
	beat    time.Time // when the last heartbeat was sent
	// closed says that Temporal has ended the activity, or has begun another attempt
	// (lost), so that it takes no more heartbeats.
	closed, lost bool
}

// member is a worker as this engine knows it:
//
//	poll ─► arrival ─► claim ─► hold ─► Complete
type member struct {
	id      string
	life    context.Context //nolint:containedctx // it ends when the worker leaves
	stop    context.CancelFunc
	polls   sync.WaitGroup
	beating sync.Mutex // held by a heartbeat

	mu      sync.Mutex
	room    int // how many more tasks may be polled for
	polling int
	arrived []arrival
	holds   map[string]*hold // by unit
	fed     []string         // units that it has started, and that nobody had claimed; of beating
}

// member returns a worker, which is made if it is not known.
func (e *Engine) member(worker string) *member {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.workers[worker]
	if m == nil {
		m = &member{id: worker, holds: map[string]*hold{}}
		m.life, m.stop = context.WithCancel(e.life)
		e.workers[worker] = m
	}
	return m
}

// forget removes a worker and returns it; nil if there is none.
func (e *Engine) forget(worker string) *member {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.workers[worker]
	delete(e.workers, worker)
	return m
}

// release removes and returns what a worker holds of an attempt; nil if none does.
func (e *Engine) release(a fleet.Attempt) *hold {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, m := range e.workers {
		m.mu.Lock()
		h := m.holds[a.Unit]
		if h != nil && h.attempt.Epoch == a.Epoch {
			delete(m.holds, a.Unit)
			m.mu.Unlock()
			return h
		}
		m.mu.Unlock()
	}
	return nil
}

// take returns what has arrived.
func (m *member) take() []arrival {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.arrived
	m.arrived = nil
	return all
}

// keep puts back what could not be claimed.
func (m *member) keep(arrived []arrival) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrived = append(m.arrived, arrived...)
}

// poll has as many polls under way as there is room for.
func (e *Engine) poll(m *member, room int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room = room - len(m.arrived)
	for m.polling < min(m.room, maxPolls) && m.life.Err() == nil {
		m.polling++
		e.running.Add(1)
		m.polls.Go(func() { // ends with the worker's room, or its life
			defer e.running.Done()
			e.pollOn(m)
		})
	}
}

// pollOn polls until there is no room for another task.
func (e *Engine) pollOn(m *member) {
	for {
		ctx, cancel := context.WithTimeout(m.life, pollTimeout)
		r, err := e.service.PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{
			Namespace: e.options.Namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: e.options.Queue}, Identity: m.id,
		})
		cancel()
		if err != nil && m.life.Err() == nil {
			e.logger.Warn("cannot ask Temporal for tasks", "error", err)
			select {
			case <-time.After(pollDelay):
			case <-m.life.Done():
			}
		}
		if !m.receive(e.activity(""), r) {
			return
		}
		if len(r.GetTaskToken()) > 0 {
			e.nudge()
		}
	}
}

// receive takes a poll's answer, which may have no task, and reports whether to poll
// again.
func (m *member) receive(prefix string, r *workflowservice.PollActivityTaskQueueResponse) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(r.GetTaskToken()) > 0 {
		m.arrived = append(
			m.arrived,
			arrival{unit: strings.TrimPrefix(r.GetActivityId(), prefix), token: r.GetTaskToken(), at: time.Now()},
		)
		m.room--
	}
	if m.life.Err() == nil && m.polling <= m.room {
		return true
	}
	m.polling--
	return false
}

// payload is a JSON payload, in Temporal's encoding of one.
func payload(json []byte) *commonpb.Payloads {
	return &commonpb.Payloads{
		Payloads: []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: json}},
	}
}

// Abandon has Temporal believe, at once, that a worker has died, as it would after its
// silence. It is for tests.
func (e *Engine) Abandon(ctx context.Context, worker string) {
	m := e.forget(worker)
	if m == nil {
		return
	}
	m.stop()
	m.polls.Wait()
	for _, t := range m.take() {
		_ = e.giveBack(ctx, t.token, handOverDelay)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.holds {
		_ = e.giveBack(ctx, h.token, handOverDelay) // a dead one does not hear of errors
	}
}
