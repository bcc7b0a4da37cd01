package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/tool/mcp"
)

// site is a server over HTTP that can misbehave.
type site struct {
	*httptest.Server

	forgets  atomic.Bool  // drops the session of the next call, once
	broken   atomic.Bool  // gives unusable answers to calls
	target   atomic.Value // target of its redirects; a string
	keyless  atomic.Int64 // number of requests without the key
	requests atomic.Int64 // number of requests
}

func newSite(t *testing.T, options *sdk.StreamableHTTPOptions) *site {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "site", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"},
		func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
		})
	endpoint := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, options)
	x := &site{}
	x.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.requests.Add(1)
		if r.Header.Get("Authorization") != "Bearer key" {
			x.keyless.Add(1)
		}
		said, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(said))
		call := bytes.Contains(said, []byte(`"tools/call"`))
		to, _ := x.target.Load().(string)
		switch {
		case to != "":
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		case call && x.broken.Load():
			http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		case call && x.forgets.CompareAndSwap(true, false):
			http.Error(w, "session not found", http.StatusNotFound)
		default:
			endpoint.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		x.Close()
		for session := range s.Sessions() { // dropped sessions
			_ = session.Close()
		}
	})
	return x
}

func (x *site) server() mcp.Server {
	return mcp.Server{
		Name: "site", URL: x.URL, Headers: map[string]string{"Authorization": "Bearer key"},
		StartTimeout: patience, CallTimeout: patience,
	}
}

func TestHTTP(t *testing.T) {
	for name, options := range map[string]*sdk.StreamableHTTPOptions{
		"streams": nil, "stateless": {Stateless: true},
		"JSON": {JSONResponse: true},
	} {
		t.Run(name, func(t *testing.T) {
			x := newSite(t, options)
			s := known(t, x.server())
			if got := s.call("site__echo", echo("hello")); got != "hello" {
				t.Errorf("got %q", got)
			}
			if n := x.keyless.Load(); n > 0 {
				t.Errorf("%d requests had no key", n)
			}
		})
	}
}

// A transient error affects one call, and no later one.
func TestHTTPFaultsDoNotLast(t *testing.T) {
	x := newSite(t, nil)
	s := known(t, x.server())
	s.call("site__echo", echo("before"))
	for name, fault := range map[string]*atomic.Bool{"the session is forgotten": &x.forgets, "it is down": &x.broken} {
		fault.Store(true)
		if r, err := s.run(t.Context(), "site__echo", echo("lost"), nil); err == nil {
			t.Errorf("%s: got %+v", name, r)
		}
		fault.Store(false)
		if got := s.call("site__echo", echo("after")); got != "after" {
			t.Errorf("%s: afterwards: %q", name, got)
		}
	}
}

// A server whose plugin was removed receives no request.
func TestCheckPreventsConnectionToURL(t *testing.T) {
	x := newSite(t, nil)
	server := x.server()
	server.Check = func() error { return errors.New("its plugin was removed") }
	s := open(t, t.TempDir(), server)
	if got := s.call("tool_search", map[string]string{"query": ""}); !strings.Contains(got, "its plugin was removed") {
		t.Errorf("got %s", got)
	}
	if n := x.requests.Load(); n > 0 {
		t.Errorf("it received %d requests", n)
	}
}

// A redirect does not carry a server's headers to another server.
func TestHTTPRedirects(t *testing.T) {
	target := newSite(t, nil)
	x := newSite(t, nil)
	x.target.Store(target.URL)
	s := open(t, t.TempDir(), x.server())
	if got := s.call("tool_search", map[string]string{"query": ""}); !strings.Contains(got, "redirects to ") {
		t.Errorf("got %s", got)
	}
	if n := target.keyless.Load(); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// A server that redirects to itself receives a few requests, and not requests until the
// start timeout.
func TestHTTPRedirectsToItself(t *testing.T) {
	x := newSite(t, nil)
	x.target.Store(x.URL)
	server := x.server()
	server.StartTimeout = 5 * time.Second
	s := open(t, t.TempDir(), server)
	if got := s.call("tool_search", map[string]string{"query": ""}); !strings.Contains(got, "6 times in a row") {
		t.Errorf("got %s", got)
	}
	if n := x.requests.Load(); n > 60 { // it is started a few times, each with a few requests
		t.Errorf("it was asked %d times", n)
	}
}
