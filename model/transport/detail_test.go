package transport_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
	"github.com/settle-agent/settle/model/transport"
)

// TestStreamKind: an error within a stream has the same kind as the same error in a response.
func TestStreamKind(t *testing.T) {
	for _, tt := range []struct {
		body string
		kind model.ErrorKind
	}{
		{`{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"{\"message\":\"messages.7.content.2: Invalid signature in thinking block\"}"}}}`, model.ErrReasoning},
		{`{"error":{"object":"error","message":"Qwen/Qwen3-0.6B is not a multimodal model","type":"BadRequestError","code":400}}`, model.ErrImage},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`, model.ErrImage},
		{`{"error":{"code":"image_parse_error","message":"no"}}`, model.ErrImage},
		// github.com/BerriAI/litellm/issues/36545, github.com/BigPizzaV3/CodexPlusPlus/issues/2156
		{`{"error":{"type":"invalid_request_error","message":"Invalid Value: 'tools.namespace'. User-defined namespace 'functions' collides with an existing tool namespace."}}`, model.ErrToolSearch},
		{`{"error":{"type":"invalid_request_error","message":"Duplicate namespace name 'met' in input[101].tools[1]. Namespace names must be unique."}}`, model.ErrToolSearch},
	} {
		if got := transport.ParseDetail([]byte(tt.body)).StreamKind(); got != tt.kind {
			t.Errorf("%s is %q, want %q", tt.body, got, tt.kind)
		}
	}
}

// TestDetailOfABeginning: the detail of a truncated response has the beginning of its message.
func TestDetailOfABeginning(t *testing.T) {
	long := strings.Repeat("QUJD", 1000)
	for _, tt := range []struct{ body, message string }{
		{`{"error":{"code":500,"message":"no \"image_url\""},"input":"` + long, `no "image_url"`},
		{`[{"error":{"message": "` + long, long[:300]},
		{`{"detail":[{"loc":["body"],"msg":"should be é","input":"` + long, "should be é"},
		{`{"detail":"` + strings.Repeat("é", 1000), strings.Repeat("é", 150)},
		{`{"message":"` + strings.Repeat("x", 297) + `\u00e9` + long, strings.Repeat("x", 297)},
		{`{"message":[`, ""},
		{`{"message":"`, ""},
		{`{"a`, ""},
	} {
		if got := transport.ParseDetail([]byte(tt.body)).Message; got != tt.message {
			t.Errorf("%.60s…: %q, want %q", tt.body, got, tt.message)
		}
	}
}

// TestDetailOfDocuments uses messages of platform.claude.com, developers.openai.com, Gemini, and of
// servers that do not know documents.
func TestDetailOfDocuments(t *testing.T) {
	for message, want := range map[string]model.ErrorKind{
		"messages.0.content.0.document.source.base64: The PDF specified was not valid.":       model.ErrDocument,
		"A maximum of 100 PDF pages may be provided.":                                         model.ErrDocument,
		"Invalid 'input[0].content[1].file_data'. Expected a base64-encoded data URL.":        model.ErrDocument,
		"Invalid value: 'file'. Supported values are: 'text', 'image_url' and 'input_audio'.": model.ErrDocument,
		"The document has no pages.":                                                          model.ErrDocument,
		"Unsupported image. See the documentation.":                                           model.ErrImage,
		"Input tag 'video' does not match. See the docs.":                                     "",
	} {
		kind, _ := transport.Detail{Message: message}.Kind(http.StatusBadRequest)
		if kind != want {
			t.Errorf("%q is %q, not %q", message, kind, want)
		}
	}
}
