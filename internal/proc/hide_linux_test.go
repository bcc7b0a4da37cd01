package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/sandbox"
)

// hidingPolicy returns a folder with files that are hidden, and a sandbox that hides them.
func hidingPolicy(t *testing.T, p sandbox.Policy) (dir string, policy sandbox.Policy) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".env": "SECRET", "sub/server.pem": "SECRET", "b\xffd/key": "SECRET", ".ssh/id_x": "SECRET", "sub/deep/file": "plain", "file": "plain"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".env", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	policy = sandbox.ReadOnly("", os.Getenv("PATH"), dir)
	if policy.View = p.View; len(p.Write) > 0 {
		policy.Write = []string{dir}
	}
	for _, name := range []string{".env", "sub/server.pem", "b\xffd/key", ".ssh"} {
		hidden, err := sandbox.Find(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		policy.Hide = append(policy.Hide, hidden)
	}
	return dir, policy
}

// hidingKinds are the sandboxes that can hide files on this machine.
func hidingKinds(t *testing.T) map[string]sandbox.Policy {
	t.Helper()
	kinds := map[string]sandbox.Policy{}
	for name, p := range map[string]sandbox.Policy{"landlock": {}, "view": {View: true}, "workspace": {View: true, Write: []string{"/"}}} {
		if _, err := Prove(t.Context(), p, nil); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		kinds[name] = p
	}
	return kinds
}

// A hidden file cannot be opened by any name, and all files beside it can.
func TestSandboxHidesFiles(t *testing.T) {
	const steal = `cat .env link b?d/key b*/key sub/server.pem .ssh/id_x sub/../.env $PWD/.env /proc/self/cwd/.env; cat <.env; ln .env hard && cat hard; ln -s .env soft; cat soft
mv .env moved; cat moved; mv sub/server.pem sub/deep/; cat sub/deep/server.pem; mv sub under; cat under/server.pem; cp .env copy; tar cf - . ; grep -r SECRET .; chmod 600 .env; dd if=.env`
	for name, p := range hidingKinds(t) {
		t.Run(name, func(t *testing.T) {
			dir, policy := hidingPolicy(t, p)
			for script, want := range map[string]string{steal: "denied", "cat file sub/deep/file; ls -a; ls sub": "plain"} {
				out, err := Run(
					t.Context(),
					Command{Argv: []string{"sh", "-c", script}, Dir: dir, Env: os.Environ(), Sandbox: &policy},
				)
				if err != nil {
					t.Fatal(err)
				}
				got := string(out.Stdout) + string(out.Stderr)
				if strings.Contains(got, "SECRET") || !strings.Contains(got, want) {
					t.Errorf("%q: %s", script, got)
				}
				dir, policy = hidingPolicy(t, p)
			}
		})
	}
}

// A command reads another content instead of a file, and cannot take it away.
func TestSandboxShowsOtherContent(t *testing.T) {
	const steal = `cat .env; cat <link; mv .env moved; cat moved; echo x >>.env
mv sub under; cat under/*; umount .env; ls /proc/self/fd; cat file`
	for name, p := range hidingKinds(t) {
		t.Run(name, func(t *testing.T) {
			dir, policy := hidingPolicy(t, p)
			for i := range policy.Hide[:2] {
				policy.Hide[i].Content = []byte("SHOWN\n")
			}
			out, err := Run(t.Context(), Command{
				Argv: []string{"sh", "-c", steal}, Dir: dir, Env: os.Environ(), Sandbox: &policy,
			})
			if !p.View {
				if err == nil || !strings.Contains(err.Error(), "takes a view of the files") {
					t.Errorf("it ran without mounts: %v, %s", err, out.Stdout)
				}
				return
			}
			got := string(out.Stdout) + string(out.Stderr)
			shown := strings.Count(got, "SHOWN\n") >= 2 && strings.Contains(got, "plain")
			if err != nil || !shown || strings.Contains(got, "SECRET") {
				t.Errorf("%v: %s", err, got)
			}
			if data, err := os.ReadFile(filepath.Join(dir, ".env")); err != nil || string(data) != "SECRET\n" {
				t.Errorf("the file is now %q (%v)", data, err)
			}
		})
	}
}

// A file that was put in the place of a hidden one since that was found is a reason not
// to start.
func TestSandboxRefusesReplacedFiles(t *testing.T) {
	for name, p := range hidingKinds(t) {
		t.Run(name, func(t *testing.T) {
			for _, change := range []func(path string) error{
				func(path string) error { return os.Rename(path, path+".moved") },
				func(path string) error {
					if err := os.Rename(path, path+".moved"); err != nil {
						return err
					}
					return os.WriteFile(path, nil, 0o600)
				},
				func(path string) error {
					if err := os.Rename(path, path+".moved"); err != nil {
						return err
					}
					return os.Symlink(path+".moved", path)
				},
			} {
				dir, policy := hidingPolicy(t, p)
				if err := change(filepath.Join(dir, ".env")); err != nil {
					t.Fatal(err)
				}
				out, err := Run(
					t.Context(),
					Command{Argv: []string{"sh", "-c", "cat .env*"}, Dir: dir, Env: os.Environ(), Sandbox: &policy},
				)
				if err == nil || !strings.Contains(err.Error(), "moved or replaced") {
					t.Errorf("%v, %s", err, out.Stdout)
				}
			}
		})
	}
}

// A folder that commands may change hides nothing without a view of the files.
func TestSandboxHidesNothingWithoutView(t *testing.T) {
	if Confines() != nil {
		return
	}
	dir, policy := hidingPolicy(t, sandbox.Policy{Write: []string{"/"}})
	if _, err := Run(t.Context(), Command{Argv: []string{"cat", "file"}, Dir: dir, Sandbox: &policy}); err == nil ||
		!strings.Contains(err.Error(), "cannot hide files") {
		t.Error(err)
	}
}
