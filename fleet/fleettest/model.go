package fleettest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// Model is a model that asks for some calls, one after the other, and then says
// that it is done. Its answer depends on the request only, so that any worker can
// call it. Each call has a token of its own, [Token].
type Model struct {
	// Calls is the number of calls of a conversation; interrupted calls count.
	Calls int
	// Delay is the wait before each answer.
	Delay time.Duration
	// Call returns a call that records the token.
	Call func(token string) (tool, arguments string)
}

// Token returns the token of the n-th call of a session, from 1.
func Token(session string, n int) string { return fmt.Sprintf("%s-%d", session, n) }

// Stream implements [model.Provider].
func (m Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	calls := 0
	for _, i := range r.Input {
		if i.Role == model.Output {
			calls++
		}
	}
	steps := []script.Step{script.Text("let me see ", "what is next")}
	if m.Delay > 0 {
		steps = slices.Insert(steps, 0, script.Delay(m.Delay))
	}
	if calls >= m.Calls {
		steps = append(steps[:len(steps)-1], script.Text("done after ", fmt.Sprint(calls), " calls"))
		return script.New(script.Turn(steps...)).Stream(ctx, r)
	}
	name, arguments := m.Call(Token(r.CacheKey, calls+1))
	half := len(arguments) / 2
	steps = append(
		steps,
		script.CallID(
			fmt.Sprintf("call_%s_%d", strings.ReplaceAll(r.CacheKey, "-", "_"), calls+1), name, arguments[:half],
			arguments[half:],
		),
	)
	return script.New(script.Turn(steps...)).Stream(ctx, r)
}
