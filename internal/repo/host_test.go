package repo_test

import (
	"os"
	"testing"

	"github.com/settle-agent/settle/internal/repo"
)

// URLs with a name or address of this machine are told from those of other machines.
func TestIsThisMachine(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for remote, want := range map[string]bool{
		"ssh://" + name + "/x": true, "git@" + name + ":x": true, "ssh://u@" + name + ".local:22/x": true,
		"ssh://localhost/x": true, "ssh://[::1]:22/x": true, "127.0.0.2:x": true, "git+ssh://a@0.0.0.0/x": true,
		"ssh://" + name + ".example.com/x": false, "git@github.com:a/b": false,
		"https://example.com/a@localhost/": false,
		"./a":                              false, "../" + name + ":x": false, "ssh://192.0.2.1/x": false,
		"ssh://localhost.example.com/x": false,
	} {
		if got := repo.IsThisMachine(remote); got != want {
			t.Errorf("%s: %v, want %v", remote, got, want)
		}
	}
}
