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

// gopls opens a session with the real gopls in a module with two packages. It is false if gopls is
// not installed.
func gopls(t *testing.T) (s session, isInstalled bool) {
	t.Helper()
	program, err := exec.LookPath("gopls")
	if err != nil {
		t.Logf("not tried, since gopls is not installed: %v", err)
		return s, false
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s = session{Servers: lsp.Open(lsp.Config{
		Dir: dir, Env: os.Environ, Marker: t.Name(), Timeout: patience,
		Languages: lsp.Installed([]string{"gopls"}, func(string) (string, error) { return program, nil }),
	}.Under(func() (lsp.Launch, error) {
		return lsp.NewLaunch(proc.Start, func() bool { return true }), nil
	})), dir: dir}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s.write(t, "go.mod", "module example.com/m\n\ngo 1.24\n")
	s.write(t, "main.go", "package main\n\nimport \"example.com/m/sub\"\n\nfunc main() { println(sub.Name()) }\n")
	s.write(t, "sub/sub.go", subText)
	return s, true
}

const subText = "package sub\n\nfunc Name() string { return \"x\" }\n"

func (s session) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The real gopls reports errors of an edit in other packages, and finds the uses of a name.
func TestGopls(t *testing.T) {
	s, isInstalled := gopls(t)
	if !isInstalled {
		return
	}
	want(t, "the edit", "gopls: 1 new error\nmain.go:5:27: undefined: sub.Name",
		s.edit(t, "sub/sub.go", subText, strings.Replace(subText, "Name", "Names", 1)))
	want(t, "back", "gopls: no new errors", s.edit(t, "sub/sub.go", "", subText))
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

// gopls publishes no errors of a new file at first, since it does not know the file's
// package yet.
func TestGoplsJudgesNewFiles(t *testing.T) {
	s, isInstalled := gopls(t)
	if !isInstalled {
		return
	}
	s.edit(t, "sub/sub.go", subText, subText+"\n")
	const broken = "package new\n\nvar X = missing\n"
	for _, c := range []struct{ name, text, want string }{
		{"new/new.go", broken, "gopls: 1 new error\nnew/new.go:3:9: undefined: missing"},
		{"deep/er/er.go", broken, "gopls: 1 new error\ndeep/er/er.go:3:9: undefined: missing"},
		{
			"cmd/x/main.go", "package main\n\nimport \"example.com/m/sub\"\n\nfunc main() { sub.Absent() }\n",
			"gopls: 1 new error\ncmd/x/main.go:5:19: undefined: sub.Absent",
		},
		{
			"sub/sub_windows.go", "package sub\n\nvar W = missing\n",
			"gopls: 1 new error\nsub/sub_windows.go:3:9: undefined: missing [windows]",
		},
		{
			"sub/gen.go", "//go:build ignore\n\npackage main\n\nfunc main() { missing() }\n",
			"gopls: 1 new error\nsub/gen.go:5:15: undefined: missing",
		},
		{
			"sub/testdata/t.go", "package t\n\nvar T = missing\n",
			"gopls: sub/testdata/t.go is in a folder that it does not check",
		},
	} {
		s.write(t, c.name, "")
		if err := os.Remove(filepath.Join(s.dir, c.name)); err != nil {
			t.Fatal(err)
		}
		want(t, c.name, c.want, s.edit(t, c.name, "", c.text))
	}
	s.write(t, "one/command.go", broken)
	var edits []lsp.Edit
	for _, name := range []string{"one/one.go", "two/two.go"} {
		s.write(t, name, broken)
		edits = append(edits, lsp.Edit{Path: filepath.Join(s.dir, name), After: []byte(broken)})
	}
	note := s.Check(t.Context(), edits)
	want(t, "two packages, one with a file that a command made", "gopls: 5 new errors\n"+
		"one/one.go:3:5: X redeclared in this block\n"+
		"one/one.go:3:9: undefined: missing\ntwo/two.go:3:9: undefined: missing\n"+
		"one/command.go:3:5: X redeclared in this block (this error: other declaration of X)\n"+
		"one/command.go:3:9: undefined: missing", note)
	if err := os.Remove(filepath.Join(s.dir, "sub/sub.go")); err != nil {
		t.Fatal(err)
	}
	note = s.Check(t.Context(), []lsp.Edit{{Path: filepath.Join(s.dir, "sub/sub.go"), Before: []byte(subText)}})
	if !strings.Contains(note, "\nmain.go:") {
		t.Errorf("a removed file: %q", note)
	}
}
