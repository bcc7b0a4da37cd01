package repo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/settle-agent/settle/internal/repo"
)

// A directory that all users can write, such as /tmp, contains files of other users. Only
// root can make such files here; for other users, the system has some.
func TestFilesOfOthers(t *testing.T) {
	root, sub := project(t)
	words := filepath.Join(root, "AGENTS.md")
	trust := repo.Trust{}
	if os.Geteuid() != 0 {
		if p := trust.Project("/etc"); p.Dirs != nil {
			t.Errorf("root's directories are trusted: %q", p.Dirs)
		}
		return
	}
	chown := func(path string, uid int) {
		t.Helper()
		if err := os.Lchown(path, uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	chown(words, otherUser)
	if _, _, err := trust.Project(sub).ReadFile(words, 10); err == nil {
		t.Error("another's file in one's own directory was read")
	}
	chown(root, otherUser)
	chown(filepath.Join(root, ".git"), otherUser)
	if data, _, err := trust.As(otherUser).Project(root).ReadFile(words, 10); err != nil {
		t.Errorf("one's own file: %q, %v", data, err)
	}
	chown(root, 0)
	chown(filepath.Join(root, ".git"), 0)
	link := filepath.Join(root, "CLAUDE.md")
	if err := os.Symlink("/etc/hostname", link); err != nil {
		t.Fatal(err)
	}
	chown(link, otherUser)
	if _, _, err := trust.Project(root).ReadFile(link, 10); err == nil {
		t.Error("another's link to root's file was followed")
	}
	chown(sub, otherUser)
	if p := trust.Project(sub); len(p.Dirs) != 1 || p.Dirs[0] != root {
		t.Errorf("another's directory in one's own repository: %q", p.Dirs)
	}
	chown(filepath.Join(root, ".git"), otherUser)
	if p := trust.Project(sub); p.Dirs != nil {
		t.Errorf("in another's repository: %q", p.Dirs)
	}
	if p := trust.As(otherUser).Project(sub); len(p.Dirs) != 1 || p.Dirs[0] != sub {
		t.Errorf("one's own directory in another's repository: %q", p.Dirs)
	}
}
