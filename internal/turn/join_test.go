package turn

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
)

func delta(index int, text string) streamItem {
	return streamItem{chunk: model.Chunk{Kind: model.Delta, Role: model.Assistant, Index: index, Text: text}}
}

func TestJoinTakesOnlyTextOfTheSameItem(t *testing.T) {
	end := streamItem{chunk: model.Chunk{Kind: model.ItemEnd, Role: model.Assistant}}
	over, broken := streamItem{ended: true}, streamItem{err: model.NewError(model.ErrConnection, "broke")}
	ping := streamItem{chunk: model.Chunk{Kind: model.Ping}}
	for _, tt := range []struct {
		name    string
		waiting []streamItem
		text    string
		next    *streamItem
		left    int
	}{
		{"nothing waits", nil, "a", nil, 0},
		{"deltas", []streamItem{delta(0, "b"), delta(0, "c")}, "abc", nil, 0},
		{"another item", []streamItem{delta(0, "b"), delta(1, "c"), delta(1, "d")}, "ab", new(delta(1, "c")), 1},
		{"the end of the item", []streamItem{delta(0, "b"), end, delta(0, "c")}, "ab", &end, 1},
		{"a ping", []streamItem{ping, delta(0, "b")}, "a", &ping, 1},
		{"the end of the stream", []streamItem{delta(0, "b"), over}, "ab", &over, 0},
		{"an error", []streamItem{broken}, "a", &broken, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			chunks := make(chan *streamItem, pumpBuffer)
			for _, c := range tt.waiting {
				chunks <- &c
			}
			r := delta(0, "a")
			next := r.join(chunks)
			more := next != nil
			if r.chunk.Text != tt.text || more != (tt.next != nil) || len(chunks) != tt.left {
				t.Errorf("joined %q, more %t, %d left", r.chunk.Text, more, len(chunks))
			}
			if more &&
				(!cmp.Equal(next.chunk, tt.next.chunk) || !errors.Is(next.err, tt.next.err) || next.ended != tt.next.ended) {
				t.Errorf("next is %+v", next)
			}
		})
	}
}

func TestJoinIsBounded(t *testing.T) {
	chunks := make(chan *streamItem, pumpBuffer)
	for range pumpBuffer {
		chunks <- new(delta(0, strings.Repeat("x", maxJoined/2)))
	}
	r := delta(0, "a")
	if next := r.join(chunks); next != nil || len(r.chunk.Text) > 2*maxJoined || len(chunks) == 0 {
		t.Errorf("joined %d bytes, %d chunks are left", len(r.chunk.Text), len(chunks))
	}
}

func TestJoinLeavesOtherChunksAlone(t *testing.T) {
	chunks := make(chan *streamItem, 1)
	chunks <- new(delta(0, "b"))
	r := streamItem{chunk: model.Chunk{Kind: model.Ping}}
	if next := r.join(chunks); next != nil || len(chunks) != 1 {
		t.Error("a ping took a delta")
	}
}
