package quarantine

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A command that exchanges a repository for a link to a protected folder makes the guard
// neither move, nor empty, nor change the rights of, the files there.
func TestGuardChangesNothingThroughSwappedLinks(t *testing.T) {
	dir := real(t)
	editors := map[string]string{".vscode/config": "mine", ".vscode/hooks/x": "mine", ".vscode/HEAD": "mine"}
	files(t, dir, merge(repository(".git", ""), editors))
	kept := filepath.Join(dir, ".git")
	if err := os.Chmod(filepath.Join(dir, ".vscode"), 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, ".vscode"), 0o700) }) // so that it can be removed
	g := New()
	t.Cleanup(func() { _ = g.Close() })
	if err := g.Enter(t.Context(), Area{Look: []string{dir}, Keep: []string{kept}}); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(kept, "config"))
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // ends with stop
		defer close(done)
		swapWithLinks(dir, stop)
	}()
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		_ = g.Check(t.Context())
	}
	close(stop)
	<-done
	if after, err := os.ReadFile(filepath.Join(kept, "config")); err != nil || string(after) != string(before) {
		t.Errorf("the kept configuration is %q, %v; it was %q", after, err, before)
	}
	for _, name := range []string{".git", ".vscode"} {
		list, err := os.ReadDir(filepath.Join(dir, name))
		if want := map[string]int{".git": 4, ".vscode": 3}[name]; err != nil || len(list) != want {
			t.Errorf("%s has %v, %v", name, list, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, ".vscode/hooks/x")); err != nil || string(data) != "mine" {
		t.Errorf("the file of the editor is %q, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(dir, ".vscode")); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("the editor's folder is %v, %v", info, err)
	}
}

// swapWithLinks makes a repository with a fault, and exchanges it for links.
func swapWithLinks(dir string, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		folder, link := filepath.Join(dir, "R"), filepath.Join(dir, "S")
		if info, err := os.Lstat(folder); err == nil && !info.IsDir() {
			folder, link = link, folder
		}
		plant(folder)
		_ = os.Remove(link) // a link, or nothing
		_ = os.Symlink([]string{".git", ".vscode"}[n/4%2], link)
		for range 1 + n%40 {
			_ = unix.Renameat2(unix.AT_FDCWD, folder, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
		}
	}
}

// plant makes a repository with faults.
func plant(folder string) {
	for _, name := range []string{"objects", "refs", "hooks"} {
		_ = os.MkdirAll(filepath.Join(folder, name), 0o755)
	}
	for name, content := range map[string]string{
		"config": "[core]\n\tfsmonitor = evil\n", "hooks/x": "evil", "HEAD": "ref: refs/heads/x\n",
	} {
		if _, err := os.Lstat(filepath.Join(folder, name)); err != nil {
			_ = os.WriteFile(filepath.Join(folder, name), []byte(content), 0o700)
		}
	}
}
