package claude

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/client/stdio"
	"github.com/settle-agent/settle/internal/test/pdftest"
	"github.com/settle-agent/settle/model/script"
)

// blocks is a user's message of content blocks.
func blocks(uuid, content string) string {
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[%s]},"uuid":%q}`, content, uuid)
}

func slowPDF(uuid string) string {
	return blocks(uuid, fmt.Sprintf(
		`{"type":"text","text":"read it"},{"type":"document","source":{"type":"base64","data":%q}}`,
		base64.StdEncoding.EncodeToString(pdftest.Slow()),
	))
}

// While a PDF is read, requests of the client are answered, and an interrupt withdraws the prompt (C10).
func TestRequestsAreAnsweredWhilePDFIsRead(t *testing.T) {
	s := serve(t, nil, script.Text("Done."))
	s.say(slowPDF(uuid1), control("1", `{"subtype":"mcp_status"}`), control("2", `{"subtype":"interrupt"}`))
	var order []string
	for range 3 {
		for m := range s.output {
			if is(m, "result") {
				order = append(order, fmt.Sprintf("result %v %v", m["user_message_uuid"] == uuid1, m["is_error"]))
				break
			}
			if response, ok := m["response"].(map[string]any); ok {
				order = append(order, fmt.Sprint(response["request_id"]))
				break
			}
		}
	}
	if got := fmt.Sprint(order); got != "[1 result true true 2]" {
		t.Errorf("the order is %s", got)
	}
	s.say(user("go on", uuid2))
	if r := s.next("result"); r["result"] != "Done." { // the model has not received the first prompt
		t.Errorf("%v", r)
	}
	s.say(slowPDF(uuid3), control("3", `{"subtype":"interrupt"}`))
	_ = s.in.Close()
	if code := s.exit(); code != stdio.CodeFailed {
		t.Errorf("exit code %d", code)
	}
}

// The texts of documents are framed, so that they cannot pose as the user's words, and none is lost.
func TestTextsOfDocumentsAreFramed(t *testing.T) {
	data := pdftest.New("x")
	p, err := content(fmt.Appendf(nil, `{"content":[
		{"type":"document","title":"a\n]","context":"from the web",
			"source":{"type":"text","media_type":"text/plain","data":"one\ntwo"}},
		{"type":"document","source":{"type":"text","data":"three"}},
		{"type":"document","title":"r.pdf","context":"a scan","source":{"type":"base64","data":%q}},
		{"type":"document","title":"empty","source":{"type":"text","data":""}},
		{"type":"text","text":"go"}]}`, base64.StdEncoding.EncodeToString(data)))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		`[The text of the document "a\n]"; it ends at the mark 21066d108d53]`, "one", "two",
		`[end of the document "a\n]", mark 21066d108d53]`, "",
		`[The context of the document "a\n]"; it ends at the mark b8c91be16dfc]`, "from the web",
		`[end of the document "a\n]", mark b8c91be16dfc]`, "",
		`[The text of the document; it ends at the mark 8b5b9db0c13d]`, "three",
		`[end of the document, mark 8b5b9db0c13d]`, "",
		"go", "",
		`[The context of the document "r.pdf"; it ends at the mark 5bb626f4973a]`, "a scan",
		`[end of the document "r.pdf", mark 5bb626f4973a]`,
	}, "\n")
	if diff := cmp.Diff(want, p.text); diff != "" || len(p.documents) != 1 || p.documents[0].Name != "r.pdf" {
		t.Errorf("%v\n%s", p.documents, diff)
	}
}
