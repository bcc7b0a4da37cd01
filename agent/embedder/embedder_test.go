package embedder

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// module makes a module of its own, beside this one and outside of it, and
// returns its directory.
func module(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "program"))); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	// It needs what settle needs, in the same versions: nothing is downloaded.
	mod = regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(mod, []byte("module example.com/embedder"))
	mod = append(mod, "\nrequire github.com/settle-agent/settle v0.0.0\n\nreplace github.com/settle-agent/settle => "+root+"\n"...)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"go.mod": mod, "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func build(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", filepath.Join(dir, "embedder")}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestEmbedder builds a program of another module, which has only what is public,
// and runs it.
func TestEmbedder(t *testing.T) {
	dir := module(t)
	if out, err := build(t, dir, "."); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "embedder"), t.TempDir(), t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	want := []string{
		"message completed  I greet.",
		"tool_call completed greet ",
		"tool_call completed shell ",
		"tool_call failed shell ",
		"message completed  All is done.",
		"completed: All is done.",
		"denied: rm -rf made",
		"observed: map[attempt.ended:3 turn.completed:1]",
		"kept turns: 1",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
}

// TestWrongEventTypesDoNotCompile: the data of events are a sealed union.
func TestWrongEventTypesDoNotCompile(t *testing.T) {
	out, err := build(t, module(t), "-tags", "wrong", ".")
	if err == nil || !strings.Contains(out, "impossible type switch case") {
		t.Errorf("%v\n%s", err, out)
	}
}
