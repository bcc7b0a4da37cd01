package policy_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/policy"
)

// plant makes files, and links if the content begins with "-> ".
func plant(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if len(text) > 3 && text[:3] == "-> " {
			err = os.Symlink(text[3:], path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSecretFilesBelow(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plant(t, root, map[string]string{
		".env": "x", "api/.env.local": "x", ".env.example": "x", "deep/a/b/server.pem": "x", ".ssh/config": "x", "api/.aws/credentials": "x", "id_rsa": "x", "id_rsa.pub": "x",
		".git/credentials": "x", ".git/refs/heads/id_rsa": "x", "src/credentials/code.go": "x", "src/gcloud/code.go": "x", ".config/gcloud/db": "x", "main.go": "x",
		"config/prod": "x", "config/.env": "-> prod", "links/.ssh": "-> ../keys", "keys/one": "x", "out/.env": "-> /etc/passwd", "loop/.env": "-> .env", "all/.env": "-> ..",
		"venv/.env/bin/python": "x",
	})
	want := []string{
		".config/gcloud",
		".env",
		".git/credentials",
		".ssh",
		"api/.aws",
		"api/.env.local",
		"config/prod",
		"deep/a/b/server.pem",
		"id_rsa",
		"keys",
	}
	var files policy.SecretFiles
	check := func(roots ...string) {
		t.Helper()
		found, err := files.Below(nil, roots...)
		if err != nil {
			t.Fatal(err)
		}
		for i, path := range found {
			if found[i], err = filepath.Rel(root, path); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(found, want) {
			t.Errorf("found %q\nwant  %q", found, want)
		}
	}
	check(root)
	check(filepath.Join(root, "api"), root, filepath.Join(root, "none"))
	all := want
	for began := time.Now(); time.Since(began) < 150*time.Millisecond; { // until the cache has the listings
		check(root)
	}
	// The working directory is never hidden; its siblings in a secret folder are.
	want = []string{
		".config/gcloud",
		".env",
		".git/credentials",
		".ssh",
		"api/.aws/credentials",
		"api/.env.local",
		"config/prod",
		"deep/a/b/server.pem",
		"id_rsa",
		"keys",
	}
	plant(t, root, map[string]string{"api/.aws/work/file": "x"})
	check(filepath.Join(root, "api/.aws/work"), root)
	want = all
	check(root) // the folder is secret again
}

// A cached listing is not used for a changed folder, also if a process restores its times.
func TestSecretFilesSeesChanges(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var files policy.SecretFiles
	past := time.Now().Add(-time.Hour)
	dir := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		path := filepath.Join(dir, fmt.Sprintf("%d.pem", i))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, past, past); err != nil {
			t.Fatal(err)
		}
		found, err := files.Below(nil, root)
		if err != nil || len(found) != i+1 {
			t.Fatalf("%d found of %d, %v", len(found), i+1, err)
		}
	}
	if err := os.Rename(filepath.Join(root, "a"), filepath.Join(root, "c")); err != nil {
		t.Fatal(err)
	}
	if found, err := files.Below(nil, root); err != nil || len(found) != 50 ||
		filepath.Dir(found[0]) != filepath.Join(root, "c", "b") {
		t.Errorf("%d, %v", len(found), err)
	}
}

func TestSecretFilesIsBounded(t *testing.T) {
	root := t.TempDir()
	for i := range 2001 {
		if err := os.WriteFile(filepath.Join(root, fmt.Sprintf("%d.pem", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var files policy.SecretFiles
	var many *policy.TooManyError
	if _, err := files.Below(nil, root); !errors.As(err, &many) {
		t.Error(err)
	}
}

// BenchmarkSecretFiles is the cost of a command in a tree of 50,000 files: of the first
// command, and of each later one.
func BenchmarkSecretFiles(b *testing.B) {
	root := b.TempDir()
	for i := range 2500 {
		dir := filepath.Join(root, fmt.Sprint(i%50), fmt.Sprint(i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for j := range 20 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(j)), nil, 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			if _, err := new(policy.SecretFiles).Below(nil, root); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("again", func(b *testing.B) {
		var files policy.SecretFiles
		for b.Loop() {
			if _, err := files.Below(nil, root); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// Copies of secret files that editors, backups and settle itself make are secret, too.
func TestCopiesOfSecretFilesAreSecret(t *testing.T) {
	for name, want := range map[string]bool{
		".envrc~": true, "a/..env.swp": true, ".npmrc.bak": true, ".netrc.gpg": true, ".git-credentials.lock": true,
		".envrc.settle-changed": true, ".envrc.2.settle-changed": true, ".npmrc-quarantined-3": true,
		"terraform.tfstate.1700.backup": true, "id_rsa": true, ".env.example.settle-changed": true, "main.go~": false,
		"package.json.bak": false, "shadow.5": false, "Cargo.lock": false, ".main.go.swp": false,
	} {
		if got := policy.Secret(name); got != want {
			t.Errorf("%s: %t, want %t", name, got, want)
		}
	}
}
