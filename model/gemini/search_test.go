//go:build !fuzzing

package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/gemini"
	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// A search is a request with the API's own tool: functions may not stand beside it.
func TestSearch(t *testing.T) {
	server := &wiretest.Server{Body: wiretest.SSE(
		`{"candidates":[{"content":{"parts":[{"text":"Go "}],"role":"model"},"index":0}],"responseId":"r"}`,
		`{"candidates":[{"content":{"parts":[{"text":"1.27."}],"role":"model"},"finishReason":"STOP","index":0,"groundingMetadata":{"webSearchQueries":["go"],`+
			`"searchEntryPoint":{"renderedContent":"<div>"},"groundingChunks":[{"web":{"uri":"https://vertexaisearch.cloud.google.com/1","title":"go.dev"}},{"retrievedContext":{"text":"x"}}],`+
			`"groundingSupports":[{"segment":{"endIndex":3},"groundingChunkIndices":[0]}]}}],"usageMetadata":{"promptTokenCount":9,"toolUsePromptTokenCount":4,"candidatesTokenCount":3}}`,
	)}
	p := gemini.New(gemini.Options{Endpoint: transport.Endpoint{Client: server.Client()}})
	req := model.Request{
		Model: "gemini-2.5-flash", System: "Search.", Input: []model.Item{{Role: model.User, Text: "go"}}, Search: true, Effort: "low",
	}
	r, err := wiretest.Read(t.Context(), p, req)
	if err != nil || r.Err != nil || r.Stop != model.StopEndTurn || r.Usage.Input != 13 {
		t.Fatal(err, r.Err, r.Stop, r.Usage)
	}
	if diff := cmp.Diff([]string{"https://vertexaisearch.cloud.google.com/1 go.dev"}, r.Sources); diff != "" {
		t.Error(diff)
	}
	if body := string(server.Sent()[0].Body); !strings.Contains(body, `"tools":[{"googleSearch":{}}]`) ||
		strings.Contains(body, "toolConfig") {
		t.Error(body)
	}
}
