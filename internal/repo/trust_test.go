//go:build unix

package repo_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/repo"
)

// otherUser is a user who owns no file of the test.
const otherUser = 54321

func project(t *testing.T) (root, sub string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub = filepath.Join(root, "sub")
	for _, dir := range []string{filepath.Join(root, ".git"), filepath.Join(sub, ".settle")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "AGENTS.md"), []byte("words"), 0o600); err != nil {
		t.Fatal(err)
	}
	return root, sub
}

func TestOwnDirectoriesAreTrusted(t *testing.T) {
	root, sub := project(t)
	p := repo.Trust{}.Project(sub)
	if diff := cmp.Diff([]string{root, sub}, p.Dirs); diff != "" || p.Notes != nil {
		t.Errorf("notes %q, directories (-want +got):\n%s", p.Notes, diff)
	}
	if data, _, err := p.ReadFile(filepath.Join(root, "AGENTS.md"), 10); err != nil || string(data) != "words" {
		t.Errorf("ReadFile = %q, %v", data, err)
	}
}

// A link or hard link in a repository is read only if its target is in the project.
func TestFilesAreReadOnlyWithinTheProject(t *testing.T) {
	root, sub := project(t)
	outside := t.TempDir()
	for path, mode := range map[string]os.FileMode{
		filepath.Join(outside, "private"): 0o600,
		filepath.Join(outside, "public"):  0o644,
	} {
		if err := os.WriteFile(path, []byte("outside"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"sub/inside.md": "../AGENTS.md",
		"sub/out.md":    filepath.Join(outside, "private"), "sub/dir": outside,
		"sub/dangling.md": filepath.Join(outside, "none"),
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"private", "public"} {
		if err := os.Link(filepath.Join(outside, name), filepath.Join(sub, name)); err != nil {
			t.Fatal(err)
		}
	}
	p := repo.Trust{}.Project(sub)
	for name, want := range map[string]string{
		"inside.md": "words", "public": "outside", "out.md": "out of the project",
		"dir/private": "out of the project", "dangling.md": "out of the project",
		"private": "hard link", "../../x": "out of the project", "none/x": "no such file",
	} {
		data, _, err := p.ReadFile(filepath.Join(sub, name), 10)
		got := string(data)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, _, err := (repo.Project{}).ReadFile(filepath.Join(root, "AGENTS.md"), 10); err == nil {
		t.Error("what says nothing was read")
	}
}

// git-config(1), safe.directory.
func TestSafeDirectories(t *testing.T) {
	root, sub := project(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		safe  []string
		trust bool
	}{
		{"none", nil, false},
		{"the root", []string{root}, true},
		{"the root through a link", []string{link}, true},
		{"a directory within it", []string{sub}, false},
		{"everything", []string{"*"}, true},
		{"everything below a parent", []string{filepath.Dir(root) + "/*"}, true},
		{"everything below it", []string{root + "/*"}, false},
		{"a parent", []string{filepath.Dir(root)}, false},
		{"a name that begins alike", []string{root[:len(root)-1]}, false},
		{"taken back", []string{"*", ""}, false},
		{"taken back and named", []string{"*", "", root}, true},
		{"relative", []string{"."}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := repo.Trust{Safe: func() []string { return tt.safe }}.As(otherUser).Project(sub)
			if got := len(p.Dirs) == 2; got != tt.trust {
				t.Fatalf("directories %q, notes %q", p.Dirs, p.Notes)
			}
			_, _, err := p.ReadFile(filepath.Join(root, "AGENTS.md"), 10)
			// Files that root makes belong to root also in this test.
			if trusted := err == nil; trusted != tt.trust && os.Geteuid() != 0 {
				t.Errorf("ReadFile: %v", err)
			}
			if notes := strings.Join(p.Notes, "\n"); !tt.trust &&
				(len(p.Notes) != 2 || !strings.Contains(notes, "safe.directory")) {
				t.Errorf("notes:\n%s", notes)
			}
		})
	}
}

func TestSafeDirectoriesAreAskedOnlyForOthers(t *testing.T) {
	_, sub := project(t)
	repo.Trust{Safe: func() []string { t.Error("git was asked"); return nil }}.Project(sub)
}

// A user who became root with sudo works in their own directories.
func TestSudo(t *testing.T) {
	root, sub := project(t)
	self := strconv.Itoa(os.Geteuid())
	if p := (repo.Trust{SudoUID: self}).As(0).Project(sub); len(p.Dirs) != 2 {
		t.Errorf("root by sudo: %q", p.Notes)
	}
	if p := (repo.Trust{SudoUID: self}).As(otherUser).Project(root); len(p.Dirs) != 0 {
		t.Error("SUDO_UID counts for others than root")
	}
}

// A note appears only for a directory that could configure settle.
func TestNoNoteWhereNothingSpeaks(t *testing.T) {
	if p := (repo.Trust{}).As(otherUser).Project(t.TempDir()); p.Dirs != nil || p.Notes != nil {
		t.Errorf("directories %q, notes %q", p.Dirs, p.Notes)
	}
}
