package prompt_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/internal/repo"
)

func TestNested(t *testing.T) {
	root := tree(t, map[string]string{
		"secret": "private", "r/.git/HEAD": "", "r/AGENTS.md": "root", "r/w/AGENTS.md": "w",
		"r/w/a/AGENTS.md": "in a", "r/w/a/b/CLAUDE.md": "in b\n", "r/w/a/b/x.go": "", "r/w/c/x.go": "",
		"r/w/c/AGENTS.md":     "-> ../../../secret",
		"r/w/empty/AGENTS.md": " \n", "r/w/node_modules/p/AGENTS.md": "of a dependency",
		"r/w/other/.git": "gitdir: x", "r/w/other/AGENTS.md": "of another repository",
		"r/w/other/sub/AGENTS.md": "of another repository", "r/w/link": "-> a", "r/w/out": "-> ../../outside",
		"outside/AGENTS.md": "outside", "r/beside/AGENTS.md": "beside",
		"r/w/huge/AGENTS.md": strings.Repeat("0123456789abcde\n", 1<<12),
	})
	w := filepath.Join(root, "r/w")
	for name, tt := range map[string]struct {
		places, want []string
	}{
		"a file":             {[]string{"a/b/x.go"}, []string{"a/AGENTS.md: in a", "a/b/CLAUDE.md: in b"}},
		"a folder, twice":    {[]string{"a", "a/b", "a/"}, []string{"a/AGENTS.md: in a", "a/b/CLAUDE.md: in b"}},
		"not there yet":      {[]string{"a/new/x.go"}, []string{"a/AGENTS.md: in a"}},
		"the directory":      {[]string{".", "x.go", ""}, nil},
		"outside":            {[]string{"../beside/x.go", "../../outside/x.go", "out/x.go"}, nil},
		"a link in it":       {[]string{"link/b/x.go"}, nil},
		"a link out of it":   {[]string{"c/x.go"}, []string{"c: c/AGENTS.md was left out: it is a link out"}},
		"an empty one":       {[]string{"empty/x.go"}, nil},
		"dependencies":       {[]string{"node_modules/p/x.js"}, nil},
		"another repository": {[]string{"other/x.go", "other/sub/x.go"}, nil},
		"a huge one":         {[]string{"huge/x"}, []string{"huge/AGENTS.md: 0123"}},
	} {
		t.Run(name, func(t *testing.T) {
			var places, got []string
			for _, p := range tt.places {
				places = append(places, filepath.Join(w, p))
			}
			for _, one := range prompt.Nested(prompt.Sources{Project: repo.Trust{}.Project(w)}, places) {
				rel, err := filepath.Rel(w, one.Path)
				if err != nil || len(one.Text) > 33<<10 {
					t.Errorf("%v, %d bytes", err, len(one.Text))
				}
				if strings.HasPrefix(rel, "huge") {
					one.Text = one.Text[:4]
				}
				if note, ok := strings.CutPrefix(one.Text, "[Not all of its files are used: "+w+"/"); ok {
					one.Text, _, _ = strings.Cut(note, " of the project")
				}
				got = append(got, filepath.ToSlash(rel)+": "+one.Text)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := prompt.Nested(prompt.Sources{}, []string{filepath.Join(w, "a")}); got != nil {
		t.Errorf("of a project that may not speak: %v", got)
	}
}
