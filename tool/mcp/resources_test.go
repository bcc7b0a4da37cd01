package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/tool/mcp"
)

// library is a server with resources, for a version of the protocol.
func library(t *testing.T, version string) mcp.Server {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "library", Version: "1"}, &sdk.ServerOptions{PageSize: 2})
	var reads atomic.Int64
	give := func(contents ...*sdk.ResourceContents) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			answer := &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{}}
			for _, c := range contents {
				filled := *c
				filled.URI = r.Params.URI
				filled.Text = strings.ReplaceAll(filled.Text, "READS", fmt.Sprint(reads.Add(1)))
				answer.Contents = append(answer.Contents, &filled)
			}
			answer.TTLMs = 3_600_000
			return answer, nil
		}
	}
	s.AddResource(&sdk.Resource{
		URI: "book:///a", Name: "a", MIMEType: "text/plain", Description: "The first\nbook",
		Size: 12,
	}, give(&sdk.ResourceContents{MIMEType: "text/plain", Text: "read READS times"}))
	s.AddResource(&sdk.Resource{URI: "book:///b", Name: "b"},
		give(&sdk.ResourceContents{Text: strings.Repeat("long ", 20_000)}))
	s.AddResource(&sdk.Resource{URI: "book:///cover", Name: "cover"}, give(
		&sdk.ResourceContents{MIMEType: "image/png", Blob: []byte("picture")},
		&sdk.ResourceContents{MIMEType: "application/x-lock", Blob: []byte("binary")}))
	s.AddResource(&sdk.Resource{URI: "book:///empty", Name: "empty"}, give())
	s.AddResource(&sdk.Resource{URI: "book:///torn", Name: "torn"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return nil, errors.New("the page is torn out")
		})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "book:///page/{number}", Name: "page"},
		give(&sdk.ResourceContents{Text: "a page"}))
	endpoint := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: version > "2026"})
	web := httptest.NewServer(ofVersion(version, endpoint))
	t.Cleanup(func() {
		web.Close()
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	return mcp.Server{Name: "library", URL: web.URL, StartTimeout: patience, CallTimeout: patience}
}

// ofVersion makes a server ignore everything later than the version.
func ofVersion(version string, endpoint http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(said))
		if version < "2026" && bytes.Contains(said, []byte(`"server/discover"`)) {
			http.Error(w, "no such method", http.StatusBadRequest)
			return
		}
		endpoint.ServeHTTP(w, r)
	})
}

// stocked opens a session with a known library.
func stocked(t *testing.T, library mcp.Server) *session {
	t.Helper()
	cache := t.TempDir()
	s := open(t, cache, library)
	if got := s.tools.Names(); !slices.Equal(got, []string{"tool_search", "tool_call"}) {
		t.Errorf("before anything is known: %q", got)
	}
	s.call("tool_search", map[string]string{"query": ""})
	return open(t, cache, library)
}

func TestResources(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			x := library(t, version)
			cache := t.TempDir()
			open(t, cache, x).call("tool_search", map[string]string{"query": ""})
			if c := mcp.Known(cache, x); c == nil || c.Protocol != version || !c.Resources {
				t.Fatalf("what is known of it: %+v", c)
			}
			s := stocked(t, x)
			if got := s.tools.Names(); !slices.Equal(got, []string{mcp.ResourcesName}) {
				t.Errorf("the tools are %q", got)
			}
			if got, want := s.call(mcp.ResourcesName, map[string]string{"server": "library"}),
				`book:///a (a, text/plain, 12 bytes, The first book)
book:///b (b)
book:///cover (cover)
book:///empty (empty)
book:///torn (torn)
Templates of more, to be filled in (RFC 6570):
book:///page/{number} (page)`; got != want {
				t.Errorf("the list is\n%s", got)
			}
			read := func(uri string) string {
				t.Helper()
				return s.call(mcp.ResourcesName, map[string]string{"server": "library", "uri": uri})
			}
			for n := range 2 { // for any lifetime of an answer that the server states
				if got, want := read("book:///a"),
					fmt.Sprintf("[resource: book:///a]\nread %d times", n+1); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			if got := read("book:///b"); len(got) > 34<<10 || !strings.Contains(got, "\n[The whole result is in ") {
				t.Errorf("a long one: %d bytes", len(got))
			}
			spool := filepath.Join(s.dir, "spool")
			want := "[resource: book:///cover] [image, image/png, 7 bytes, kept in " + filepath.Join(spool,
				"call-1.png") + "]\n" +
				"[resource: book:///cover] [resource, application/x-lock, 6 bytes, kept in " + filepath.Join(spool,
				"call-2.bin") + "]"
			if got := read("book:///cover"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if data, err := os.ReadFile(filepath.Join(spool, "call-1.png")); err != nil || string(data) != "picture" {
				t.Errorf("the image's file: %q, %v", data, err)
			}
			if got := read("book:///empty"); got != "The resource is empty." {
				t.Errorf("got %q", got)
			}
			if got := read("book:///page/7"); got != "[resource: book:///page/7]\na page" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestResourcesThatCannotBeRead(t *testing.T) {
	s := stocked(t, library(t, "2025-11-25"))
	for uri, want := range map[string]string{
		"book:///torn":       "the page is torn out",
		"book:///unheard-of": "not found",
	} {
		_, err := s.run(t.Context(), mcp.ResourcesName, map[string]string{"server": "library", "uri": uri}, nil)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), `the MCP server "library" refused`) {
			t.Errorf("%s: %v", uri, err)
		}
	}
	if _, err := s.run(t.Context(), mcp.ResourcesName, map[string]string{"server": "other"}, nil); err == nil ||
		!strings.Contains(err.Error(), `no MCP server "other" with resources`) {
		t.Errorf("another server: %v", err)
	}
}

// The configuration of a server's tools also applies to its resources; a server without any
// has no tool for them.
func TestResourcesAreOffered(t *testing.T) {
	x := library(t, "2026-07-28")
	cache := t.TempDir()
	open(t, cache, x).call("tool_search", map[string]string{"query": ""})
	offered := func(change func(*mcp.Server)) bool {
		changed := x
		change(&changed)
		offer := mcp.Read(cache, []mcp.Server{changed})
		if len(offer.Notes) > 0 {
			t.Errorf("notes: %q", offer.Notes)
		}
		return slices.Contains(offer.Names(), mcp.ResourcesName)
	}
	if !offered(func(*mcp.Server) {}) || !offered(func(s *mcp.Server) { s.Tools = []string{mcp.ResourcesName} }) {
		t.Error("they are not offered")
	}
	if offered(func(s *mcp.Server) { s.Tools = []string{} }) ||
		offered(func(s *mcp.Server) { s.Without = []string{mcp.ResourcesName} }) {
		t.Error("they are offered although the configuration leaves them out")
	}
	if got := known(t, newSite(t, nil).server()).tools.Names(); slices.Contains(got, mcp.ResourcesName) {
		t.Errorf("a server without resources: %q", got)
	}
}

// The resources of a new server are found, and the tools do not change.
func TestLateResources(t *testing.T) {
	s := open(t, t.TempDir(), library(t, "2026-07-28"))
	if got := s.call("tool_search", map[string]string{"query": "book"}); !strings.Contains(got,
		"## mcp_resources\nList or read the resources of an MCP server (library).\nArguments: {") {
		t.Errorf("it is not found: %s", got)
	}
	got := s.call("tool_call", map[string]any{
		"name":      mcp.ResourcesName,
		"arguments": map[string]string{"server": "library", "uri": "book:///a"},
	})
	if got != "[resource: book:///a]\nread 1 times" {
		t.Errorf("got %q", got)
	}
	if got := s.tools.Names(); !slices.Equal(got, []string{"tool_search", "tool_call"}) {
		t.Errorf("the tools are %q", got)
	}
}

// A server without templates, whose list is endless.
func TestOddResources(t *testing.T) {
	s := known(t, server(t, "reads"))
	list := s.call(mcp.ResourcesName, map[string]string{"server": "fake"})
	if lines := strings.Split(list, "\n"); len(lines) != 2 || lines[0] != lines[1] ||
		strings.Contains(list, "\x1b") || !strings.HasSuffix(lines[0], " (a b)") {
		t.Errorf("the list is %q", list)
	}
	if got := s.call(mcp.ResourcesName,
		map[string]string{"server": "fake", "uri": "x:///1"}); got != "[resource: x:///1]\none" {
		t.Errorf("got %q", got)
	}
}

func TestUnwrapResources(t *testing.T) {
	inner, ok := mcp.Unwrap(mcp.ResourcesName, `{"server":"my books","uri":"book:///a"}`)
	if !ok || inner.Name != "my_books__mcp_resources" ||
		string(inner.Arguments) != `{"server":"my books","uri":"book:///a"}` {
		t.Errorf("got %+v, %v", inner, ok)
	}
	through, ok := mcp.Unwrap(mcp.CallName,
		`{"name":"mcp_resources","arguments":{"server":"my books","uri":"book:///a"}}`)
	if !ok || through.Name != inner.Name || string(through.Arguments) != string(inner.Arguments) {
		t.Errorf("through the other tool: %+v, %v", through, ok)
	}
	for _, arguments := range []string{"", "{}", `{"server":7}`} {
		if inner, ok := mcp.Unwrap(mcp.ResourcesName, arguments); ok {
			t.Errorf("%q: %+v", arguments, inner)
		}
	}
}
