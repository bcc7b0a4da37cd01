package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/tool/mcp"
)

// dot is an image that inputs accept: the head of a GIF.
const dot = "GIF89a\x01\x00\x01\x00"

// playwright is a server with prompts of each kind, for a version of the protocol.
func playwright(t *testing.T, version string) mcp.Server {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "plays", Version: "1"}, &sdk.ServerOptions{PageSize: 2})
	say := func(messages ...*sdk.PromptMessage) sdk.PromptHandler {
		return func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: messages}, nil
		}
	}
	text := func(role sdk.Role, text string) *sdk.PromptMessage {
		return &sdk.PromptMessage{Role: role, Content: &sdk.TextContent{Text: text}}
	}
	s.AddPrompt(&sdk.Prompt{Name: "plain", Title: "A plain one"}, say(text("user", "Hello.")))
	s.AddPrompt(&sdk.Prompt{
		Name: "weather", Description: "Says\nthe weather",
		Arguments: []*sdk.PromptArgument{{Name: "city", Required: true}, {Name: "state"}},
	},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{text("user",
				"Weather in "+r.Params.Arguments["city"]+"?")}}, nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "dialogue"},
		say(text("user", "One?"), text("assistant", "Two."), text("assistant", "Three.")))
	s.AddPrompt(&sdk.Prompt{Name: "media"}, say(
		&sdk.PromptMessage{
			Role:    "user",
			Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Text: "inside"}},
		},
		&sdk.PromptMessage{Role: "user", Content: &sdk.ImageContent{MIMEType: "text/html", Data: []byte(dot)}},
		&sdk.PromptMessage{Role: "user", Content: &sdk.ImageContent{MIMEType: "image/png", Data: []byte("not one")}},
		&sdk.PromptMessage{
			Role:    "user",
			Content: &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///b", Blob: []byte("\x00\x01")}},
		},
	))
	endpoint := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: version > "2026"})
	web := httptest.NewServer(ofVersion(version, endpoint))
	t.Cleanup(func() {
		web.Close()
		for session := range s.Sessions() {
			_ = session.Close()
		}
	})
	return mcp.Server{Name: "plays", URL: web.URL, StartTimeout: patience, CallTimeout: patience}
}

// names returns the names of the known prompts.
func (s *session) names() (names []string) {
	list, _ := s.Commands()
	for _, c := range list {
		names = append(names, c.Name)
	}
	return names
}

// get expands the prompt with the name.
func (s *session) get(ctx context.Context, name string, arguments map[string]string) (mcp.Prompted, error) {
	s.t.Helper()
	c, ok, err := s.Find(ctx, name)
	if err != nil || !ok {
		s.t.Fatalf("%s is not found: %v", name, err)
	}
	return s.Get(ctx, c, arguments, "prompt")
}

func TestPrompts(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			x, cache := playwright(t, version), t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			s := open(t, cache, x)
			// waits for the server
			if got, err := s.get(ctx, "mcp__plays__plain", nil); err != nil || got.Text != "Hello." {
				t.Errorf("%+v, %v", got, err)
			}
			if c := mcp.Known(cache, x); c == nil || c.Protocol != version {
				t.Fatalf("what is known of it: %+v", c)
			}
			s = open(t, cache, x)
			if diff := cmp.Diff([]string{"plays__dialogue", "plays__media", "plays__plain", "plays__weather"},
				s.names()); diff != "" {
				t.Error(diff)
			}
			known, _ := mcp.KnownCommands(cache, []mcp.Server{x})
			if list, _ := s.Commands(); !cmp.Equal(known, list) ||
				list[3].Prompt.Description != "Says\nthe weather" || list[2].Prompt.Description != "A plain one" ||
				!list[3].Prompt.Arguments[0].Required {
				t.Errorf("%+v", list)
			}
			if got, err := s.get(ctx, "plays__weather", map[string]string{"city": "Kiel"}); err != nil ||
				got.Text != "Weather in Kiel?" {
				t.Errorf("%+v, %v", got, err)
			}
			want := "[This prompt has several messages. The assistant's messages here are part of the prompt.]\n\n[user:]\n\nOne?\n\n[assistant:]\n\nTwo.\n\nThree."
			if got, err := s.get(ctx, "plays__dialogue", nil); err != nil || got.Text != want {
				t.Errorf("%q, %v", got.Text, err)
			}
			spool := filepath.Join(s.dir, "spool")
			want = "[resource: file:///a]\ninside\n\n[image: prompt-1]\n\n[image, image/png, 7 bytes, kept in " +
				spool + "/prompt-1.png]\n\n" +
				"[resource: file:///b] [resource, , 2 bytes, kept in " + spool + "/prompt-2.bin]"
			got, err := s.get(ctx, "plays__media", nil)
			if err != nil || got.Text != want || len(got.Images) != 1 || got.Images[0].MediaType != "image/gif" ||
				got.Images[0].Name != "prompt-1" {
				t.Errorf("%+v, %v", got, err)
			}
			if _, found, err := s.Find(ctx, "plays__nothing"); found || err == nil ||
				!strings.Contains(err.Error(), "has no prompt") {
				t.Errorf("%v, %v", found, err)
			}
			if _, found, err := s.Find(ctx, "other__nothing"); found || err != nil {
				t.Errorf("%v, %v", found, err)
			}
		})
	}
}

// TestPromptsThatAreNotKnownAreAskedForInTheBackground: also the prompts of a server whose
// tools are already known.
func TestPromptsThatAreNotKnownAreAskedForInTheBackground(t *testing.T) {
	x, cache := server(t, "prompts"), t.TempDir()
	open(t, cache, x).call("tool_search", map[string]string{"query": ""})
	c := mcp.Known(cache, x)
	path, _ := filepath.Glob(filepath.Join(cache, "*.json"))
	data, err := os.ReadFile(path[0])
	if err != nil || c == nil || len(c.Prompts) != 8 {
		t.Fatalf("%+v, %v", c, err)
	}
	old, rest, _ := strings.Cut(string(data), `,"prompts":`)
	if rest == "" {
		t.Fatal("no prompts are kept")
	}
	if err := os.WriteFile(path[0], []byte(old+"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	listed := make(chan string, 9)
	s := mcp.Open(mcp.Config{Dir: t.TempDir(), CacheDir: cache, Listed: func(server string) { listed <- server }},
		mcp.Read(cache, []mcp.Server{x}))
	defer func() { _ = s.Close(context.Background()) }()
	if got := s.Names(); !slices.Contains(got, "fake__echo") {
		t.Errorf("the tools are %q", got)
	}
	select {
	case <-listed:
	case <-time.After(patience):
		t.Fatal("nobody asked")
	}
	if list, _ := s.Commands(); len(list) != 8 {
		t.Errorf("%+v", list)
	}
}

func TestPromptsOfServersThatMisbehave(t *testing.T) {
	cancelled := filepath.Join(t.TempDir(), "cancelled")
	hanging := filepath.Join(t.TempDir(), "hanging")
	s := known(t, server(t, "prompts", "CANCELLED="+cancelled, "HANGING="+hanging))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, words := range map[string]string{
		"die": "ended during the call", "flood": "the prompt that the server sent is empty", "nothing": "is empty",
		"refuse": "no such city",
	} {
		if got, err := s.get(ctx, "fake__"+name, nil); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %.100q, %v", name, got.Text, err)
		}
	}
	if got, err := s.get(ctx, "fake__garble", nil); err != nil || got.Text != "bad \uFFFD end\n\nx" {
		t.Errorf("%q, %v", got.Text, err)
	}
	if got, err := s.get(ctx, "fake__big", nil); err != nil || len(got.Text) > 130<<10 ||
		!strings.Contains(got.Text, "[The whole prompt is in ") || !strings.HasPrefix(got.Text, "begin z") {
		t.Errorf("%d bytes, %v", len(got.Text), err)
	}
	if got, err := s.get(ctx, "fake__odd___name", nil); err != nil || got.Text != "changed" {
		t.Errorf("%q, %v", got.Text, err)
	}
	// requested after a delay
	for began := time.Now(); !slices.Contains(s.names(), "fake__late") && time.Since(began) < patience; {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	if !slices.Contains(s.names(), "fake__late") {
		t.Errorf("a list that changed is still %q", s.names())
	}
	ended := make(chan error, 1)
	why := errors.New("Esc")
	hang, give := context.WithCancelCause(ctx)
	go func() { // ends with the interrupt
		_, err := s.get(hang, "fake__hang", nil)
		ended <- err
	}()
	await(ctx, hanging)
	give(why)
	if err := <-ended; !errors.Is(err, why) {
		t.Error(err)
	}
	if !await(ctx, cancelled) {
		t.Error("the server was not told")
	}
}

// TestAServerThatDoesNotListItsPromptsIsUsed: its tools are available.
func TestAServerThatDoesNotListItsPromptsIsUsed(t *testing.T) {
	x, cache := server(t, "prompts: no list"), t.TempDir()
	x.StartTimeout = 6 * time.Second
	s := open(t, cache, x)
	if got := s.call("tool_search", map[string]string{"query": "echo"}); !strings.Contains(got, "## fake__echo") {
		t.Errorf("got %s", got)
	}
	if c := mcp.Known(cache, x); c == nil || c.Prompts != nil {
		t.Errorf("what is known of it: %+v", c)
	}
}

func TestPromptsOfOneNameAreDistinct(t *testing.T) {
	cache := t.TempDir()
	a, b := server(t, "prompts"), server(t, "prompts")
	a.Name, b.Name = "my.server", "my/server"
	open(t, cache, a, b).call("tool_search", map[string]string{"query": ""})
	s := open(t, cache, a, b)
	if list, notes := s.Commands(); len(list) != 16 || len(notes) != 8 ||
		!strings.Contains(notes[0], "since there is another my_server__hang") {
		t.Errorf("%d prompts, %q", len(list), notes)
	}
	s.Set("my.server", mcp.Disabled)
	if list, notes := s.Commands(); len(list) != 8 || len(notes) != 0 {
		t.Errorf("%d prompts, %q", len(list), notes)
	}
}

// TestAServerWithoutPromptsIsNotStartedForThem: also a server that announces no
// capabilities. With known tools, no request precedes a call.
func TestAServerWithoutPromptsIsNotStartedForThem(t *testing.T) {
	for _, mode := range []string{"plain", "no capabilities"} {
		x, cache := server(t, mode), t.TempDir()
		open(t, cache, x).call("tool_search", map[string]string{"query": ""})
		if c := mcp.Known(cache, x); c == nil || c.Prompts == nil || len(c.Prompts) > 0 {
			t.Errorf("%s: what is known of it: %+v", mode, c)
		}
	}
}

// masked treats a word as a secret.
type masked string

func (m masked) Write(text string) string { return strings.ReplaceAll(text, string(m), "[masked]") }
func (m masked) Flush() string            { return "" }

// TestErrorsOfPromptsAreMasked: C15. People read the errors, and no log masks them.
func TestErrorsOfPromptsAreMasked(t *testing.T) {
	x, cache := server(t, "prompts"), t.TempDir()
	open(t, cache, x).call("tool_search", map[string]string{"query": ""})
	lost := x
	lost.Name, lost.Argv = "lost", []string{"/no/city/server"}
	s := &session{t: t, Servers: mcp.Open(mcp.Config{
		Dir: t.TempDir(), CacheDir: cache,
		Mask: func() mcp.Masker { return masked("city") },
	}, mcp.Read(cache, []mcp.Server{x, lost}))}
	defer func() { _ = s.Close(context.Background()) }()
	if _, err := s.get(t.Context(), "fake__refuse", nil); err == nil ||
		!strings.Contains(err.Error(), "no such [masked]") {
		t.Error(err)
	}
	if _, _, err := s.Find(t.Context(), "lost__prompt"); err == nil ||
		!strings.Contains(err.Error(), "/no/[masked]/server") {
		t.Error(err)
	}
}

// TestANameThatIsAnothersInClaudeCode: each prompt is called by its own name.
func TestANameThatIsAnothersInClaudeCode(t *testing.T) {
	cache := t.TempDir()
	a, b := server(t, "prompts"), server(t, "prompts")
	a.Name, b.Name = "a", "mcp__a"
	open(t, cache, a, b).call("tool_search", map[string]string{"query": ""})
	s := open(t, cache, a, b)
	for name, want := range map[string]string{"a__big": "a", "mcp__a__big": "mcp__a", "mcp__mcp__a__big": "mcp__a"} {
		if c, ok, err := s.Find(t.Context(), name); err != nil || !ok || c.Server != want {
			t.Errorf("%s is of %q, want %q: %v", name, c.Server, want, err)
		}
	}
}
