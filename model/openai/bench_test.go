//go:build !fuzzing

package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

const word = `response.output_text.delta|{"type":"response.output_text.delta","sequence_number":5,"item_id":"msg_1","output_index":0,"content_index":0,"delta":" word","logprobs":[],"obfuscation":"abcdef"}`

// BenchmarkDelta measures a text delta from the wire to a chunk.
func BenchmarkDelta(b *testing.B) {
	body := wiretest.SSE(created, msgOn) + strings.Repeat(wiretest.SSE(word), b.N) + wiretest.SSE(msgOff, done)
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
			Type        string
			OutputIndex int `json:"output_index"`
			Delta       string
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
