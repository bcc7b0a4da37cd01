package turn_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// A response that contradicts itself is malformed, and its text up to there is kept.
func TestContradictions(t *testing.T) {
	begins := func(index int, role model.Role) script.Step {
		return script.Chunk(model.Chunk{Kind: model.ItemStart, Index: index, Role: role})
	}
	says := func(index int) script.Step {
		return script.Chunk(model.Chunk{Kind: model.Delta, Index: index, Text: "x"})
	}
	ends := func(index int) script.Step { return script.Chunk(model.Chunk{Kind: model.ItemEnd, Index: index}) }
	for name, step := range map[string]script.Step{
		"an item without a type":         begins(1, ""),
		"an item of an unknown type":     begins(1, "prophecy"),
		"an item that begins twice":      script.Turn(begins(1, model.Assistant), begins(1, model.Assistant)),
		"an item that begins again":      script.Turn(begins(1, model.Assistant), says(1), ends(1), begins(1, model.Assistant)),
		"words of no item":               says(1),
		"words of an item that is over":  script.Turn(begins(1, model.Assistant), says(1), ends(1), says(1)),
		"the end of no item":             ends(1),
		"the end of an item that is not": script.Turn(begins(1, model.Assistant), says(1), ends(1), ends(1)),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := newBench(t, script.New(step, script.Text("ok")))
				if c := b.run(t.Context()); c.Outcome != event.Completed {
					t.Fatal(c)
				}
				if f := b.last().Attempts[0].End.Failure; f == nil || f.Kind != string(model.ErrMalformed) {
					t.Errorf("the attempt ended with %+v", f)
				}
			})
		})
	}
}

// A call that the provider withdrew is aborted, and the response continues.
func TestDroppedCall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		chunk := func(kind model.ChunkKind, index int, text string) script.Step {
			return script.Chunk(
				model.Chunk{Kind: kind, Index: index, Role: model.Call, CallID: "c", Name: "look", Text: text},
			)
		}
		b := newBench(t, script.New(script.Turn(
			chunk(model.ItemStart, 7, ""),
			chunk(model.Delta, 7, `{"pa`),
			chunk(model.ItemDrop, 7, ""),
			script.Text("ok"),
		)))
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatal(c)
		}
		if i := b.last().Items[0]; i.Status != event.ItemAborted || i.Effects != event.EffectsNone || i.Ready {
			t.Errorf("the call ended as %+v", i)
		}
		if n := len(b.last().Attempts); n != 1 {
			t.Errorf("%d attempts, want 1", n)
		}
	})
}

// A provider that checks calls withholds an invalid one. The model receives the error and
// answers again.
func TestWithheldCallIsRetried(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := script.New(script.Fail(model.NewError(model.ErrToolUse, "no such tool")), script.Text("ok"))
		b := newBench(t, p)
		if c := b.run(t.Context()); c.Outcome != event.Completed {
			t.Fatal(c)
		}
		requests := p.Requests()
		if last := requests[1].Input[len(requests[1].Input)-1]; !strings.Contains(last.Text, "no such tool") {
			t.Errorf("the model is told %q", last.Text)
		}
	})
}
