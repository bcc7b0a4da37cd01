package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/config"
)

// A user who can write the data directory or the configuration decides which programs
// settle runs: neither can be open to another user.
func TestLoadRefusesDirectoriesOfOthers(t *testing.T) {
	home := t.TempDir()
	data, configs := filepath.Join(home, ".local/share/settle"), filepath.Join(home, ".config/settle")
	file := filepath.Join(configs, "config.toml")
	if err := errors.Join(os.MkdirAll(data, 0o700), os.MkdirAll(configs, 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	load := func() error {
		_, err := config.Load(
			config.Input{
				GOOS:          "linux",
				Dir:           home,
				ProjectConfig: config.IgnoreProject,
				Getenv: func(name string) string {
					return map[string]string{"HOME": home}[name]
				},
			},
		)
		return err
	}
	if err := load(); err != nil {
		t.Fatal(err)
	}
	refused := func(path, fix string) {
		t.Helper()
		if err := load(); err == nil || !strings.Contains(err.Error(), fix+" '"+path+"'") {
			t.Errorf("%s: %v, want the command %q", path, err, fix)
		}
	}
	for _, path := range []string{data, configs, file} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, info.Mode()|0o002); err != nil {
			t.Fatal(err)
		}
		refused(path, "chmod go-w")
		if err := os.Chmod(path, info.Mode()); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 { // only root can change the owner of a file
			if err := os.Chown(path, 12345, 12345); err != nil {
				t.Fatal(err)
			}
			refused(path, "sudo chown -R 0")
			if err := os.Chown(path, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := load(); err != nil {
		t.Error(err)
	}
}
