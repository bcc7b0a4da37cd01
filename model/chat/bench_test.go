//go:build !fuzzing

package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

const word = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}`

// BenchmarkDelta measures a text delta from the wire to a chunk.
func BenchmarkDelta(b *testing.B) {
	body := strings.Repeat(wiretest.SSE(word), b.N) + wiretest.SSE(finish("stop"), done)
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
			Choices []struct {
				Index int
				Delta struct{ Content string }
			}
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
