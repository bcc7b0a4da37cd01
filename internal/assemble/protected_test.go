package assemble

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
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
		return policy.Extent{
			Write:     []string{home, filepath.Join(home, "other"), filepath.Join(home, ".config")},
			Temporary: []string{filepath.Dir(home), filepath.Join(home, "tmp")},
		}
	}}, "")
	want := []string{filepath.Join(home, "other"), filepath.Join(home, "tmp")}
	if got := b.wishes().writable(); !slices.Equal(got, want) {
		t.Errorf("a client can add %q, want %q", got, want)
	}
}

// A client learns which folders its commands cannot change: settle refuses a folder with protected
// files, and notes the paths that the user's own configuration excludes (C22).
func TestExtentIsCheckedBeforeItIsInForce(t *testing.T) {
	home := t.TempDir()
	write := func(name string) policy.Extent { return policy.Extent{Write: []string{filepath.Join(home, name)}} }
	temporary := func(name string) policy.Extent {
		return policy.Extent{Temporary: []string{filepath.Join(home, name)}}
	}
	const around, user = "contains your home directory", "your own sandbox configuration"
	for name, tt := range map[string]struct {
		extent policy.Extent
		chosen bool
		err    string
		note   string
	}{
		"a folder":                  {extent: write("other")},
		"home":                      {extent: write(""), err: around},
		"configuration":             {extent: write(".config/settle/x"), err: "is in settle's configuration"},
		"relative":                  {extent: policy.Extent{Write: []string{"other"}}, err: "not absolute"},
		"chosen by the user":        {extent: write("other"), chosen: true, note: user},
		"home, chosen by the user":  {extent: write(""), chosen: true, err: around},
		"temporary folder":          {extent: temporary("tmp")},
		"temporary folder of homes": {extent: temporary(".."), note: around},
	} {
		a := &Agent{confined: &confinement{sandbox: sandboxing{
			dir: filepath.Join(home, "work"), home: home, chosen: tt.chosen,
			configDir: filepath.Join(home, ".config/settle"),
			Sandbox:   config.Sandbox{Use: config.SandboxAuto, Mode: event.Workspace},
		}}}
		notes, err := a.CheckExtent(Mode{Sandbox: event.Workspace, Extent: tt.extent})
		if fmt.Sprint(err) != "<nil>" && tt.err == "" || !strings.Contains(fmt.Sprint(err), tt.err) {
			t.Errorf("%s: %v, want %q", name, err, tt.err)
		}
		if len(notes) > 0 && tt.note == "" || !strings.Contains(strings.Join(notes, "\n"), tt.note) {
			t.Errorf("%s: notes %q, want %q", name, notes, tt.note)
		}
	}
}
