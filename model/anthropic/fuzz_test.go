package anthropic_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/anthropic"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

func provider(s *wiretest.Server) *anthropic.Provider {
	return anthropic.New(
		anthropic.Options{Endpoint: transport.Endpoint{Client: s.Client(), AuthHint: "set ANTHROPIC_API_KEY"}},
	)
}

// The fuzzing engine instruments all that a test imports. So the tests that
// import the provider's SDK, which takes minutes, are left out with the tag
// "fuzzing".
func FuzzResponse(f *testing.F) {
	f.Fuzz(func(t *testing.T, body string) {
		p := provider(&wiretest.Server{Body: body})
		got, err := wiretest.Read(t.Context(), p, model.Request{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if got.Err == nil && !strings.Contains(body, `\u`) && !strings.Contains(body, "message_stop") {
			t.Error("success without the terminal event")
		}
	})
}
