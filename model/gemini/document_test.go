package gemini_test

import (
	"strings"
	"testing"

	"github.com/settle-agent/settle/model/internal/wiretest"
)

// ai.google.dev/gemini-api/docs/document-processing
func TestDocument(t *testing.T) {
	got, _ := sent(t, wiretest.DocumentRequest("gemini-3.8-flash"))
	const want = `{"role":"user","parts":[{"inlineData":{"mimeType":"application/pdf","data":"JVBERg=="}},` +
		`{"text":"Sum up."}]}`
	if !strings.Contains(string(got.Body), want) {
		t.Errorf("%s", got.Body)
	}
}
