package web_test

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"github.com/settle-agent/settle/event"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The document names every request that there is, and no other.
func TestDocumentHasTheRequests(t *testing.T) {
	b := serve(t, setup{})
	want := map[string]bool{}
	for path, operations := range b.api.Paths {
		for method := range operations {
			want[strings.ToUpper(method)+" "+path] = true
		}
	}
	got := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([A-Z]+ /(?:api|metrics)[^`]*)`").FindAllStringSubmatch(readme(t), -1) {
		got[match[1]] = true
	}
	b.diff("requests", slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)))
}

// The document's examples have the documented results.
func TestDocumentedExamples(t *testing.T) {
	b, session, ran := asking(t)
	values := map[string]string{
		"API":      b.base + "/api/sessions",
		"AUTH":     bearer,
		"ID":       strings.TrimPrefix(session, "/api/sessions/"),
		"APPROVAL": b.awaitApproval(session),
		"JSON":     "Content-Type: application/json",
	}
	examples := regexp.MustCompile(`(?m)^curl .*$`).FindAllString(readme(t), -1)
	for _, example := range examples {
		words, err := shell.Fields(
			strings.TrimSuffix(example, " > session.jsonl"),
			func(name string) string { return values[name] },
		)
		if err != nil {
			t.Fatalf("%s: %v", example, err)
		}
		method, path, body := "GET", "", ""
		for len(words) > 1 {
			switch words[1] {
			case "-H":
				if words[2] != bearer && words[2] != "Content-Type: application/json" {
					t.Errorf("%s has the header %q", example, words[2])
				}
				words = words[1:]
			case "-X":
				method, words = words[2], words[1:]
			case "-d":
				method, body, words = "POST", words[2], words[1:]
			case "-N":
			default:
				path = strings.TrimPrefix(words[1], b.base)
			}
			words = words[1:]
		}
		if strings.Contains(path, "/events") {
			for e := range b.watch(context.Background(), strings.TrimSuffix(path, "/events?after=0"), 0) {
				if e.Kind() == event.KindSessionOpened {
					break
				}
			}
			continue
		}
		var sent any
		if body != "" {
			sent = body
		}
		if a := b.send(method, path, sent); a.status >= 300 {
			t.Errorf("%s: %d %s", example, a.status, a.body)
		}
	}
	if len(examples) != 7 || ran() > 1 {
		t.Errorf("there are %d examples; the call ran %d times", len(examples), ran())
	}
}
