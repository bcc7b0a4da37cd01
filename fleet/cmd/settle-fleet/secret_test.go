package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/redact"
)

// dump returns what pg_dump writes of a database.
func dump(t *testing.T, url string) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	if err != nil || len(found) == 0 {
		t.Fatal("there is no pg_dump", err)
	}
	out, err := exec.CommandContext(t.Context(), found[len(found)-1], "--dbname", url).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// TestSubmittedKeysAreNotStored: what the submitter's configuration knows as a key is
// masked in what people write, and refused in what would not work without it (C15).
func TestSubmittedKeysAreNotStored(t *testing.T) {
	home(t)
	const key = "sk-0123456789abcdefghijkl" // home's
	const header = "header-value-0123456789"
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization="+header)
	must(t, "", "migrate")
	must(t, "", "submit", "--session", "a", "--label", "note="+key, "use", key, "and", header)
	must(t, `{"session":"b","prompt":"with `+key+`","labels":{"x":"`+header+`"}}`+"\n", "submit", "-f", "-")
	for _, args := range [][]string{
		{"--session", key},
		{"--input", key},
		{"--batch", key, "--budget-usd", "1"},
		{"--tenant", key},
		{"--label", key + "=x"},
		{"--model", key},
		{"--executor", "ssh " + key},
		{"-C", "/" + key},
		{"--repo", "https://" + key + "@example.org/x.git"},
		{"--repo", "/x", "--ref", key},
	} {
		code, out, errs := command(t, "", append([]string{"submit", "hello"}, args...)...)
		if code == 0 || !strings.Contains(errs, "contains a key") || strings.Contains(out+errs, key) {
			t.Errorf("%q: exit code %d\n%s", args[0], code, errs)
		}
	}
	text := dump(t, os.Getenv(databaseVar))
	for _, secret := range []string{key, header} {
		if strings.Contains(text, secret) {
			t.Errorf("the database has %q", secret)
		}
	}
	for _, want := range []string{"use " + redact.Mask + " and " + redact.Mask, "with " + redact.Mask} {
		if !strings.Contains(text, want) {
			t.Errorf("the database has no %q", want)
		}
	}
}
