package transcript_test

import (
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/client/transcript"
)

// BenchmarkDelta measures the cost of a piece of text for a frontend, live and held back, besides
// [event.Fold].
func BenchmarkDelta(b *testing.B) {
	log := interleaved()[:6]
	delta := log[5]
	fold := func(s event.State, e event.Event) event.State {
		s, err := event.Fold(s, e)
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	begun := func() (s event.State) {
		for _, e := range log[:5] {
			s = fold(s, e)
		}
		return s
	}
	b.Run("fold", func(b *testing.B) {
		b.ReportAllocs()
		state, e := begun(), delta
		for b.Loop() {
			e.Seq = state.Seq + 1
			state = fold(state, e)
		}
	})
	for _, mode := range []transcript.Mode{transcript.Live, transcript.Final} {
		b.Run(string(mode), func(b *testing.B) {
			b.ReportAllocs()
			t, e := transcript.New(begun(), mode), delta
			for b.Loop() {
				e.Seq = t.State().Seq + 1
				if _, err := t.Take(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
