package quarantine

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is the user of a thread that is not root.
const nobody = 65534

// asUser calls f in a thread without the rights of root, which may change the files below a
// folder. The thread ends with f.
func asUser(t *testing.T, dir string, f func()) {
	t.Helper()
	root := os.Geteuid() == 0
	if root {
		for at := dir; at != filepath.Clean(os.TempDir()) && at != "/"; at = filepath.Dir(at) {
			if err := os.Chmod(at, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, nobody, nobody)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends
		if root {
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
				t.Error(errno)
				return
			}
		}
		f()
	}()
	<-done
}

// A command removes the permission to change a folder: settle restores it, and an entry that it
// cannot move aside never counts as the user's.
func TestGuardRegainsRights(t *testing.T) {
	for name, c := range map[string]struct {
		list map[string]string
		lock []string // folders without the right to change them
		want string
	}{
		"a configuration": {repository("n/.git", evil), []string{"n/.git", "n", "."}, "n/.git/config"},
		"hooks":           {merge(repository("n/.git", ""), map[string]string{"n/.git/hooks/pre-commit": "x"}), []string{"n/.git/hooks", "n/.git"}, "n/.git/hooks"},
		"a file .git":     {map[string]string{"n/.git": "gitdir: /elsewhere\n"}, []string{"n"}, "n/.git"},
	} {
		dir := real(t)
		asUser(t, dir, func() {
			g := guarded(t, dir)
			files(t, dir, c.list)
			for _, folder := range c.lock {
				if err := os.Chmod(filepath.Join(dir, folder), 0o555); err != nil {
					t.Error(err)
				}
			}
			found := g.Check(t.Context())
			if len(found) != 1 || found[0].Path != filepath.Join(dir, c.want) || found[0].Moved == "" {
				t.Errorf("%s: %v", name, found)
			}
			_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error { // for the test's cleanup
				if err == nil && entry.IsDir() {
					err = os.Chmod(path, 0o755)
				}
				return err
			})
		})
	}
}

// A repository that was known is judged as well after a command has hidden its folder.
func TestGuardJudgesHiddenRepositories(t *testing.T) {
	dir := real(t)
	asUser(t, dir, func() {
		g := guarded(t, dir)
		files(t, dir, repository("a/n/.git", ""))
		if found := g.Check(t.Context()); found != nil {
			t.Errorf("%v", found)
		}
		files(t, dir, repository("a/n/.git", evil))
		if err := os.Chmod(filepath.Join(dir, "a"), 0); err != nil {
			t.Error(err)
		}
		if found := g.Check(t.Context()); len(found) != 1 || found[0].Moved == "" {
			t.Errorf("%v", found)
		}
	})
}

// A fault that cannot be moved is emptied, and never trusted.
func TestGuardEmptiesWhatItCannotMove(t *testing.T) {
	dir := real(t)
	g := guarded(t, dir)
	files(t, dir, repository("n/.git", evil))
	config := filepath.Join(dir, "n", ".git", "config")
	if err := unix.Mount(config, config, "", unix.MS_BIND, ""); err != nil { // a mount cannot be renamed
		t.Logf("no mounts here: %v", err)
		return
	}
	defer func() { _ = unix.Unmount(config, unix.MNT_DETACH) }()
	found := g.Check(t.Context())
	if len(found) != 1 || found[0].Moved != "" || !strings.Contains(found[0].Why, "emptied") {
		t.Errorf("%v", found)
	}
	if data, err := os.ReadFile(config); err != nil || len(data) != 0 {
		t.Errorf("%q, %v", data, err)
	}
	if err := os.WriteFile(config, []byte("[core]\n"+evil), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = g.Check(t.Context())
	g.Leave()
	enter(t, g, dir) // no command runs: present files would be the user's
	if r := g.known[filepath.Dir(config)]; r == nil || r.trusted["config core.fsmonitor=evil"] {
		t.Errorf("%+v", r)
	}
}
