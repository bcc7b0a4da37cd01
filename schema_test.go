package settle_test

import (
	"encoding/json"
	"testing"

	settle "github.com/settle-agent/settle"
	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/script"
)

// Each request of the turn has the schema, and no request of the next turn has it.
func TestSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{}}`
	provider := script.New(script.Turn(script.Text(`{}`)), script.Turn(script.Text("words")))
	s := newSession(t, newHost(t, "", settle.SessionConfig{Model: model.Config{Provider: provider}}), "")
	for _, options := range [][]settle.InputOption{{settle.WithSchema(json.RawMessage(schema))}, nil} {
		turn, err := s.Submit(t.Context(), "go", options...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := turn.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	requests := provider.Requests()
	if string(requests[0].Schema) != schema || requests[1].Schema != nil {
		t.Errorf("schemas %s and %s", requests[0].Schema, requests[1].Schema)
	}
}
