package policy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The next session hides a secret file that a command of this one has renamed.
func TestSecretFilesAreKeptForTheNextSession(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(t.TempDir(), "secrets", "record")
	path := func(name string) string { return filepath.Join(dir, name) }
	session := func(want ...string) *SecretFiles {
		t.Helper()
		files := &SecretFiles{}
		files.Keep(record, nil)
		found, err := files.Below(nil, dir)
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("found %q, %v; want %q", found, err, want)
		}
		return files
	}
	err = errors.Join(
		os.Mkdir(path(".docker"), 0o700), os.WriteFile(path(".docker/config.json"), nil, 0o600),
		os.WriteFile(path(".env"), nil, 0o600), os.WriteFile(path("file"), nil, 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	other := &SecretFiles{} // begins before the first one has recorded anything
	other.Keep(record, nil)
	session(path(".docker/config.json"), path(".env"))
	info, err := os.Stat(record)
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("the record: %v, %v", info.Mode(), err)
	}
	if err := errors.Join(os.Rename(path(".docker"), path("docker")), os.Rename(path(".env"), path("env")),
		os.WriteFile(path(".npmrc"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Below(nil, dir); err != nil { // records .npmrc, and loses nothing
		t.Fatal(err)
	}
	files := session(path(".npmrc"), path("docker/config.json"), path("env"))
	if !files.Secret(path("env")) || files.Secret(path("file")) {
		t.Error("file tools show a secret file, or hide another one")
	}
	for _, broken := range []string{"", "{", `[{"inode":"x"}]`} { // begins empty
		if err := os.WriteFile(record, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		session(path(".npmrc"))
	}
	session(path(".npmrc"))
}
