package gemini_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

func provider(s *wiretest.Server) *gemini.Provider {
	return gemini.New(gemini.Options{Endpoint: transport.Endpoint{Client: s.Client(), AuthHint: "set GEMINI_API_KEY"}})
}

func FuzzResponse(f *testing.F) {
	for _, events := range [][]string{
		{thought, text, done},
		{call, callBare, done},
		{`{"promptFeedback":{"blockReason":"SAFETY"}}`},
		{overloaded},
		{text, `{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}`},
	} {
		f.Add(wiretest.SSE(events...))
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := wiretest.Read(t.Context(), provider(&wiretest.Server{Body: body}), model.Request{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if got.Err == nil && !strings.Contains(body, `\u`) && !strings.Contains(body, "finishReason") {
			t.Error("success without the terminal event")
		}
	})
}
