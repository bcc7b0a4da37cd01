package modeltest_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

// smallPDF has no pages: the rules only look at its marks.
const smallPDF = "%PDF-1.7\n1 0 obj <</Type/Catalog>> endobj\ntrailer <</Root 1 0 R>>\nstartxref\n9\n%%EOF\n"

func TestMessagesRefuseBadDocuments(t *testing.T) {
	good := base64.StdEncoding.EncodeToString([]byte(smallPDF))
	locked := base64.StdEncoding.EncodeToString([]byte(strings.Replace(smallPDF, "/Root", "/Encrypt 2 0 R /Root", 1)))
	block := func(kind, data string) string {
		return messagesBody(fmt.Sprintf(
			`{"role":"user","content":[{"type":"document",`+
				`"source":{"type":"base64","media_type":%q,"data":%q}}]}`, kind, data))
	}
	checkRefusals(t, "/v1/messages", []refusal{
		{"a PDF", block("application/pdf", good), ""},
		{"a text", block("text/plain", good), "media_type: Input should be 'application/pdf'"},
		{"cut off", block("application/pdf", good[:len(good)/8*4]), "The PDF specified was not valid."},
		{"no base64", block("application/pdf", "*"), "The PDF specified was not valid."},
		{"encrypted", block("application/pdf", locked), "The PDF specified is password protected."},
	})
}

func TestOpenAIRefusesBadFiles(t *testing.T) {
	url := "data:application/pdf;base64," + base64.StdEncoding.EncodeToString([]byte(smallPDF))
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"m","stream":true,"messages":[{"role":"user",` +
			`"content":[{"type":"file","file":{%s}}]}]}`,
		"/v1/responses": `{"model":"m","stream":true,"store":false,"input":[{"role":"user",` +
			`"content":[{"type":"input_file",%s}]}]}`,
	} {
		part := func(name, data string) string {
			return fmt.Sprintf(body, fmt.Sprintf(`"filename":%q,"file_data":%q`, name, data))
		}
		checkRefusals(t, path, []refusal{
			{"a PDF", part("a.pdf", url), ""},
			{"no name", part("", url), ".filename'"},
			{"no URL", part("a.pdf", url[28:]), "Expected a base64-encoded data URL"},
			{"another type", part("a.pdf", "data:text/plain;base64,aGk="), "Expected a base64-encoded data URL"},
			{"no PDF", part("a.pdf", "data:application/pdf;base64,aGk="), "could not be read as a PDF"},
		})
	}
}
