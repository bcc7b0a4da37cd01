package askertest

import (
	"os"
	"path/filepath"
	"testing"
)

// Ceiling is a configured permission, and the outcome of a call with effects under it if the client
// requests that all calls run.
type Ceiling struct {
	User string // permission
	// Asks reports that a client is asked. If it is false, Runs reports whether the call runs or is
	// refused.
	Asks bool
	Runs bool
}

// Ceilings returns the configurations. If the user has configured none, the client's request
// applies.
func Ceilings() []Ceiling {
	return []Ceiling{{"deny", false, false}, {"ask", true, false}, {"allow", false, true}, {"", false, true}}
}

// Touch is a command that leaves a file, [Made], and arguments of shell.
const (
	Touch = `{"command":"touch made"}`
	Made  = "made"
)

// Configure writes the user's configuration into a home directory.
func (c Ceiling) Configure(t *testing.T, home string) {
	t.Helper()
	if c.User == "" {
		return
	}
	dir := filepath.Join(home, ".config", "settle")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(
		filepath.Join(dir, "config.toml"), []byte("permission = '"+c.User+"'\n"), 0o600,
	); err != nil {
		t.Fatal(err)
	}
}

// Check checks whether the call ran and whether it was asked about.
func (c Ceiling) Check(t *testing.T, dir string, questions int) {
	t.Helper()
	_, err := os.Stat(filepath.Join(dir, Made))
	if runs := err == nil; runs != c.Runs || (questions > 0) != c.Asks {
		t.Errorf(
			"the user configured %q, the client wished for everything: asked %d times, ran: %v",
			c.User,
			questions,
			runs,
		)
	}
}
