//go:build !fuzzing

package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/responses"

	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// developers.openai.com/api/docs/guides/file-inputs
func TestDocument(t *testing.T) {
	got := sent(t, wiretest.DocumentRequest("gpt-5.2"), transport.Endpoint{})
	const want = `"content":[{"type":"input_text","text":"Sum up."},` +
		`{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}]`
	if !strings.Contains(string(got.Body), want) {
		t.Errorf("%s", got.Body)
	}
	var p responses.ResponseNewParams
	if err := json.Unmarshal(got.Body, &p); err != nil {
		t.Fatal(err)
	}
	item := p.Input.OfInputItemList[0]
	if item.OfMessage == nil && item.OfInputMessage == nil {
		t.Errorf("the SDK reads %+v", item)
	}
}
