//go:build machine

package lsp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/tool/lsp"
)

// The real gopls reports errors of an edit in other packages, and finds what uses a name.
func TestGopls(t *testing.T) {
	program, err := exec.LookPath("gopls")
	if err != nil {
		t.Logf("not tried, since gopls is not installed: %v", err)
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":     "module example.com/m\n\ngo 1.24\n",
		"main.go":    "package main\n\nimport \"example.com/m/sub\"\n\nfunc main() { println(sub.Name()) }\n",
		"sub/sub.go": "package sub\n\nfunc Name() string { return \"x\" }\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := session{Servers: lsp.Open(lsp.Config{
		Dir: dir, Env: os.Environ, Marker: t.Name(), Timeout: patience,
		Languages: lsp.Installed([]string{"gopls"}, func(string) (string, error) { return program, nil }),
	}.Under(func() (lsp.Launch, error) {
		return lsp.NewLaunch(proc.Start, func() bool { return true }), nil
	})), dir: dir}
	defer func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	old := "package sub\n\nfunc Name() string { return \"x\" }\n"
	want(t, "the edit", "gopls: 1 new error\nmain.go:5:27: undefined: sub.Name",
		s.edit(t, "sub/sub.go", old, strings.Replace(old, "Name", "Names", 1)))
	want(t, "back", "gopls: no new errors", s.edit(t, "sub/sub.go", "", old))
	found, err := s.ask(t, t.Context(), lsp.Arguments{Action: "references", Name: "Name", Path: "sub/sub.go"})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "references", "sub/sub.go:3: func Name() string { return \"x\" }\n"+
		"main.go:5: func main() { println(sub.Name()) }", found)
	note := s.edit(t, "sub/more.go", "", "package sub\n\nimport \"example.org/absent\"\n\nvar _ = absent.X\n")
	if !strings.Contains(note, "could not import example.org/absent") {
		t.Errorf("a missing module: %q", note)
	}
}
