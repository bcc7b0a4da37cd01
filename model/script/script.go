package script

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/settle-agent/settle/model"
)

// Model is a [model.Provider] that plays a script. Several goroutines can use it; each
// request, from any of them, takes the next step.
type Model struct {
	mu        sync.Mutex
	steps     []Step          // guarded by mu; steps that are not played yet
	otherwise Step            // guarded by mu
	requests  []model.Request // guarded by mu
	calls     int             // guarded by mu; counts call ids
}

// New returns a model that answers each request with the next step.
func New(steps ...Step) *Model {
	return &Model{steps: slices.Clone(steps)}
}

// Otherwise sets the response to every request after the script has been played, and returns m.
func (m *Model) Otherwise(step Step) *Model {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.otherwise = step
	return m
}

// Add appends steps to the script.
func (m *Model) Add(steps ...Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, steps...)
}

// Requests returns the requests that the model was given, oldest first.
func (m *Model) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Left returns how many steps have not been played.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.steps)
}

// Stream implements [model.Provider].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		step, n := m.take(req)
		s := &stage{ctx: ctx, model: m, req: req, n: n, yield: yield}
		if ctx.Err() != nil {
			s.fail(context.Cause(ctx))
			return
		}
		if step.play == nil {
			s.fail(model.NewError(model.ErrInvalid, "the script has no answer to request %d", n))
			return
		}
		if step.play(s) {
			s.end()
		}
	}
}

// take records the request and returns the step that answers it, and the
// request's number from 1.
func (m *Model) take(req model.Request) (Step, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	req.Input = slices.Clone(req.Input)
	m.requests = append(m.requests, req)
	step := m.otherwise
	if len(m.steps) > 0 {
		step, m.steps = m.steps[0], m.steps[1:]
	}
	return step, len(m.requests)
}

func (m *Model) nextCallID() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	return fmt.Sprintf("call_%d", m.calls)
}

// stage is the stream in which one request's step is played.
type stage struct {
	ctx   context.Context
	model *Model
	req   model.Request
	n     int // request's number, from 1
	yield func(model.Chunk, error) bool

	started bool
	index   int // of the next item
	stop    model.StopReason
	usage   *model.Usage
}

// emit yields a chunk, after Start if it is the first, and reports whether to continue.
func (s *stage) emit(c model.Chunk) bool {
	if !s.started {
		s.started = true
		if c.Kind != model.Start && !s.send(model.Chunk{Kind: model.Start, ID: fmt.Sprintf("resp_%d", s.n)}) {
			return false
		}
	}
	return s.send(c)
}

func (s *stage) send(c model.Chunk) bool {
	if s.ctx.Err() != nil {
		return s.fail(context.Cause(s.ctx))
	}
	if s.req.Activity != nil {
		s.req.Activity()
	}
	return s.yield(c, nil)
}

// fail ends the response with an error. It always returns false.
func (s *stage) fail(err error) bool {
	s.yield(model.Chunk{}, err)
	return false
}

func (s *stage) end() {
	stop := s.stop
	if stop == "" {
		stop = model.StopEndTurn
	}
	s.emit(model.Chunk{Kind: model.End, Stop: stop, Usage: s.usage})
}
