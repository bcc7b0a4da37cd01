package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/internal/oauth"
	"github.com/settle-agent/settle/internal/oauth/oauthtest"
	"github.com/settle-agent/settle/tool"
	"github.com/settle-agent/settle/tool/mcp"
)

// guardedSite is a server with one tool that requires a login.
type guardedSite struct {
	*oauthtest.Server

	t      *testing.T
	tokens *oauth.Tokens
	client *http.Client
}

func newGuardedSite(t *testing.T) *guardedSite {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "guarded", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(s, &sdk.Tool{Name: "echo"},
		func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Text}}}, nil, nil
		})
	x := &guardedSite{
		Server: oauthtest.New(t, oauthtest.Options{}), t: t,
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	x.Handle(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true}))
	x.tokens = &oauth.Tokens{Store: oauth.NewStore(t.TempDir()), Client: func(string) *http.Client { return x.client }}
	return x
}

// login logs in like a person with another program.
func (x *guardedSite) login() {
	x.t.Helper()
	var visits sync.WaitGroup
	defer visits.Wait()
	err := x.tokens.Store.Login(x.t.Context(), &oauth.Login{
		URL: x.Resource(), Ask: x.client, Client: x.client,
		Show: func(link string) { visits.Go(func() { x.Follow(x.Visit(link)) }) },
	})
	if err != nil {
		x.t.Fatal(err)
	}
}

// open opens a session with the server, whose catalogue is known, and returns the server's
// states.
func (x *guardedSite) open() (s *session, states func() []mcp.State) {
	x.t.Helper()
	var mu sync.Mutex
	var seen []mcp.State
	cache := x.t.TempDir()
	server := mcp.Server{Name: "guarded", URL: x.Resource(), StartTimeout: patience, CallTimeout: patience}
	c := mcp.Config{
		Dir: x.t.TempDir(), CacheDir: cache, Version: "test", Client: x.client, Tokens: x.tokens,
		Seen: func(_ string, state mcp.State, _ error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, state)
		},
	}
	s = &session{t: x.t, Servers: mcp.Open(c, mcp.Read(cache, []mcp.Server{server}))}
	x.t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			x.t.Error(err)
		}
	})
	var err error
	if s.tools, err = tool.NewSet(s.Tools()...); err != nil {
		x.t.Fatal(err)
	}
	return s, func() []mcp.State {
		mu.Lock()
		defer mu.Unlock()
		return seen
	}
}

// call calls the server's tool.
func (x *guardedSite) call(s *session, text string) (string, error) {
	x.t.Helper()
	r, err := s.run(x.t.Context(), "tool_call", map[string]any{"name": "guarded__echo", "arguments": echo(text)}, nil)
	return r.Output, err
}

// A server that requires a login reports it and affects only its own calls; after a login,
// the next call in the open session works.
func TestLoginWhileASessionIsOpen(t *testing.T) {
	x := newGuardedSite(t)
	s, states := x.open()
	for range 3 { // without a backoff
		if got := s.call("tool_search", map[string]string{"query": "echo"}); !strings.Contains(got,
			"settle mcp-servers login guarded") {
			t.Fatalf("tool_search says %q", got)
		}
	}
	if seen := states(); len(seen) == 0 || seen[len(seen)-1] != mcp.NeedsLogin {
		t.Errorf("the states are %q", seen)
	}
	if e, ok := x.tokens.Store.Read(x.Resource()); !ok || e.Access != "" {
		t.Error("it is not noted that a login is needed")
	}
	x.login()
	s.call("tool_search", map[string]string{"query": "echo"})
	if got, err := x.call(s, "hello"); got != "hello" || err != nil {
		t.Errorf("after the login: %q, %v", got, err)
	}
	// A token that expires during the session is refreshed, and the call runs.
	x.Expire(false)
	if got, err := x.call(s, "again"); got != "again" || err != nil || x.Count("refresh") != 1 {
		t.Errorf("after a refresh: %q, %v; %d refreshes", got, err, x.Count("refresh"))
	}
	x.Expire(true)
	_, err := x.call(s, "lost")
	if login, ok := errors.AsType[*mcp.LoginError](err); !ok || login.Server != "guarded" ||
		!strings.Contains(err.Error(), "did not run the call") {
		t.Errorf("after the login has ended: %v", err)
	}
	x.login()
	if got, err := x.call(s, "back"); got != "back" || err != nil {
		t.Errorf("after another login: %q, %v", got, err)
	}
}

// A configured token is the user's choice; a login does not replace it.
func TestConfiguredTokenWins(t *testing.T) {
	x := newGuardedSite(t)
	x.login()
	server := mcp.Server{
		Name: "guarded", URL: x.Resource(),
		Headers: map[string]string{"authorization": "Bearer mine"}, StartTimeout: patience,
	}
	r := mcp.Probe(t.Context(), mcp.Config{Version: "test", Client: x.client, Tokens: x.tokens}, server)
	if _, login := errors.AsType[*mcp.LoginError](r.Err); r.Err == nil || login {
		t.Errorf("got %v", r.Err)
	}
}
