package prompt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/test/swap"
)

// swapCalls is the number of calls in a race.
const swapCalls = 400

// A background command replaces a name by a link out of the project while settle reads
// instructions. Nothing from outside reaches the prompt.
func TestInstructionsNeverComeFromOutsideUnderSwaps(t *testing.T) {
	for name, names := range map[string][2]string{
		"the file":        {"r/w/a/b/AGENTS.md", "r/w/file"},
		"its folder":      {"r/w/a/b", "r/w/folder"},
		"a folder above":  {"r/w/a", "r/w/above"},
		"an import":       {"r/w/a/b/notes.md", "r/w/file"},
		"an import's dir": {"r/w/docs", "r/w/folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, map[string]string{
				"r/.git/HEAD": "", "r/w/a/b/AGENTS.md": "inside @notes.md @../../docs/AGENTS.md", "r/w/a/b/x.go": "", "r/w/a/b/notes.md": "notes", "r/w/docs/AGENTS.md": "docs",
				"outside/AGENTS.md": "PRIVATE", "outside/b/AGENTS.md": "PRIVATE", "outside/b/x.go": "", "outside/b/notes.md": "PRIVATE",
				"r/w/file": "-> ../../outside/AGENTS.md", "r/w/folder": "-> ../../outside", "r/w/above": "-> ../../outside",
			})
			w := filepath.Join(root, "r/w")
			sources := prompt.Sources{Project: repo.Trust{}.Project(w)}
			s := swap.Start(t, filepath.Join(root, names[0]), filepath.Join(root, names[1]))
			look := func() (read int) {
				for _, one := range prompt.Nested(sources, []string{filepath.Join(w, "a/b/x.go")}) {
					if read++; strings.Contains(one.Text, "PRIVATE") {
						t.Fatalf("the prompt has what is outside, as %s, after %d exchanges", one.Path, s.Rounds())
					}
				}
				return read
			}
			for range swap.Calls(swapCalls) {
				look()
			}
			if s.Stop(); look() == 0 || s.Rounds() == 0 {
				t.Errorf("nothing was read after %d exchanges", s.Rounds())
			}
		})
	}
}
