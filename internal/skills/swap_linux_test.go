package skills_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/skills"
	"github.com/settle-agent/settle/internal/test/swap"
)

// swapCalls is the number of calls in a race.
const swapCalls = 400

// A background command replaces a name by a link out of the project while a skill is
// loaded. Neither its text nor the names of its files come from outside.
func TestSkillsNeverComeFromOutsideUnderSwaps(t *testing.T) {
	for name, names := range map[string][2]string{
		"the file":       {"repo/a/.settle/skills/x/SKILL.md", "repo/a/to-file"},
		"its folder":     {"repo/a/.settle/skills/x", "repo/a/to-folder"},
		"a folder above": {"repo/a/.settle/skills", "repo/a/to-skills"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := tree(t, map[string]string{
				"repo/.git/HEAD": "", "repo/a/.settle/skills/x/SKILL.md": text("x", "inside"), "repo/a/.settle/skills/x/a.md": "",
				"outside/x/SKILL.md": text("x", "PRIVATE"), "outside/x/private.md": "",
				"repo/a/to-file": "-> ../../../../../outside/x/SKILL.md", "repo/a/to-folder": "-> ../../../../outside/x", "repo/a/to-skills": "-> ../../../outside",
			})
			of := sources(root)
			found := skills.Find(of)
			s := swap.Start(t, filepath.Join(root, names[0]), filepath.Join(root, names[1]))
			loaded := 0
			for range swap.Calls(swapCalls) {
				if l, err := found.Load("x"); err == nil {
					if loaded++; l.About != "inside" || slices.Contains(l.Files, "private.md") {
						t.Fatalf(
							"the skill %q is loaded with the files %q after %d exchanges", l.About, l.Files, s.Rounds(),
						)
					}
				}
				for _, one := range skills.Find(of).Skills {
					if one.About != "inside" {
						t.Fatalf("the skill %q is found after %d exchanges", one.About, s.Rounds())
					}
				}
			}
			if s.Stop(); loaded == 0 {
				t.Error("the skill was never loaded")
			}
		})
	}
}

// A folder behind a link lists its files; the search does not enter a project's link out of
// the project.
func TestSkillsInLinkedFolders(t *testing.T) {
	root := tree(t, map[string]string{
		"repo/.git/HEAD": "", "repo/shared/x/SKILL.md": text("x", "shared"), "repo/shared/x/a.md": "", "repo/a/.settle/skills/x": "-> ../../../shared/x",
		"outside/deep/y/SKILL.md": text(
			"y", "outside",
		), "repo/a/.agents/skills": "-> ../../../outside", "home/.claude/skills": "-> ../../outside",
	})
	found := skills.Find(sources(root))
	l, err := found.Load("x")
	if err != nil || !slices.Equal(l.Files, []string{"a.md"}) {
		t.Errorf("%v, %q", err, l.Files)
	}
	if y, err := found.Load("y"); err != nil || y.Project {
		t.Errorf("the user's own link is not followed: %v", err)
	}
	for _, p := range found.Broken {
		if strings.Contains(p.Path, "deep") {
			t.Errorf("a project's link out of it was walked through: %v", p)
		}
	}
}
