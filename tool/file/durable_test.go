package file

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/disk"
)

// The new file is on stable storage before it replaces the old one, and its name
// afterwards.
func TestReplacingIsDurable(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(real, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := load(t.Context(), place{Place: disk.At(dir, real, real)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var steps []string
	s.syncs = func(path string, sync func() error) error {
		there, err := os.ReadFile(real)
		if err != nil {
			t.Fatal(err)
		}
		what := "temporary file"
		if path == dir {
			what = "directory"
		} else if !strings.HasPrefix(filepath.Base(path), ".settle-") {
			what = path
		}
		steps = append(steps, what+" while there is "+string(there))
		return sync()
	}
	if err := replace(t.Context(), s, []byte("new")); err != nil {
		t.Fatal(err)
	}
	want := []string{"temporary file while there is old", "directory while there is new"}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("syncs (-want +got):\n%s", diff)
	}
}
