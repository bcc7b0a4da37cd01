package chat_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

func provider(s *wiretest.Server) *chat.Provider {
	return chat.New(chat.Options{Endpoint: transport.Endpoint{Client: s.Client(), BaseURL: "http://localhost:8000/v1"}})
}

// The fuzzing engine instruments all that a test imports. So the tests that
// import the provider's SDK, which takes minutes, are left out with the tag
// "fuzzing".
func FuzzResponse(f *testing.F) {
	f.Fuzz(func(t *testing.T, body string) {
		got, err := wiretest.Read(t.Context(), provider(&wiretest.Server{Body: body}), model.Request{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if got.Err == nil && !strings.Contains(body, `\u`) && !strings.Contains(body, "finish_reason") &&
			!strings.Contains(body, "[DONE]") {
			t.Error("success without the terminal event")
		}
	})
}
