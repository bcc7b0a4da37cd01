package prompt_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/prompt"
	"github.com/settle-agent/settle/internal/repo"
)

// imported returns the titles of a prompt's files, and its notes, without their directory.
func imported(p prompt.Prompt, root string) (titles []string, notes string) {
	for line := range strings.Lines(p.Text) {
		if title, is := strings.CutPrefix(line, "## "); is {
			titles = append(titles, strings.TrimSpace(strings.ReplaceAll(title, root+"/", "")))
		}
	}
	return titles, strings.ReplaceAll(strings.Join(p.Notes, "\n"), root+"/", "")
}

// The rules of https://code.claude.com/docs/en/memory: paths are relative to the file, five
// hops, not in code.
func TestImports(t *testing.T) {
	deep := map[string]string{"AGENTS.md": "@1.md"}
	for n := 1; n < 8; n++ {
		deep[string(rune('0'+n))+".md"] = "number " + string(rune('0'+n)) + " @" + string(rune('1'+n)) + ".md"
	}
	for name, tt := range map[string]struct {
		files map[string]string // files of the project
		want  []string          // in addition to AGENTS.md
		note  string
	}{
		"relative to the file": {
			map[string]string{
				"AGENTS.md": "See @docs/a.md, and @./docs/c.md.", "docs/a.md": "a @b.md",
				"docs/b.md": "b", "docs/c.md": "c", "b.md": "no",
			},
			[]string{
				"docs/a.md (imported by AGENTS.md)", "docs/b.md (imported by docs/a.md)",
				"docs/c.md (imported by AGENTS.md)",
			},
			"",
		},
		"five hops": {deep, []string{
			"1.md (imported by AGENTS.md)", "2.md (imported by 1.md)",
			"3.md (imported by 2.md)", "4.md (imported by 3.md)", "5.md (imported by 4.md)",
		}, ""},
		"in a circle": {
			map[string]string{"AGENTS.md": "@a.md", "a.md": "a @b.md", "b.md": "b @a.md @AGENTS.md"},
			[]string{"a.md (imported by AGENTS.md)", "b.md (imported by a.md)"},
			"",
		},
		"in code": {
			map[string]string{
				"a.md": "a", "b.md": "b",
				"AGENTS.md": "`@a.md` and ``x ` @a.md`` and a `span\n@a.md of two lines`\n\n```sh\n@a.md\n```\n\n~~~~\n@a.md\n~~~\n@a.md\n~~~~\n\n    @a.md\n\n<!-- @a.md\n-->\n\nbut ` @b.md",
			},
			[]string{"b.md (imported by AGENTS.md)"},
			"",
		},
		"in a list": {
			map[string]string{"a.md": "a", "AGENTS.md": "- one\n\n    - @a.md\n"},
			[]string{"a.md (imported by AGENTS.md)"},
			"",
		},
		"words that are none": {
			map[string]string{
				"AGENTS.md": "ask @somebody, me@a.md, @types/node, @docs, @./none.md, @ a.md",
				"a.md":      "a", "docs/x": "",
			}, nil, "",
		},
		"a blank, a heading, another end": {
			map[string]string{
				"AGENTS.md": `@my\ notes.md (@a.md) @b.md#part ` + "\n@c.txt", "my notes.md": "n",
				"a.md": "no", "b.md": "b", "c.txt": "c",
			},
			[]string{
				"my notes.md (imported by AGENTS.md)", "b.md (imported by AGENTS.md)",
				"c.txt (imported by AGENTS.md)",
			},
			"",
		},
		"out of the project": {
			map[string]string{
				"AGENTS.md": "@../outside.md @~/own.md @/etc/hostname-none @link.md",
				"link.md":   "-> ../outside.md",
			},
			nil,
			"AGENTS.md imports outside.md, which was left out: it is outside of the project",
		},
		"secrets": {
			map[string]string{"AGENTS.md": "@.env @name.md @.git/HEAD", ".env": "TOKEN=x", "name.md": "-> .env"},
			nil,
			"by its name it holds secrets",
		},
		"git's directory": {map[string]string{
			"AGENTS.md":   "@.GIT/config",
			".GIT/config": "url = https://me:word@example.com",
		}, nil, "it is in .git"},
		"a link to secrets": {
			map[string]string{"AGENTS.md": "x", "CLAUDE.local.md": "-> .env", ".env": "TOKEN=x"},
			nil,
			"CLAUDE.local.md was left out: by its name it holds secrets",
		},
		"binary": {map[string]string{"AGENTS.md": "@a.png", "a.png": "a\x00b"}, nil, "it is not text"},
		"large": {
			map[string]string{"AGENTS.md": "@a.md", "a.md": strings.Repeat("0123456789abcde\n", 1<<12)},
			[]string{"a.md (imported by AGENTS.md)"},
			"a.md is cut in the prompt: 32768 of 65536 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"r/.git/HEAD": "", "outside.md": "outside", "home/own.md": "own"}
			for name, text := range tt.files {
				files["r/"+name] = text
			}
			root := tree(t, files)
			o := options(filepath.Join(root, "r"))
			o.Home = filepath.Join(root, "home")
			o.Secret = func(path string) bool { return filepath.Base(path) == ".env" }
			p := prompt.Build(o)
			titles, notes := imported(p, filepath.Join(root, "r"))
			if diff := cmp.Diff(append([]string{"AGENTS.md"}, tt.want...), titles); diff != "" {
				t.Error(diff)
			}
			if notes = strings.ReplaceAll(notes, root+"/", ""); tt.note == "" && notes != "" ||
				!strings.Contains(notes, tt.note) {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			if again := prompt.Build(o); again.Text != p.Text {
				t.Error("the same files give another prompt") // C21
			}
		})
	}
}

// The user's own instructions can import any file, and come first.
func TestUser(t *testing.T) {
	root := tree(t, map[string]string{
		"r/.git/HEAD": "", "r/AGENTS.override.md": "instead", "r/AGENTS.md": "not this", "r/CLAUDE.local.md": "mine",
		"r/a/AGENTS.md": " ", "r/a/.claude/CLAUDE.md": "in a folder", "r/a/b/CLAUDE.md": "@../../AGENTS.override.md",
		"home/.claude/CLAUDE.md": "claude @~/notes.md @.env", "home/notes.md": "notes", "home/.claude/.env": "TOKEN=x",
		"home/.codex/AGENTS.override.md": "", "home/.codex/AGENTS.md": "codex",
	})
	home := filepath.Join(root, "home")
	o := options(filepath.Join(root, "r/a/b"))
	o.Home, o.Secret = home, func(path string) bool { return filepath.Base(path) == ".env" }
	o.User = [][]string{
		{filepath.Join(home, ".claude/CLAUDE.md")},
		{"", filepath.Join(home, ".codex/AGENTS.override.md"), filepath.Join(home, ".codex/AGENTS.md")},
	}
	titles, notes := imported(prompt.Build(o), root)
	want := []string{
		"home/.claude/CLAUDE.md", "home/notes.md (imported by home/.claude/CLAUDE.md)", "home/.codex/AGENTS.md",
		"r/CLAUDE.local.md", "r/a/.claude/CLAUDE.md", "r/a/b/CLAUDE.md",
		"r/AGENTS.override.md (imported by r/a/b/CLAUDE.md)",
	}
	if diff := cmp.Diff(want, titles); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(notes, "imports home/.claude/.env, which was left out") || strings.Contains(notes, "r/") {
		t.Errorf("notes: %s", notes)
	}
	if only := prompt.User(o); !strings.HasPrefix(only.Text, "# The user's own instructions\n\n") ||
		strings.Contains(only.Text, "project's instructions") {
		t.Errorf("only the user's: %s", only.Text)
	}
	nested := prompt.Nested(prompt.Sources{Project: repo.Trust{}.Project(filepath.Join(root, "r"))},
		[]string{filepath.Join(root, "r/a/b")})
	if len(nested) != 3 || nested[2].Text != "instead" {
		t.Errorf("below the directory: %+v", nested)
	}
}

// The path of a project does not make its files secret.
func TestProjectInPlaceOfSecrets(t *testing.T) {
	root := tree(t, map[string]string{
		"gcloud/r/.git/HEAD": "", "gcloud/r/AGENTS.md": "first @a.md",
		"gcloud/r/a.md": "second",
	})
	o := options(filepath.Join(root, "gcloud/r"))
	o.Secret = func(path string) bool { return strings.Contains(path, "gcloud/") }
	if p := prompt.Build(o); len(p.Files) != 2 || len(p.Notes) != 0 {
		t.Errorf("%q, notes %q", p.Files, p.Notes)
	}
}

// A project cannot make the prompt, or the time to read it, grow without bound.
func TestImportsAreBounded(t *testing.T) {
	files := map[string]string{"r/.git/HEAD": ""}
	all := func(dir string) (text string) {
		for n := range 20 {
			text += fmt.Sprintf("@%s%d.md\n", dir, n)
		}
		return text
	}
	for n := range 20 {
		files[fmt.Sprintf("r/%d.md", n)] = all(fmt.Sprintf("%d/", n))
		for m := range 20 {
			files[fmt.Sprintf("r/%d/%d.md", n, m)] = fmt.Sprintf("%d and %d", n, m)
		}
	}
	files["r/AGENTS.md"] = all("")
	p := prompt.Build(options(filepath.Join(tree(t, files), "r")))
	if len(p.Files) != 101 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "at most 100 files are imported") {
		t.Errorf("%d files, notes %q", len(p.Files), p.Notes)
	}
}

// A project file that the user imports does not become the user's own instruction.
func TestUserImportsProject(t *testing.T) {
	root := tree(t, map[string]string{
		"r/.git/HEAD": "", "r/notes.md": "notes @~/private.md @more.md", "r/more.md": "more",
		"home/.claude/CLAUDE.md": "@~/link.md", "home/link.md": "-> ../r/notes.md", "home/private.md": "private",
		"home/more.md": "home",
	})
	o := options(filepath.Join(root, "r"))
	o.Home = filepath.Join(root, "home")
	o.User = [][]string{{filepath.Join(o.Home, ".claude/CLAUDE.md")}}
	p := prompt.Build(o)
	if strings.Contains(p.Text, "private\n") || !strings.Contains(p.Text, "notes @~/private.md") ||
		!strings.Contains(strings.Join(p.Notes, "\n"), "it is outside of the project") {
		t.Errorf("%s\nnotes: %q", p.Text, p.Notes)
	}
}
