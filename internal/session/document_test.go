package session

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc/pdf"
	"github.com/settle-agent/settle/internal/test/pdftest"
)

func TestReadDocuments(t *testing.T) {
	data := pdftest.New("Hello.", "")
	got, err := ReadDocuments(t.Context(), []event.Document{{Data: data, Name: "a.pdf", MediaType: "text/plain"}})
	want := []event.Document{{
		MediaType: pdf.MediaType, Data: data, Name: "a.pdf", Pages: 2, Text: "--- page 1 of 2\nHello.\n--- page 2 of 2\n",
		Problem: "no text on 1 page, perhaps scanned images",
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	scanned, err := ReadDocuments(t.Context(), []event.Document{{Data: pdftest.New("", "")}})
	if err != nil || scanned[0].Text != "" || scanned[0].Problem != "no text on 2 pages, perhaps scanned images" {
		t.Errorf("%+v, %v", scanned, err)
	}
}

func TestReadDocumentsRefuses(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"empty":    {"", `cannot accept document 1 ("x"): it is empty`},
		"no PDF":   {"hello", "it is no PDF"},
		"too long": {"%PDF-1.7" + strings.Repeat("x", pdf.MaxBytes), "more than 20 MB"},
	} {
		if _, err := ReadDocuments(t.Context(), []event.Document{{Data: []byte(c.data), Name: "x"}}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ReadDocuments(ctx, []event.Document{{Data: pdftest.New("x")}}); err == nil {
		t.Error("no error after the end of the context")
	}
}
