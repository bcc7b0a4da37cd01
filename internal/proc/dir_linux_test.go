package proc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/test/swap"
)

// A command in the background exchanges the directory of another one, or one above it,
// for a link while that starts. It starts in the directory that was judged, or not at all.
func TestCommandStartsInTheJudgedDirectoryUnderSwaps(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"work/a/b", "outside/b"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, dir, "mark"), []byte(dir), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"work/to-a": "outside", "work/to-b": "outside/b"} {
		if err := os.Symlink(filepath.Join(top, to), filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	spec := sh("cat mark")
	spec.Dir, spec.RealDir = filepath.Join(top, "work/a/b"), true
	run := func() (string, error) {
		out := newSink()
		spec.Stdout = out
		p, err := Start(t.Context(), spec)
		if err != nil {
			return "", err
		}
		<-p.Done()
		return out.String(), nil
	}
	for name, names := range map[string][2]string{"the directory": {"work/a/b", "work/to-b"}, "one above": {"work/a", "work/to-a"}} {
		s := swap.Start(t, filepath.Join(top, names[0]), filepath.Join(top, names[1]))
		for range swap.Calls(60) {
			if got, err := run(); err == nil && got != "work/a/b" {
				t.Fatalf("%s: the command worked in %q after %d exchanges", name, got, s.Rounds())
			}
		}
		if s.Stop(); s.Rounds() == 0 {
			t.Errorf("%s: nothing was exchanged", name)
		}
		if got, err := run(); err != nil || got != "work/a/b" {
			t.Errorf("%s: afterwards: %q, %v", name, got, err)
		}
	}
	if err := os.Rename(filepath.Join(top, "work/to-b"), filepath.Join(top, "work/c")); err != nil {
		t.Fatal(err)
	}
	spec.Dir = filepath.Join(top, "work/c")
	if got, err := run(); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("in a link: %q, %v", got, err)
	}
}
