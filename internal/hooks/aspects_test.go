package hooks_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/hooks"
)

// patch returns the arguments of a patch with the lines.
func patch(lines ...string) string {
	raw, _ := json.Marshal(map[string]string{
		"input": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n",
	})
	return string(raw)
}

// A hook receives each path of a patch that the tool reads, however the header is written.
func TestHooksReceiveEveryFileOfPatch(t *testing.T) {
	const change = "@@\n-a\n+b"
	for _, c := range []struct {
		matcher, patch string
		want           []string
	}{
		{"Edit|Write", patch("*** Update File:.env", change), []string{"Edit /work/.env"}},
		{"Edit|Write", patch("*** Update File:\t.env", change), []string{"Edit /work/.env"}},
		{"Edit|Write", patch("*** Delete File:.env"), []string{"Edit /work/.env"}},
		{"Edit|Write", patch("*** Add File:.env", "+a"), []string{"Write /work/.env"}},
		{"MultiEdit", patch("*** Update File: .env", change), []string{"MultiEdit /work/.env"}},
		{"Edit", patch("*** Update File: a", "*** Move to:.env"), []string{"Edit /work/.env", "Edit /work/a"}},
		{"Write", patch("*** Update File: a", "*** Move to:/x/.env"), []string{"Write /x/.env"}},
		{
			"Write|Edit", patch("*** Delete File: .env", "*** Add File: .env", "+a"),
			[]string{"Edit /work/.env", "Write /work/.env"},
		},
		{"MultiEdit", patch("*** Update File: .env"), []string{"MultiEdit <nil>"}},
		{"Write", `{"input":7}`, []string{"Write <nil>"}},
		{"apply_patch", "no JSON", []string{"apply_patch <nil>"}},
		{"Bash", patch("*** Update File: .env"), nil},
	} {
		b := newBench(t, before(c.matcher, "guard"))
		if _, err := b.set.Before(t.Context(), call("apply_patch", c.patch)); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, in := range b.runner.told {
			input, _ := in["tool_input"].(map[string]any)
			got = append(got, fmt.Sprintf("%v %v", in["tool_name"], input["file_path"]))
		}
		if slices.Sort(got); !slices.Equal(got, c.want) {
			t.Errorf("%q received of %s: %q, want %q", c.matcher, c.patch, got, c.want)
		}
	}
}

// A hook of a server's tool runs also if the model calls the tool through tool_call. A hook of tool_call receives the
// whole call.
func TestHooksOfServerToolRunThroughToolCall(t *testing.T) {
	const (
		direct    = `{"repo":"x"}`
		through   = `{"name":"github__delete_repo","arguments":{"repo":"x"}}`
		resources = `{"name":"mcp_resources","arguments":{"server":"github","uri":"x"}}`
		all       = `{"name":"mcp_resources","arguments":{}}`
	)
	for _, c := range []struct{ matcher, tool, arguments, want string }{
		{
			"mcp__github__delete_repo", "github__delete_repo", direct,
			"mcp__github__delete_repo github__delete_repo " + direct,
		},
		{"mcp__github__delete_repo", "tool_call", through, "mcp__github__delete_repo github__delete_repo " + direct},
		{"mcp__github__.*", "tool_call", through, "mcp__github__delete_repo github__delete_repo " + direct},
		{"github__delete_repo", "tool_call", through, "github__delete_repo github__delete_repo " + direct},
		{"", "tool_call", through, "mcp__github__delete_repo github__delete_repo " + direct},
		{"mcp__gitlab__.*", "tool_call", through, ""},
		{"tool_call", "tool_call", through, "tool_call tool_call " + through},
		{
			"ReadMcpResourceTool", "tool_call", resources,
			`ReadMcpResourceTool mcp_resources {"server":"github","uri":"x"}`,
		},
		{"ReadMcpResourceTool", "tool_call", all, `ReadMcpResourceTool mcp_resources {}`},
		{
			"mcp__github__.*", "mcp_resources", `{"server":"github"}`,
			`mcp__github__mcp_resources mcp_resources {"server":"github"}`,
		},
		{"mcp__github__.*", "tool_call", `{"name":7}`, ""},
	} {
		h := before(c.matcher, "x")
		for e, occur := range map[event.HookEvent]func(*bench) error{
			event.HookBefore: func(b *bench) error {
				_, err := b.set.Before(t.Context(), call(c.tool, c.arguments))
				return err
			},
			event.HookPermission: func(b *bench) error {
				_, err := b.set.Permit(t.Context(), call(c.tool, c.arguments))
				return err
			},
			event.HookAfter: func(b *bench) error {
				_, err := b.set.After(t.Context(), call(c.tool, c.arguments), hooks.Ended{})
				return err
			},
		} {
			h.Event = e
			b := newBench(t, h)
			if err := occur(b); err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, in := range b.runner.told {
				input, _ := json.Marshal(in["tool_input"])
				got += fmt.Sprintf("%v %v %s", in["tool_name"], in["settle_tool"], canonical(t, string(input)))
			}
			if want := canonical(t, c.want); got != want {
				t.Errorf("%s hook of %q received of %s: %q, want %q", e, c.matcher, c.arguments, got, want)
			}
		}
	}
}

// canonical returns the text with the JSON object at its end in a canonical form.
func canonical(t *testing.T, text string) string {
	t.Helper()
	at := strings.IndexByte(text, '{')
	if at < 0 {
		return text
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(text[at:]), &object); err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(object)
	return text[:at] + string(raw)
}

// Arguments that a hook changes reach the server's tool through tool_call again.
func TestChangeOfServerToolReachesToolCall(t *testing.T) {
	const through = `{"name":"github__search","arguments":{"q":"x","n":1}}`
	for _, c := range []struct{ matcher, updated, want string }{
		{"mcp__github__search", `{"q":"x","n":1}`, ""},
		{"mcp__github__search", `{"q":"y"}`, `{"name":"github__search","arguments":{"q":"y"}}`},
		{"tool_call", `{"name":"github__list","arguments":{}}`, `{"arguments":{},"name":"github__list"}`},
	} {
		b := newBench(t, before(c.matcher, "x"))
		b.runner.answers["x"] = func(map[string]any) (hooks.Result, error) {
			return hooks.Result{Stdout: []byte(`{"hookSpecificOutput":{"updatedInput":` + c.updated + `}}`)}, nil
		}
		if v, err := b.set.Before(t.Context(), call("tool_call", through)); err != nil || v.Arguments != c.want {
			t.Errorf("%s becomes %q, want %q: %v", c.updated, v.Arguments, c.want, err)
		}
	}
}
