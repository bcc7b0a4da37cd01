package script

import (
	"context"
	"time"

	"github.com/settle-agent/settle/internal/scope"
	"github.com/settle-agent/settle/model"
)

// Step is one thing that the model does. The zero Step is not valid.
type Step struct {
	// play reports whether to continue: false after an end, a failure, or when the reader
	// stopped reading.
	play func(*stage) bool
}

// Turn is a whole response: Start, the steps, End. Start goes out with the
// first step that says something, so that Turn(Stall()) stalls before the
// headers. The stop reason is tool_use if there is a call, else end_turn,
// unless [Stop] says otherwise.
func Turn(steps ...Step) Step {
	return Step{func(s *stage) bool {
		for _, step := range steps {
			if !step.play(s) {
				return false
			}
		}
		return true
	}}
}

// Text is a message of the model in the deltas given.
func Text(deltas ...string) Step {
	return item(model.Chunk{Role: model.Assistant}, deltas)
}

// Reasoning is thinking of the model without a signature, in the deltas given.
func Reasoning(deltas ...string) Step {
	return item(model.Chunk{Role: model.Reasoning}, deltas)
}

// Signed is thinking of the model with its signature, in the deltas given.
func Signed(signature model.ProviderSignature, deltas ...string) Step {
	return item(model.Chunk{Role: model.Reasoning, Signature: &signature}, deltas)
}

// Call is a tool call, its arguments in the deltas given. Its id is counted:
// call_1, call_2, … over all requests.
func Call(tool string, arguments ...string) Step {
	return CallID("", tool, arguments...)
}

// CallID is a tool call with an id of your own.
func CallID(id, tool string, arguments ...string) Step {
	return item(model.Chunk{Role: model.Call, Name: tool, CallID: id}, arguments)
}

func item(head model.Chunk, deltas []string) Step {
	return Step{func(s *stage) bool {
		tail := head
		index, ok := s.open(&tail, deltas)
		if !ok {
			return false
		}
		tail.Kind, tail.Index = model.ItemEnd, index
		return s.emit(tail)
	}}
}

// Unfinished is a tool call that begins and never ends: follow it with
// [Fail], [Cut], [Stall] or the end of the turn.
func Unfinished(tool string, arguments ...string) Step {
	return Step{func(s *stage) bool {
		_, ok := s.open(&model.Chunk{Role: model.Call, Name: tool}, arguments)
		return ok
	}}
}

// open begins an item and sends its deltas. It sets the id of a call.
func (s *stage) open(head *model.Chunk, deltas []string) (index int, ok bool) {
	index = s.index
	s.index++
	if head.Role == model.Call {
		if head.CallID == "" {
			head.CallID = s.model.nextCallID()
		}
		if s.stop == "" {
			s.stop = model.StopToolUse
		}
	}
	start := *head
	start.Kind, start.Index, start.Signature = model.ItemStart, index, nil
	if !s.emit(start) {
		return index, false
	}
	for _, text := range deltas {
		if !s.emit(model.Chunk{Kind: model.Delta, Role: head.Role, Index: index, Text: text}) {
			return index, false
		}
	}
	return index, true
}

// Chunk yields the chunk unchanged, for chunks that no other step yields.
func Chunk(c model.Chunk) Step {
	return Step{func(s *stage) bool {
		if c.Kind == model.ItemStart && c.Index >= s.index {
			s.index = c.Index + 1
		}
		return s.emit(c) && c.Kind != model.End
	}}
}

// Headers is the provider's acceptance of the request, for a turn with an event between
// the acceptance and the first item.
func Headers() Step {
	return Step{func(s *stage) bool { return s.started || s.emit(model.Chunk{Kind: model.Ping}) }}
}

// Ping is a sign of life without progress.
func Ping() Step { return Chunk(model.Chunk{Kind: model.Ping}) }

// Usage reports the tokens used so far; the turn's end repeats it.
func Usage(u model.Usage) Step {
	return Step{func(s *stage) bool {
		s.usage = &u
		return s.emit(model.Chunk{Kind: model.UsageReport, Usage: &u})
	}}
}

// Stop sets the reason of the turn's end.
func Stop(reason model.StopReason) Step {
	return Step{func(s *stage) bool {
		s.stop = reason
		return true
	}}
}

// Fail ends the response with the error, at once if it is the turn's first
// step, else in the middle of the stream.
func Fail(err error) Step {
	return Step{func(s *stage) bool { return s.fail(err) }}
}

// Cut ends the response without a terminal event or an error.
func Cut() Step {
	return Step{func(*stage) bool { return false }}
}

// Panic panics in the middle of the stream, as a broken provider would.
func Panic(v any) Step {
	return Step{func(*stage) bool { panic(v) }}
}

// Stall goes silent until the context ends.
func Stall() Step { return Wait(nil) }

// Delay waits.
func Delay(d time.Duration) Step {
	return Step{func(s *stage) bool {
		if err := scope.Sleep(s.ctx, d); err != nil {
			return s.fail(err)
		}
		return true
	}}
}

// Wait waits until the channel is closed or gives a value.
func Wait(ch <-chan struct{}) Step {
	return Step{func(s *stage) bool {
		select {
		case <-ch:
			return true
		case <-s.ctx.Done():
			return s.fail(context.Cause(s.ctx))
		}
	}}
}

// Deaf waits like [Wait] but ignores the context, as a read that does not
// return when its connection is cut. Close the channel at the end of the test.
func Deaf(ch <-chan struct{}) Step {
	return Step{func(*stage) bool {
		<-ch // the script's author closes it
		return true
	}}
}

// Repeat plays a step n times.
func Repeat(n int, step Step) Step {
	return Step{func(s *stage) bool {
		for range n {
			if !step.play(s) {
				return false
			}
		}
		return true
	}}
}

// Do calls a function when the script gets here, such as one that closes a
// channel or interrupts the turn. It runs in the goroutine that reads the
// stream, and must not wait for that.
func Do(f func()) Step {
	return Step{func(*stage) bool {
		f()
		return true
	}}
}

// Answer chooses the step by the request.
func Answer(f func(model.Request) Step) Step {
	return Step{func(s *stage) bool { return f(s.req).play(s) }}
}
