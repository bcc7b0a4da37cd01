//go:build !fuzzing

package chat_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"

	"github.com/settle-agent/settle/model/chat"
	"github.com/settle-agent/settle/model/internal/wiretest"
)

// developers.openai.com/api/docs/guides/file-inputs?api-mode=chat
func TestDocument(t *testing.T) {
	got := sent(t, wiretest.DocumentRequest("m"), chat.Options{})
	const want = `{"role":"user","content":[{"type":"text","text":"Sum up."},` +
		`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}]}`
	if !strings.Contains(string(got.Body), want) {
		t.Errorf("%s", got.Body)
	}
	var p openai.ChatCompletionNewParams
	if err := json.Unmarshal(got.Body, &p); err != nil {
		t.Fatal(err)
	}
	file := p.Messages[0].OfUser.Content.OfArrayOfContentParts[1].OfFile
	if file == nil || file.File.Filename.Value != "a.pdf" ||
		file.File.FileData.Value != "data:application/pdf;base64,JVBERg==" {
		t.Errorf("the SDK reads %+v", file)
	}
}

func TestTakesFiles(t *testing.T) {
	for host, want := range map[string]bool{
		"api.openai.com": true, "openrouter.ai": true, "localhost": false, "api.groq.com": false,
		"openai.com.example.org": false,
	} {
		if chat.TakesFiles(host) != want {
			t.Errorf("%s: not %t", host, want)
		}
	}
}
