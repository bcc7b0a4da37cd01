//go:build clients && linux

package clients

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/modeltest"
)

// flagsOf returns the flags that a page of help has, and whether each takes a
// value.
func flagsOf(help, pattern string) map[string]bool {
	all := map[string]bool{}
	for _, line := range regexp.MustCompile(pattern).FindAllStringSubmatch(help, -1) {
		for _, name := range line[1:3] {
			if name != "" && name != "--help" && name != "-h" && name != "--version" && name != "-V" {
				all[name] = line[3] != ""
			}
		}
	}
	return all
}

// Every flag of the real codex is one of settle's, and takes a value there too.
func TestExecFlags(t *testing.T) {
	ours := flagsOf(
		execBinary(t, nil, home(t), "--help").run(t).stdout, `(?m)^ {2,6}(?:(-\w), )?(--[a-z-]+)( [A-Za-z=_]+)? {2,}\S`,
	)
	for _, command := range [][]string{{"exec"}, {"exec", "resume"}} {
		c := bin(t, "codex", append(command, "--help")...)
		c.env = home(t)
		theirs := flagsOf(c.run(t).stdout, `(?m)^ {2,6}(?:(-\w), )?(--[a-z-]+)( <[^>]*>)?(?:\.\.\.)?$`)
		if len(theirs) < 20 {
			t.Fatalf("codex %v has only the flags %v", command, theirs)
		}
		for name, value := range theirs {
			if has, ok := ours[name]; !ok || has != value {
				t.Errorf(
					"codex %v: %s takes a value: %t; settle has it: %t, with a value: %t", command, name, value, ok,
					has,
				)
			}
		}
	}
}

// shape returns the keys of each kind of line, and of each kind of item.
func shape(t *testing.T, lines string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for line := range strings.Lines(lines) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		kind := e["type"].(string)
		all[kind] = slices.Sorted(maps.Keys(e))
		for _, name := range []string{"item", "usage", "error"} {
			inner, ok := e[name].(map[string]any)
			if !ok {
				continue
			}
			of := kind + " " + name
			if what, ok := inner["type"].(string); ok {
				of += " " + what
			}
			all[of] = slices.Sorted(maps.Keys(inner))
		}
	}
	return all
}

// The lines have the same fields as the lines of the real codex in the same turn against the same
// server.
func TestExecLinesAreCodexs(t *testing.T) {
	turns := func(tool, arguments string) modeltest.Scenario {
		sc := modeltest.Script(
			modeltest.Reply(modeltest.Think("Hm."), modeltest.Text("I look."), modeltest.Call(tool, arguments)),
			modeltest.Say("Done."),
			modeltest.Fail(modeltest.Status(400).First(modeltest.Always)),
		)
		sc.Rules.Off = true // the requests of codex are not under test
		return sc
	}
	both := func(c client) string {
		var out string
		for range 2 { // one that completes, one that fails
			out += c.run(t).stdout
		}
		return out
	}
	theirsServer := modeltest.NewServer(t, turns("exec_command", `{"cmd":"echo a; exit 3"}`))
	codex := bin(
		t, "codex", "exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "-m", "gpt-5", "-c",
		"model_provider=x", "-c",
		`model_providers.x={name="x",base_url="`+theirsServer.OpenAI()+`",env_key="CODEX_API_KEY",request_max_retries=0,stream_max_retries=0}`,
	)
	codex.env = home(t, "CODEX_API_KEY=sk-of-the-client-1234567890", "CODEX_HOME="+t.TempDir())
	codex.stdin = "go"
	theirs := shape(t, both(codex))

	oursServer := modeltest.NewServer(t, turns("shell", `{"command":"echo a; exit 3"}`))
	ours := shape(t, both(execBinary(t, oursServer, home(t), "--json", "--yolo", "-m", "gpt-5")))

	for _, kind := range []string{
		"thread.started", "turn.started", "item.started item command_execution", "item.completed item command_execution",
		"item.completed item agent_message", "item.completed item reasoning", "turn.completed", "turn.completed usage", "error", "turn.failed", "turn.failed error",
	} {
		if theirs[kind] == nil {
			t.Errorf("codex printed no %s; it printed %v", kind, slices.Sorted(maps.Keys(theirs)))
		}
		if diff := cmp.Diff(theirs[kind], ours[kind]); diff != "" {
			t.Errorf("%s (-codex +settle):\n%s", kind, diff)
		}
	}
}
