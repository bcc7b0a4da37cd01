//go:build unix

package plugins

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A project can have a directory with the name of an address, except on Windows, where names have
// no colon.
func TestParseSourcePrefersAddressToDirectory(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"https:/host/a", "https:/host/a@v1", "HTTPS:/host/a", "ssh:/git@host/a", "git@host:a", "git@host:a@v1",
		"https:/host:x/a",
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]Source{
		"https://host/a":     {Where: "https://host/a", Git: true},
		"https://host/a@v1":  {Where: "https://host/a", Git: true, Ref: "v1"},
		"HTTPS://host/a":     {Where: "HTTPS://host/a", Git: true},
		"ssh://git@host/a":   {Where: "ssh://git@host/a", Git: true},
		"git@host:a":         {Where: "git@host:a", Git: true},
		"git@host:a@v1":      {Where: "git@host:a", Git: true, Ref: "v1"},
		"./https://host/a":   {Where: filepath.Join(dir, "https:", "host", "a")},
		"./git@host:a":       {Where: filepath.Join(dir, "git@host:a")},
		dir + "/https:/host": {Where: filepath.Join(dir, "https:", "host")},
	} {
		if got, err := ParseSource(dir, text); err != nil || got != want {
			t.Errorf("%q is %+v, want %+v: %v", text, got, want, err)
		}
	}
	if got, err := ParseSource(dir, "https://host:x/a"); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("%+v, %v", got, err)
	}
}
