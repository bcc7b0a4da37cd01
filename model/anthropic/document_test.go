//go:build !fuzzing

package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/settle-agent/settle/model/internal/wiretest"
	"github.com/settle-agent/settle/model/transport"
)

// platform.claude.com/docs/en/build-with-claude/pdf-support
func TestDocument(t *testing.T) {
	got := sent(t, wiretest.DocumentRequest("claude-opus-5-5"), transport.Endpoint{})
	const want = `{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="},` +
		`"title":"a.pdf"},` + `{"type":"text","text":"Sum up."`
	if !strings.Contains(string(got.Body), want) {
		t.Errorf("%s", got.Body)
	}
	var p sdk.MessageNewParams
	if err := json.Unmarshal(got.Body, &p); err != nil {
		t.Fatal(err)
	}
	d := p.Messages[0].Content[0].OfDocument
	if d == nil || d.Source.OfBase64 == nil || d.Source.OfBase64.Data != "JVBERg==" {
		t.Errorf("the SDK reads %+v", d)
	}
}
