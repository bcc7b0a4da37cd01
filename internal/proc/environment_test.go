//go:build unix

package proc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestTrustedEnvLeadsNowhereThatCommandsCanChange(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(top, "my work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(work, filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	MarkWritable(work, "/changed")
	for entry, want := range map[string]string{
		"PYTHONPATH=/changed/src:/opt/lib": "PYTHONPATH=/opt/lib", "PYTHONPATH=/changed": "", "PYTHONPATH=src": "",
		"PYTHONPATH=:/opt/lib":              "PYTHONPATH=/opt/lib",
		"LD_LIBRARY_PATH=/opt/a;/changed/b": "LD_LIBRARY_PATH=/opt/a",
		"PYTHONPATH=/opt/lib::/opt/b":       "PYTHONPATH=/opt/lib:/opt/b", "NODE_PATH=" + top + "/link/node_modules": "",
		"LD_LIBRARY_PATH=/changed/build": "", "LD_LIBRARY_PATH=.:/opt/lib": "LD_LIBRARY_PATH=/opt/lib",
		"LD_PRELOAD=libjemalloc.so.2 /changed/x.so": "LD_PRELOAD=libjemalloc.so.2", "LD_PRELOAD=build/x.so": "",
		"BASH_ENV=/changed/rc": "", "BASH_ENV=" + work + "/rc": "", "ENV=.envrc": "",
		"NODE_OPTIONS=--max-old-space-size=4096": "=", "NODE_OPTIONS=--require ./x.js": "",
		"NODE_OPTIONS=--import tsx": "", "NODE_OPTIONS=--require /opt/agent.js": "=",
		"NODE_OPTIONS=--require=/changed/x.js": "",
		"RUBYOPT=-rbundler/setup":              "", "RUBYOPT=-W0": "=", "PERL5OPT=-I/changed/lib": "",
		"JAVA_TOOL_OPTIONS=-javaagent:/changed/x.jar": "", "JAVA_TOOL_OPTIONS=-javaagent:x.jar": "",
		"JAVA_TOOL_OPTIONS=-Xmx1g":     "=",
		"GOFLAGS=-toolexec=/changed/t": "", "GIT_EXEC_PATH=/changed/git": "",
		"GIT_CONFIG_GLOBAL=/changed/gitconfig": "", "GIT_SSH_COMMAND=ssh -F /changed/ssh": "",
		"KUBECONFIG=/changed/kube:/etc/kube": "KUBECONFIG=/etc/kube",
		"UNKNOWN=/changed/x":                 "", "UNKNOWN=" + work + "/x": "", "UNKNOWN=a " + work + "/x": "", "UNKNOWN=./x": "",
		"UNKNOWN=../x": "", "UNKNOWN=file:///changed/x": "",
		"URL=https://example.com/changed/x": "=", "TEXT=either/or": "=", "LANG=C.UTF-8": "=",
		"LS_COLORS=*.tar=01;31:": "=", "SSH_AUTH_SOCK=/tmp/ssh-x/agent.1": "=", "GOPATH=/opt/go": "=",
		"EMPTY=": "=", "OTHER=/changed-too/x": "=",
		"PWD=/changed": "=", "HOME=/changed": "=", "CLAUDE_PROJECT_DIR=/changed": "=",
		"GITHUB_WORKSPACE=/changed": "=",
	} {
		name, _, _ := strings.Cut(entry, "=")
		if want == "=" {
			want = entry
		}
		if got := strings.Join(TrustedEnv([]string{entry}), " "); got != want {
			t.Errorf("TrustedEnv(%s) = %q, want %q", entry, got, want)
		}
		if got := UntrustedVariables([]string{entry}); slices.Contains(got, name) != (want != entry) {
			t.Errorf("UntrustedVariables(%s) = %q", entry, got)
		}
	}
}

func TestForegroundProgramsAreNoneThatCommandsCanChange(t *testing.T) {
	top := t.TempDir()
	plant(t, filepath.Join(top, "work", "edit"))
	plant(t, filepath.Join(top, "own", "edit"))
	MarkWritable(filepath.Join(top, "work"))
	path := filepath.Join(top, "work") + ":" + filepath.Join(top, "own") + ":" + os.Getenv("PATH")
	t.Setenv("PATH", path)
	for _, argv := range [][]string{{"edit"}, {"/bin/sh", "-c", "edit"}} {
		out, err := os.Create(filepath.Join(top, "out"))
		if err != nil {
			t.Fatal(err)
		}
		program := ForegroundProgram{Argv: argv, Dir: top, Env: []string{"PATH=" + path}, Stdout: out}
		err = RunForeground(t.Context(), program)
		text, _ := os.ReadFile(out.Name())
		if err := out.Close(); err != nil {
			t.Error(err)
		}
		if err != nil || string(text) != "own\n" {
			t.Errorf("%q ran %q, %v", argv, text, err)
		}
	}
}
