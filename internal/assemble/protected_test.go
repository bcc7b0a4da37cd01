package assemble

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// A sandboxed command cannot write files that settle or another agent obeys later, outside
// of the sandbox.
func TestWritableFoldersExcludeProtectedFolders(t *testing.T) {
	home := t.TempDir()
	place := func(dir string, write ...string) error {
		return sandboxing{
			dir: filepath.Join(home, dir), home: home, Sandbox: config.Sandbox{Write: write},
			dataDir: filepath.Join(home, ".local/share/settle"), configDir: filepath.Join(home, ".config/settle"),
		}.place()
	}
	for _, tt := range []struct {
		dir   string
		write []string
		want  string // part of the refusal; "" for none
	}{
		{"work", nil, ""},
		{"work", []string{"~/.cache", "build"}, ""},
		{".local/share/settle/worktrees/one", nil, ""},
		{"", nil, "your home directory"},
		{".config", nil, "settle's configuration"},
		{".config/settle", nil, "settle's configuration"},
		{".local", nil, "settle's data directory"},
		{".local/share/settle/sessions", nil, "is in settle's data directory"},
		{".claude/skills", nil, "~/.claude"},
		{"work", []string{"~/.config"}, "the folder of sandbox.write"},
		{"work", []string{"~/.local"}, "settle's data directory"},
		{"work", []string{"~/"}, "your home directory"},
		{"work", []string{"~/.codex/skills"}, "~/.codex"},
	} {
		err := place(tt.dir, tt.write...)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q with %q: %v, want %q", tt.dir, tt.write, err, tt.want)
		}
	}

	if err := (sandboxing{dir: "/"}).place(); err == nil { // also without a home directory
		t.Error("the root of the file system can be a working directory")
	}

	s := sandboxing{dir: filepath.Join(home, "work"), home: home, configDir: filepath.Join(home, ".config/settle")}
	b := newSandboxes(s, &confinement{extent: func() policy.Extent {
		return policy.Extent{Write: []string{home, filepath.Join(home, "other"), filepath.Join(home, ".config")}}
	}})
	if got := b.wishes().Write; len(got) != 1 || got[0] != filepath.Join(home, "other") {
		t.Errorf("a client can add %q", got)
	}
}
