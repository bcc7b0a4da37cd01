package assemble_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/assemble"
	"github.com/settle-agent/settle/modeltest"
)

// manyTools starts an MCP server over HTTP with 60 tools, described like the tools of real
// servers.
func manyTools(t testing.TB) (config string) {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, nil)
	type in struct {
		Repository string   `json:"repository" jsonschema:"the repository, as owner/name"`
		Number     int      `json:"number,omitempty" jsonschema:"the number that it has in the repository"`
		Labels     []string `json:"labels,omitempty" jsonschema:"only those with all of these labels"`
		Page       int      `json:"page,omitempty" jsonschema:"the page of the results, from 1; each has 30 of them"`
	}
	for _, thing := range strings.Fields("issue pull_request branch release commit tag label milestone workflow runner secret webhook") {
		for _, verb := range strings.Fields("list get create update delete") {
			sdk.AddTool(s, &sdk.Tool{
				Name: verb + "_" + thing,
				Description: fmt.Sprintf(
					"Use this to %s a %s of a repository that you have access to. Returns what there is after that, with its author, its state and the times of all changes, newest first.",
					verb, strings.ReplaceAll(thing, "_", " "),
				),
			}, func(_ context.Context, _ *sdk.CallToolRequest, in in) (*sdk.CallToolResult, any, error) {
				return &sdk.CallToolResult{
					Content: []sdk.Content{
						&sdk.TextContent{Text: fmt.Sprintf("%s of %s: nothing happened", thing, in.Repository)},
					},
				}, nil, nil
			})
		}
	}
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(server.Close)
	return fmt.Sprintf("[mcp.forge]\nurl = %q\n", server.URL)
}

// toolSession opens a session that knows the tools of a server.
func toolSession(t testing.TB, scenario modeltest.Scenario, provider, model string) (*modeltest.Server,
	*assemble.Opened,
) {
	t.Helper()
	server, hosts := configured(t, scenario, provider, manyTools(t))
	spec := assemble.SessionSpec{Dir: t.TempDir(), Settings: map[string]string{"model": model}}
	settings, err := hosts.Settings(spec.Dir, spec.Settings)
	if err != nil {
		t.Fatal(err)
	}
	o := hosts.Base
	o.Settings, o.Dir = settings, spec.Dir
	all := o.ConfiguredServers()
	if err := o.Probe(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Report.Err != nil || len(all[0].Known.Tools) != 60 {
		t.Fatalf("%+v", all)
	}
	s, err := hosts.Open(t.Context(), "", spec)
	if err != nil {
		t.Fatal(err)
	}
	return server, s
}

const searches = "tool_search = true"

// finds is the turn of a model that finds a tool and calls it.
func finds(tool string) modeltest.Turn {
	name := "forge__" + tool
	return modeltest.Reply(modeltest.Think("There may be a tool for it."), modeltest.Find(name),
		modeltest.Call(name, `{"repository":"a/b"}`))
}

// outputs returns the results of a session's calls.
func outputs(s *assemble.Opened) (all []string) {
	for _, turn := range s.State().Turns {
		for _, i := range turn.Items {
			if c := i.Content(); c.Type == event.ToolCall {
				all = append(all, c.Output)
			}
		}
	}
	return all
}

func searchModels() []string { return []string{"anthropic/claude-opus-5-5", "openai/gpt-5.5"} }

func TestToolSearch(t *testing.T) {
	for _, model := range searchModels() {
		server, s := toolSession(t, modeltest.Script(finds("list_branch"), modeltest.Say("nothing"),
			finds("list_branch"), finds("list_release"), modeltest.Say("still nothing")), searches, model)
		prompt(t, s, "what happened?")
		prompt(t, s, "and now?")
		if refused := server.Refusals(); len(refused) > 0 {
			t.Fatalf("%s: refused: %q", model, refused)
		}
		all := server.Exchanges()
		first := string(all[0].Body)
		if !strings.Contains(first, `"defer_loading":true`) || strings.Contains(first, `"tool_call"`) {
			t.Errorf("%s: the first request is %.2000s", model, first)
		}
		if got := outputs(s); len(got) != 3 || got[0] != "branch of a/b: nothing happened" ||
			got[2] != "release of a/b: nothing happened" {
			t.Errorf("%s: got %q", model, got)
		}
		if last := string(all[len(all)-1].Body); strings.Count(last, "tool_reference\"")+strings.Count(last,
			"tool_search_output") != 3 {
			t.Errorf("%s: the searches do not go back: %.3000s", model, last)
		}
	}
}

// A model whose server is not its maker's finds tools with settle's own search; a model
// whose provider's search is off also does.
func TestToolSearchIsLocal(t *testing.T) {
	for model, provider := range map[string]string{
		searchModels()[0]: "", searchModels()[1]: "tool_search = false",
		"local/qwen": searches,
	} {
		find := modeltest.Reply(modeltest.Call("tool_search", `{"query":"forge__list_branch"}`))
		call := modeltest.Reply(modeltest.Call("tool_call",
			`{"name":"forge__list_branch","arguments":{"repository":"a/b"}}`))
		server, s := toolSession(t, modeltest.Script(find, call, modeltest.Say("nothing")), provider, model)
		prompt(t, s, "what happened?")
		if got := outputs(s); len(got) != 2 || got[1] != "branch of a/b: nothing happened" ||
			len(server.Refusals()) > 0 {
			t.Errorf("%s: got %q, refused %q", model, got, server.Refusals())
		}
		if body := string(server.Exchanges()[0].Body); strings.Contains(body, "defer_loading") ||
			strings.Contains(body, "list_issue") {
			t.Errorf("%s: the first request is %.2000s", model, body)
		}
	}
}

// ADR 27: a provider that refuses to search costs one request in a session.
func TestToolSearchRefused(t *testing.T) {
	find := modeltest.Reply(modeltest.Call("tool_search", `{"query":"forge__list_branch"}`))
	for _, model := range searchModels() {
		for name, scenario := range map[string]modeltest.Scenario{
			"it says so": {
				Rules: modeltest.Rules{NoToolSearch: true},
				Turns: []modeltest.Turn{find, modeltest.Say("found"), modeltest.Say("again")},
			},
			"it says nothing": modeltest.Script(modeltest.Fail(modeltest.Status(http.StatusBadRequest)), find,
				modeltest.Say("found"), modeltest.Say("again")),
			"not what to call": modeltest.Script(modeltest.Fail(modeltest.Status(http.StatusUnprocessableEntity)),
				find, modeltest.Say("found"), modeltest.Say("again")),
		} {
			server, s := toolSession(t, scenario, searches, model)
			prompt(t, s, "what happened?")
			prompt(t, s, "and now?")
			all := server.Exchanges()
			if len(all) != 4 || all[0].Status == http.StatusOK {
				t.Fatalf("%s, %s: %d requests, the first with %d", model, name, len(all), all[0].Status)
			}
			for _, x := range all[1:] {
				if strings.Contains(string(x.Body), "defer_loading") ||
					!strings.Contains(string(x.Body), `"tool_call"`) {
					t.Errorf("%s, %s: asked again with %.2000s", model, name, x.Body)
				}
			}
			failure := s.State().Turns[0].Attempts[0].End.Failure
			if raw, _ := json.Marshal(failure); !strings.Contains(string(raw), "settle's own tool search") {
				t.Errorf("%s, %s: it is not told: %s", model, name, raw)
			}
		}
	}
}

// C6: a session continues with any model, and back.
func TestToolSearchAcrossModels(t *testing.T) {
	search := modeltest.Reply(modeltest.Call("tool_search", `{"query":"forge__get_tag"}`),
		modeltest.Call("tool_call", `{"name":"forge__get_tag","arguments":{"repository":"a/b"}}`))
	steps := []struct {
		model string
		turn  modeltest.Turn
	}{
		{searchModels()[0], finds("list_issue")},
		{searchModels()[1], finds("get_issue")},
		{"local/qwen", search},
		{"gemini/gemini-3.8-flash", search},
		{searchModels()[1], finds("list_issue")},
		{searchModels()[0], finds("get_issue")},
		{"local/qwen", modeltest.Reply(modeltest.Call("forge__get_label", `{"repository":"a/b"}`))},
	}
	var turns []modeltest.Turn
	for _, step := range steps {
		turns = append(turns, step.turn, modeltest.Say("nothing"))
	}
	server, s := toolSession(t, modeltest.Script(turns...), searches, steps[0].model)
	for n, step := range steps {
		if err := s.Choose(t.Context(), map[string]string{"model": step.model}); err != nil {
			t.Fatal(err)
		}
		prompt(t, s, "go on")
		if refused := server.Refusals(); len(refused) > 0 {
			t.Fatalf("step %d, %s: refused: %q", n, step.model, refused)
		}
	}
	for _, got := range outputs(s) {
		if !strings.Contains(got, "nothing happened") && !strings.Contains(got, "## forge__get_tag") {
			t.Errorf("got %q", got)
		}
	}
}

// BenchmarkTokensOfManyTools prints the usage of 60 tools of a server in the form of
// docs/tokens.md: the model finds and calls one of them, and answers.
func BenchmarkTokensOfManyTools(b *testing.B) {
	var found []string // Anthropic documents three to five results for a search
	for _, verb := range strings.Fields("list get create update delete") {
		found = append(found, "forge__"+verb+"_pull_request")
	}
	var table strings.Builder
	for range b.N {
		table.Reset()
		table.WriteString("\n| Search | Requests | Anthropic | OpenAI |\n| --- | --- | --- | --- |\n")
		for _, own := range []bool{true, false} {
			var requests int
			var cells []string
			for _, model := range searchModels() {
				turns, provider := []modeltest.Turn{modeltest.Reply(modeltest.Find(found...),
					modeltest.Call("forge__list_pull_request", `{"repository":"a/b"}`))}, searches
				if !own {
					provider = "tool_search = false"
					turns = []modeltest.Turn{
						modeltest.Reply(modeltest.Call("tool_search", `{"query":"list pull requests"}`)),
						modeltest.Reply(modeltest.Call("tool_call",
							`{"name":"forge__list_pull_request","arguments":{"repository":"a/b"}}`)),
					}
				}
				server, s := toolSession(b, modeltest.Scenario{
					Turns: append(turns, modeltest.Say(answer)),
					Rules: modeltest.Rules{Caches: true},
				}, provider, model)
				turn, err := s.Submit(b.Context(), "Which pull requests are open in a/b?")
				if err != nil {
					b.Fatal(err)
				}
				end, err := turn.Wait(b.Context())
				if refused := server.Refusals(); err != nil || !end.Completed() || len(refused) > 0 {
					b.Fatalf("%s: %+v, %v, %q", model, end, err, refused)
				}
				u := end.Summary.Usage
				requests = end.Summary.Attempts
				cells = append(cells, spent{requests, u.Input, u.CacheRead, u.Output}.cell())
			}
			fmt.Fprintf(&table, "| %s | %d | %s |\n", map[bool]string{true: "the provider's", false: "settle's"}[own],
				requests, strings.Join(cells, " | "))
		}
	}
	fmt.Println(table.String())
}
