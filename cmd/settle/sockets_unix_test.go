//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// Another user can create the executor's directory in the temporary directory first, or a link
// with its name: the executor then uses one in the home directory.
func TestExecutorLeavesDirectoriesOfOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(path string) error
		own  bool
	}{
		"missing": {func(string) error { return nil }, false},
		"private": {func(path string) error { return os.Mkdir(path, 0o700) }, false},
		"open": {func(path string) error {
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			return os.Chmod(path, 0o777)
		}, true},
		"link": {func(path string) error { return os.Symlink(filepath.Dir(path), path) }, true},
		"file": {func(path string) error { return os.WriteFile(path, nil, 0o600) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			top, err := os.MkdirTemp("/tmp", "s") // short, as addresses of sockets are
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(top)
			t.Setenv("TMPDIR", top)
			shared := filepath.Join(top, "settle-executor-"+strconv.Itoa(os.Getuid()))
			if err := tt.make(shared); err != nil {
				t.Fatal(err)
			}
			want := shared
			if tt.own {
				want = "/home/me/.settle-executor"
			}
			s := &streams{getenv: func(name string) string { return map[string]string{"HOME": "/home/me"}[name] }}
			if got := s.sockets(); got != want {
				t.Errorf("the sockets are in %q, want %q", got, want)
			}
		})
	}
}
