// Package askertest has the calls that every frontend must show whole.
package askertest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/question"
)

// Case is a tool call that needs an approval.
type Case struct {
	Name      string
	Tool      string
	Arguments string
	// Shown are pieces of text that the question must have.
	Shown []string
	// Refused reports that the call is too long to show, and that settle refuses it without a
	// question.
	Refused bool
}

// Cases are the calls.
func Cases() []Case {
	lines := make([]string, 0, 40)
	for n := range 40 {
		lines = append(lines, "touch file-"+strconv.Itoa(n))
	}
	return []Case{
		{
			Name: "a command of many lines", Tool: "shell", Arguments: arguments(
				map[string]any{"command": "ls\n\n\n\n\n\n" + strings.Join(lines, " &&\n")},
			),
			Shown: []string{"ls", "touch file-0 &&", "touch file-20 &&", "touch file-39"},
		},
		{
			Name: "what hides", Tool: "shell", Arguments: arguments(
				map[string]any{"command": "echo \u202etxt.exe\u2066 \x1b[2K\rtouch x\u200b # \u00a0ok"},
			),
			Shown: []string{"⟨U+202E⟩txt.exe⟨U+2066⟩ ⟨U+001B⟩[2K⟨U+000D⟩touch x⟨U+200B⟩ # ⟨U+00A0⟩ok"},
		},
		{
			Name: "where, how long, and that it stays", Tool: "shell",
			Arguments: arguments(
				map[string]any{
					"command":    "touch made",
					"workdir":    "sub",
					"timeout_ms": 4711,
					"background": true,
					"release":    true,
				},
			),
			Shown: []string{"touch made", "workdir: sub", "timeout_ms: 4711", "background: true", "release: true"},
		},
		{
			Name: "a patch of several files", Tool: "apply_patch", Arguments: arguments(map[string]any{
				"input": "*** Begin Patch\n*** Add File: one.txt\n+first\n*** Update File: two.txt\n@@\n-old\n+new\n*** Delete File: three.txt\n*** End Patch",
			}),
			Shown: []string{"one.txt", "first", "two.txt", "old", "new", "three.txt"},
		},
		{
			Name: "a write of long content", Tool: "write", Arguments: arguments(
				map[string]any{
					"path":    "long.txt",
					"content": strings.Repeat("a line of it\n", 3000) + "the last line\u202e",
				},
			),
			Shown: []string{"long.txt", "a line of it", "the last line⟨U+202E⟩"},
		},
		{
			Name: "input for a job", Tool: "job", Arguments: arguments(
				map[string]any{"action": "write", "job": "j000001", "input": "ls\nrm x\u202e\n", "eof": true},
			),
			Shown: []string{"action: write", "j000001", "rm x⟨U+202E⟩", "eof: true"},
		},
		{
			Name: "a job that is to stay", Tool: "job", Arguments: arguments(
				map[string]any{"action": "release", "job": "j000001"},
			),
			Shown: []string{"release", "j000001"},
		},
		{
			Name: "a command that is too long", Tool: "shell", Arguments: arguments(
				map[string]any{"command": strings.Repeat("touch a\n", 9000)},
			),
			Refused: true,
		},
		{
			Name: "too much", Tool: "write", Arguments: arguments(
				map[string]any{"path": "big.txt", "content": strings.Repeat("x", question.MaxText)},
			),
			Refused: true,
		},
	}
}

func arguments(in map[string]any) string {
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err) // strings, numbers and booleans
	}
	return string(raw)
}

// Tools are the names of the tools that the calls need.
const Tools = "shell,job,write,apply_patch"

// Prepare makes the files that the calls change, and a configuration with
// [Tools] for a frontend whose home directory this is.
func Prepare(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"sub", ".config/settle"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"two.txt": "old\n", "three.txt": "three\n", ".config/settle/config.toml": "tools = ['" +
			strings.ReplaceAll(Tools, ",", "','") + "']\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Check checks that a client received the whole call and the scope of an approval for the session.
func (c Case) Check(t *testing.T, sent json.RawMessage) {
	t.Helper()
	var all []string
	var decoded any
	if err := json.Unmarshal(sent, &decoded); err != nil {
		t.Fatalf("%v: %.2000s", err, sent)
	}
	texts(decoded, &all)
	for _, want := range append([]string{"for the session"}, c.Shown...) {
		found := false
		for _, text := range all {
			found = found || strings.Contains(text, want)
		}
		if !found {
			t.Errorf("the question lacks %q: %.3000s", want, sent)
		}
	}
}

// texts collects the strings in a decoded value, and names.
func texts(v any, all *[]string) {
	switch v := v.(type) {
	case string:
		*all = append(*all, v)
	case []any:
		for _, one := range v {
			texts(one, all)
		}
	case map[string]any:
		for name, one := range v {
			*all = append(*all, name)
			texts(one, all)
		}
	}
}
