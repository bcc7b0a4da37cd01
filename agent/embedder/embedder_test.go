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
	// The program needs the dependencies of settle, in the same versions: nothing is downloaded.
	mod = regexp.MustCompile(`(?m)^module .*$`).ReplaceAll(mod, []byte("module example.com/embedder"))
	mod = append(
		mod,
		"\nrequire github.com/settle-agent/settle v0.0.0\n\nreplace github.com/settle-agent/settle => "+root+"\n"...)
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

// goTool runs the go command in the module.
func goTool(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestEmbedder builds a program of another module, which can import only public packages, and runs
// it.
func TestEmbedder(t *testing.T) {
	dir := module(t)
	if out, err := goTool(t, dir, "build", "-ldflags", "-s -w", "-o", "embedder", "."); err != nil {
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

// TestTheProgramInTheDocumentation: the program compiles with public packages only.
func TestTheProgramInTheDocumentation(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "embedding.md"))
	if err != nil {
		t.Fatal(err)
	}
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(page)
	if program == nil {
		t.Fatal("docs/embedding.md has no program")
	}
	dir := module(t)
	program[1] = bytes.Replace(program[1], []byte("package main"), []byte("package program"), 1) // compiled, not linked
	if err := os.WriteFile(filepath.Join(dir, "main.go"), program[1], 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := goTool(t, dir, "build", "."); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestWrongEventTypesDoNotCompile: the data of events are a sealed union.
func TestWrongEventTypesDoNotCompile(t *testing.T) {
	out, err := goTool(t, module(t), "build", "-tags", "wrong", "-o", "wrong", ".")
	if err == nil || !strings.Contains(out, "impossible type switch case") {
		t.Errorf("%v\n%s", err, out)
	}
}
