package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// mind is the model: it works for the ordered number of steps, plans, starts child agents, and
// checks that each request has the parts that it must not forget.
type mind struct {
	every, children int // a child is started every so many steps, so many in all

	mu        sync.Mutex // guards the fields below
	left      int        // steps of the turn
	steps     int        // so far
	started   int        // children
	summaries int
	inputs    []string // of the user, so far
	plan      string   // the step that is under way
	missing   []string
	paused    time.Time     // when the last response ended
	between   time.Duration // between a response and the next request, in all
	answered  atomic.Int64  // requests of children
}

const bytesPerToken = 4

// Stream implements [model.Provider].
func (m *mind) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	arrived := time.Now()
	var all strings.Builder
	for _, i := range req.Input {
		all.WriteString(i.Text + i.Arguments + "\n")
	}
	text := all.String()
	usage := script.Usage(model.Usage{Input: int64((len(text) + len(req.System)) / bytesPerToken), Output: 50})
	if strings.HasPrefix(req.Input[0].Text, "child ") {
		m.answered.Add(1)
		return script.New(script.Turn(script.Text("The child has looked."), usage)).Stream(ctx, req)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.paused.IsZero() {
		m.between += arrived.Sub(m.paused)
	}
	step := m.next(req, text)
	stream := script.New(script.Turn(step, usage)).Stream(ctx, req)
	return func(yield func(model.Chunk, error) bool) {
		for c, err := range stream {
			if c.Kind == model.End {
				m.mu.Lock()
				m.paused = time.Now()
				m.mu.Unlock()
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

func (m *mind) next(req model.Request, text string) script.Step {
	if req.NoCalls { // a request for a summary can have a part of the history only
		m.summaries++
		return script.Text(fmt.Sprintf("## Goal\nTo get through.\n## Done\n%d steps.", m.steps))
	}
	for _, input := range append([]string{m.plan}, m.inputs...) {
		if !strings.Contains(text, input) && len(m.missing) < 10 {
			m.missing = append(
				m.missing, fmt.Sprintf("after %d steps and %d summaries: %q", m.steps, m.summaries, input),
			)
		}
	}
	if m.left--; m.left <= 0 {
		return script.Text("That was it.")
	}
	m.steps++
	switch {
	case m.steps%m.every == m.every/2 && m.started < m.children:
		m.started++
		return script.Call(
			"task",
			fmt.Sprintf(
				`{"description":"look %[1]d","prompt":"child %[1]d","background":%[2]t}`, m.started, m.started%2 == 0,
			),
		)
	case m.steps%40 == 1:
		m.plan = fmt.Sprintf("milestone %d", m.steps)
		return script.Call(
			"plan",
			fmt.Sprintf(`{"plan":[{"step":"begin","status":"completed"},{"step":%q,"status":"in_progress"}]}`, m.plan),
		)
	}
	return script.Call("work", fmt.Sprintf(`{"n":%d}`, m.steps))
}

// begin gives the mind an input, which it works on for so many steps.
func (m *mind) begin(input string, steps int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inputs, m.left, m.paused = append(m.inputs, input), steps+1, time.Time{}
}

// work is a tool that has something to say about each number.
type work struct{}

// Spec implements [tool.Tool].
func (work) Spec() tool.Spec {
	return tool.Spec{Name: "work", Description: "Works.", Schema: json.RawMessage(`{"type":"object"}`)}
}

// Run implements [tool.Tool].
func (work) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{Output: string(c.Args) + strings.Repeat(" is a number, as any other", 120)}, nil
}
