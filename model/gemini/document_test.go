package gemini_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/model"
)

// document is a prompt with a PDF.
func document(name string) model.Request {
	return model.Request{Model: name, Input: []model.Item{{
		Role: model.User, Text: "Sum up.",
		Documents: []model.Document{{MediaType: "application/pdf", Data: []byte("%PDF"), Name: "a.pdf"}},
	}}}
}

// ai.google.dev/gemini-api/docs/document-processing
func TestDocument(t *testing.T) {
	got, _ := sent(t, document("gemini-3.8-flash"))
	const want = `{"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"JVBERg=="}},` +
		`{"text":"Sum up."}]}`
	if !strings.Contains(string(got.Body), want) {
		t.Errorf("%s", got.Body)
	}
}
