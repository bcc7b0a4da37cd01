//go:build !fuzzing

package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

const word = `content_block_delta|{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" word"}}`

// BenchmarkDelta measures a text delta from the wire to a chunk.
func BenchmarkDelta(b *testing.B) {
	body := wiretest.SSE(start, textOn) + strings.Repeat(wiretest.SSE(word), b.N) + wiretest.SSE(off, endTurn, stop)
	p := provider(&wiretest.Server{Body: body})
	b.ReportAllocs()
	b.ResetTimer()
	for _, err := range p.Stream(b.Context(), model.Request{Model: "m"}) {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFramingAndJSON is the yardstick: the same bytes, framed and decoded
// by encoding/json into the fields that are needed.
func BenchmarkFramingAndJSON(b *testing.B) {
	r := transport.NewSSEReader(strings.NewReader(strings.Repeat(wiretest.SSE(word), b.N)), 0)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		var e struct {
			Type  string
			Index int
			Delta struct{ Type, Text string }
		}
		event, err := r.Next()
		if err != nil {
			b.Fatal(err)
		}
		if err := json.Unmarshal(event.Data, &e); err != nil {
			b.Fatal(err)
		}
	}
}
