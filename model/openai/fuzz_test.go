package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/openai"
	"github.com/settle-agent/settle/model/transport"
)

func provider(s *wiretest.Server) *openai.Provider {
	return openai.New(openai.Options{Endpoint: transport.Endpoint{Client: s.Client(), AuthHint: "set OPENAI_API_KEY"}})
}

// The fuzzing engine instruments all that a test imports. So the tests that
// import the provider's SDK, which takes minutes, are left out with the tag
// "fuzzing".
func FuzzResponse(f *testing.F) {
	request := model.Request{
		Model: "gpt-6.1-sol",
		Tools: []model.ToolSpec{
			{Name: "shell"},
			{
				Name:    "apply_patch",
				Schema:  json.RawMessage(`{"type":"object","properties":{"patch":{"type":"string"}}}`),
				Grammar: "start: /.+/",
			},
		},
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := wiretest.Read(t.Context(), provider(&wiretest.Server{Body: body}), request)
		if err != nil {
			t.Fatal(err)
		}
		if got.Err == nil && !strings.Contains(body, `\u`) &&
			!strings.Contains(body, "response.completed") && !strings.Contains(body, "response.incomplete") {
			t.Error("success without the terminal event")
		}
	})
}
