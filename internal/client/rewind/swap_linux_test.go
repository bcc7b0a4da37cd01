package rewind

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/test/swap"
)

// swapCalls is the number of calls in a race.
const swapCalls = 60

// A command in the background exchanges the file, or a folder above it, for a link out
// of the working directory while files are restored. Nothing outside is read or written.
func TestRewindStaysInsideUnderSwaps(t *testing.T) {
	for name, names := range map[string][2]string{
		"the file":       {"a/b/f", "link-to-file"},
		"its folder":     {"a/b", "link-to-b"},
		"a folder above": {"a", "link-to-a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := work(t, map[string]string{"a/b/f": "before\n", "a/b/gone": "before\n"})
			b.turns(
				[]call{
					edit("a/b/f", "before", "after"),
					write("a/b/new", "after\n"),
					patch("*** Delete File: a/b/gone"),
				},
			)
			outside := t.TempDir()
			// as settle left them, so that they would be restored
			for name, text := range map[string]string{"b/f": "after\n", "b/new": "after\n"} {
				if err := os.MkdirAll(filepath.Join(outside, "b"), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(outside, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for name, to := range map[string]string{"link-to-file": "b/f", "link-to-b": "b", "link-to-a": ""} {
				if err := os.Symlink(filepath.Join(outside, to), b.path(name)); err != nil {
					t.Fatal(err)
				}
			}
			p := b.plan("")
			root, err := openRoot(b.dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			s := swap.Start(t, b.path(names[0]), b.path(names[1]))
			for round := range swap.Calls(swapCalls) {
				for n := range p.Files {
					p.Files[n].isInTree = round%2 == 1 // as if a command had changed them
				}
				p.Check(t.Context())
				for _, f := range p.Changes() {
					content, _ := p.content("")
					if f.Was != nil {
						content, _ = p.content(f.Was.SHA256)
					}
					_ = f.restore(t.Context(), root, f.Left, f.Was, content) // most fail
					_ = f.restore(t.Context(), root, f.Was, f.Left, []byte("after\n"))
				}
				wantUntouched(t, outside, s)
			}
			s.Stop()
		})
	}
}

func wantUntouched(t *testing.T, outside string, s *swap.Swapper) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(outside, "b"))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(outside, "b", e.Name()))
		if err != nil || string(text) != "after\n" {
			t.Fatalf("%s outside has %q, %v, after %d exchanges", e.Name(), text, err, s.Rounds())
		}
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "f new" {
		t.Fatalf("outside has %s, after %d exchanges", got, s.Rounds())
	}
}
