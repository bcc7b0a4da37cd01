package commands

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/tool/mcp"
)

// play is a source with prompts.
type play []mcp.Command

func (p play) Prompts() ([]mcp.Command, []string) { return p, []string{"two have one name"} }

func prompt(server, name string, arguments ...string) mcp.Command {
	c := mcp.Command{
		Name: server + "__" + name, Server: server,
		Prompt: mcp.Prompt{Name: name, Description: "does\n" + name},
	}
	for _, a := range arguments {
		name, required := strings.CutSuffix(a, "!")
		c.Prompt.Arguments = append(c.Prompt.Arguments, mcp.Argument{Name: name, Required: required})
	}
	return c
}

func TestPromptsAreCommands(t *testing.T) {
	own := Command{Name: "x__same", Path: "/same.md"}
	set := Set{
		List: []Command{own},
	}.With(
		play{prompt("x", "Ask", "who!", "why"), prompt("x", "same"), prompt("a", "b")},
	)
	var got []string
	for _, c := range set.List {
		got = append(got, strings.Join([]string{c.Name, c.Server, c.About, c.Hint}, "|"))
	}
	if diff := cmp.Diff([]string{"a__b|a|does b|", "x__Ask|x|does Ask|who [why]", "x__same|||"}, got); diff != "" {
		t.Error(diff)
	}
	if len(set.Hidden) != 2 || !strings.Contains(
		set.Hidden[1].Error(), `"same" of the MCP server "x": it is hidden by /same.md`,
	) {
		t.Errorf("%v", set.Hidden)
	}
	if c, ok := set.Named("mcp__x__Ask"); !ok || c.ClaudeName() != "mcp__x__Ask" || !IsName("mcp__x__Ask") ||
		IsName("Ask") {
		t.Errorf("%+v, %v", c, ok)
	}
	for text, want := range map[string]bool{
		"/a__b": true, "/mcp__a__b c": true, "/a": false, "a__b": false, "/tmp/__pycache__": false,
		"/a__b/c": false,
	} {
		if Async(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestArguments(t *testing.T) {
	c := prompt("x", "ask", "who!", "why", "when!")
	for words, want := range map[string]string{
		"Ann 'of them' now":         "who=Ann,why=of them,when=now",
		"Ann of now or never":       "who=Ann,why=of,when=now or never",
		`Ann of "now  or" 'never'`:  `who=Ann,why=of,when="now  or" 'never'`,
		"a b don't x=1\n\n who=y z": "who=y,why=a,when=b don't x=1 z",
		`when="some day" Ann`:       "who=Ann,when=some day",
		"who= when=x a=b c":         "who=,why=a=b c,when=x",
		"when=x who=y why=z more …": "who=y,why=z,when=x +more …",
		"Ann":                       "/x__ask needs when; usage: /x__ask who [why] when",
		"":                          "/x__ask needs who, when; usage: /x__ask who [why] when",
	} {
		values, rest, err := assigned(c, words)
		var got []string
		for _, a := range c.Prompt.Arguments {
			if v, ok := values[a.Name]; ok {
				got = append(got, a.Name+"="+v)
			}
		}
		text := strings.Join(got, ",")
		if rest != "" {
			text += " +" + rest
		}
		if err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%q: %q, want %q", words, text, want)
		}
	}
	if values, rest, err := assigned(
		prompt("x", "plain"), "and 'more words'",
	); len(values) != 0 || rest != "and 'more words'" || err != nil {
		t.Errorf("%v, %q, %v", values, rest, err)
	}
}
