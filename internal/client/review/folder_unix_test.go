//go:build unix

package review_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/review"
)

// A folder with files of the user stays as it is: numbered notes have the names of comments.
func TestCommentsLeaveOtherFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"001.md", "README"} {
		path := filepath.Join(dir, name)
		put(t, path, "mine")
		err := review.FailureComment(dir, "failed", "x")
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "empty folder") {
			t.Errorf("%s: %v", name, err)
		}
		if names, _ := os.ReadDir(dir); len(names) != 1 || content(t, path) != "mine" {
			t.Errorf("%s: the folder changed: %v", name, names)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// In the folder of an earlier review, files that no review wrote also stay, and no comment appears
// beside them: a checkout can have such a folder.
func TestCommentsLeaveAddedFiles(t *testing.T) {
	dir := t.TempDir()
	one := review.Report{Findings: []review.Finding{{File: "a", Severity: "low", Text: "x"}}}
	if err := one.Comments(dir); err != nil {
		t.Fatal(err)
	}
	if err := one.Comments(dir); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"evil.md", "002.md"} {
		path := filepath.Join(dir, name)
		put(t, path, "mine")
		if err := review.FailureComment(dir, "failed", "x"); err == nil || !strings.Contains(err.Error(), name) {
			t.Error(err)
		}
		for name, want := range map[string]string{name: "mine", "001.path": "a"} {
			if got := content(t, filepath.Join(dir, name)); got != want {
				t.Errorf("%s: %q", name, got)
			}
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// A checkout under review cannot direct the comments elsewhere: neither with a link to a folder,
// nor with one to a file, nor with a mark that names files outside.
func TestCommentsFollowNoLinks(t *testing.T) {
	outside, checkout := t.TempDir(), t.TempDir()
	t.Chdir(checkout)
	put(t, filepath.Join(outside, "001.md"), "mine")
	put(t, filepath.Join(outside, ".settle-review"), "001.md\n")
	links := map[string]string{
		"folder": outside, "deep/way": outside, "file/summary.md": filepath.Join(outside, "001.md"),
		"marked/.settle-review": filepath.Join(outside, ".settle-review"),
	}
	for name, target := range links {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	put(t, "told/.settle-review", "../../001.md\n"+filepath.Join(outside, "001.md")+"\n")
	for _, dir := range []string{"folder", "deep/way/new", "file", "marked"} {
		if err := review.FailureComment(dir, "failed", "x"); err == nil {
			t.Errorf("%s: no error", dir)
		}
	}
	if err := review.FailureComment("told", "failed", "x"); err != nil {
		t.Error(err)
	}
	if names, _ := os.ReadDir(outside); len(names) != 2 || content(t, filepath.Join(outside, "001.md")) != "mine" {
		t.Errorf("the folder outside changed: %v", names)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
