package skills_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/skills"
)

// tree writes files below a new directory and returns it. The content "-> x" makes a link
// to x.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if target, link := strings.CutPrefix(content, "-> "); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func text(name, about string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nDo it.\n", name, about)
}

// sources returns the sources of a user whose home is root/home, in root/repo/a.
func sources(root string) skills.Sources {
	s := skills.UserSources(filepath.Join(root, "home/.config/settle/config.toml"), func(name string) string {
		return map[string]string{"HOME": filepath.Join(root, "home")}[name]
	})
	s.Project = repo.Trust{}.Project(filepath.Join(root, "repo/a"))
	return s
}

func TestFind(t *testing.T) {
	root := tree(t, map[string]string{
		"repo/.git/HEAD":                              "",
		"repo/.claude/skills/build/SKILL.md":          text("build", "of the root"),
		"repo/.agents/skills/group/deploy/SKILL.md":   text("deploy", "in a group"),
		"repo/a/.codex/skills/build/SKILL.md":         text("build", "of a"),
		"repo/a/.settle/skills/own/SKILL.md":          text("own", "settle's"),
		"repo/b/.claude/skills/elsewhere/SKILL.md":    text("elsewhere", "not on the way"),
		"repo/.claude/skills/escape/SKILL.md":         "-> ../../../../secret/SKILL.md",
		"repo/.claude/skills/out":                     "-> ../../../secret",
		"repo/.claude/skills/notes.md":                "no skill",
		"repo/.claude/skills/empty/README.md":         "no skill",
		"secret/SKILL.md":                             text("secret", "private"),
		"home/.config/settle/skills/mine/SKILL.md":    text("mine", "the user's"),
		"home/.agents/skills/build/SKILL.md":          text("build", "the user's"),
		"home/.agents/skills/loop":                    "-> ../skills",
		"home/.claude/skills/linked":                  "-> ../../dotfiles/linked",
		"home/.codex/skills/.system/inner/SKILL.md":   text("inner", "Codex's own"),
		"home/.codex/skills/linked":                   "-> ../../dotfiles/linked",
		"home/.codex/skills/same/SKILL.md":            text("own", "settle's"),
		"home/.codex/skills/broken/SKILL.md":          "---\nname: 'broken\n---\n",
		"home/.codex/skills/headless/SKILL.md":        "Do it.",
		"home/.codex/skills/silent/SKILL.md":          "---\nname: silent\ndescription: x\n---\n",
		"home/.codex/skills/nameless/SKILL.md":        "---\ndescription: by its folder\n---\nx",
		"home/.codex/skills/about/SKILL.md":           "---\nname: about\n---\nx",
		"home/.codex/skills/Big Name/SKILL.md":        "---\ndescription: x\n---\nx",
		"home/.codex/skills/folder/SKILL.md/x":        "",
		"home/.codex/skills/huge/SKILL.md":            text("huge", strings.Repeat("x", 257<<10)),
		"dotfiles/linked/SKILL.md":                    text("wrong", "not seen"),
		"home/dotfiles/linked/SKILL.md":               text("linked", "kept elsewhere"),
		"home/.claude/skills/a/b/c/d/e/f/SKILL.md":    text("deep", "too deep"),
		"home/.claude/skills/node_modules/x/SKILL.md": text("modules", "not to be found"),
	})
	f := skills.Find(sources(root))
	var got []string
	for _, s := range f.Skills {
		got = append(got, fmt.Sprintf("%s: %s (%s, project %v)%s", s.Name, s.About,
			strings.TrimPrefix(s.Path, root+"/"), s.Project, strings.Join(s.Warnings, ";")))
	}
	want := []string{
		"build: of a (repo/a/.codex/skills/build/SKILL.md, project true)",
		"deploy: in a group (repo/.agents/skills/group/deploy/SKILL.md, project true)",
		"inner: Codex's own (home/.codex/skills/.system/inner/SKILL.md, project false)",
		"linked: kept elsewhere (home/.claude/skills/linked/SKILL.md, project false)",
		"mine: the user's (home/.config/settle/skills/mine/SKILL.md, project false)",
		"nameless: by its folder (home/.codex/skills/nameless/SKILL.md, project false)it has no name: it is called by the name of its folder",
		"own: settle's (repo/a/.settle/skills/own/SKILL.md, project true)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	problems := func(list []skills.Problem) (out []string) {
		for _, p := range list {
			out = append(out, strings.ReplaceAll(p.Error(), root+"/", ""))
		}
		return out
	}
	if diff := cmp.Diff([]string{
		"repo/.claude/skills/build/SKILL.md: it is hidden by the skill of the same name in repo/a/.codex/skills/build",
		"home/.agents/skills/build/SKILL.md: it is hidden by the skill of the same name in repo/a/.codex/skills/build",
	}, problems(f.Hidden)); diff != "" {
		t.Errorf("hidden (-want +got):\n%s", diff)
	}
	broken := strings.Join(problems(f.Broken), "\n")
	for _, want := range []string{
		`repo/.claude/skills/escape/SKILL.md: it is a link out of the project, to "secret/SKILL.md"`,
		`repo/.claude/skills/out/SKILL.md: it is a link out of the project`,
		"broken/SKILL.md: the head is no valid YAML", "headless/SKILL.md: it does not begin with a head",
		"silent/SKILL.md: it says nothing after its head",
		"about/SKILL.md: it has no description", `Big Name/SKILL.md: its name "Big Name" is not of small letters`,
		"folder/SKILL.md\" is a directory",
		"huge/SKILL.md: it has 263",
	} {
		if !strings.Contains(broken, want) {
			t.Errorf("%q is not in\n%s", want, broken)
		}
	}
	if n := strings.Count(broken, "\n") + 1; n != 9 {
		t.Errorf("%d broken:\n%s", n, broken)
	}
}

func TestOtherConfigurationFolders(t *testing.T) {
	root := tree(t, map[string]string{
		"c/skills/one/SKILL.md": text("one", "x"),
		"x/skills/two/SKILL.md": text("two", "x"),
	})
	f := skills.Find(skills.UserSources("", func(name string) string {
		return map[string]string{
			"CLAUDE_CONFIG_DIR": filepath.Join(root, "c"),
			"CODEX_HOME":        filepath.Join(root, "x"), "HOME": "relative",
		}[name]
	}))
	if len(f.Skills) != 2 || len(f.Broken) > 0 {
		t.Errorf("%v", f)
	}
}

func TestWarnings(t *testing.T) {
	root := tree(t, map[string]string{"home/.claude/skills/folder/SKILL.md": "---\nname: another-\ndescription: " +
		strings.Repeat("é", 1025) +
		"\ncompatibility: " + strings.Repeat("x", 501) +
		"\nlicense: MIT\nmetadata: {author: me}\nmodel: opus\ncontext: fork\nallowed-tools: Bash(git:*) Read\nuser-invocable: false\ndisable-model-invocation: true\n---\nx"})
	s := skills.Find(sources(root)).Skills[0]
	want := []string{
		`its name differs from the name of its folder, "folder"`,
		"its name is not words of small letters and digits with one - between them",
		"its description has 1025 characters; the format allows 1024",
		"its compatibility has 501 characters; the format allows 500",
		"settle does not use its model", "settle does not use its context",
	}
	if diff := cmp.Diff(want, s.Warnings); diff != "" {
		t.Error(diff)
	}
	if s.Model || s.User || s.License != "MIT" || s.Metadata["author"] != "me" || len(s.AllowedTools) != 2 {
		t.Errorf("%+v", s)
	}
}

func TestLoad(t *testing.T) {
	root := tree(t, map[string]string{
		"home/.claude/skills/x/SKILL.md":        "---\nname: x\ndescription: y\nallowed-tools: Bash(rm:*)\n---\nRead ${CLAUDE_SKILL_DIR}/a.md about $ARGUMENTS, awk '{print $2}'.\n",
		"home/.claude/skills/x/scripts/run.sh":  "",
		"home/.claude/skills/x/a.md":            "",
		"home/.claude/skills/hands/SKILL.md":    "---\nname: hands\ndescription: y\ndisable-model-invocation: true\n---\nDo it.\n",
		"home/.claude/skills/broken-1/SKILL.md": "x",
	})
	f := skills.Find(sources(root))
	l, err := f.Load("x")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(l.Text(""), root, "ROOT")
	want := "<skill name=\"x\">\nRead ROOT/home/.claude/skills/x/a.md about , awk '{print $2}'.\n</skill>\n\n" +
		"[Its folder is ROOT/home/.claude/skills/x; paths in it are relative to that. Beside SKILL.md it has: a.md, scripts/run.sh. " +
		"Its allowed-tools (Bash(rm:*)) are not in force: calls are judged as without it.]"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if body := l.Body("a b"); !strings.Contains(body, "about a b, awk '{print b}'") {
		t.Error(body)
	}
	for name, want := range map[string]string{
		"hands": "only the user can call", "none": `no skill "none"; the skills are: x`, "broken-1": "cannot be used",
	} {
		if _, err := f.Load(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	hands, _ := skills.Named(f.Skills, "hands")
	if l, err := hands.Load(); err != nil || l.Body("now") != "Do it.\n\nARGUMENTS: now" {
		t.Errorf("%v, %q", err, l.Body("now"))
	}
	// Load returns the current content; a missing file is an error.
	if err := os.WriteFile(l.Path, []byte(text("x", "new")), 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := f.Load("x"); err != nil || l.Body("") != "Do it." {
		t.Errorf("%v", err)
	}
	if err := os.Remove(l.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load("x"); err == nil || !strings.Contains(err.Error(), "cannot load") {
		t.Errorf("%v", err)
	}
}

func TestFill(t *testing.T) {
	for _, tt := range []struct{ text, arguments, want string }{
		{"$ARGUMENTS", "a b", "a b"},
		{"$1 and $2, $3", `one "two words"`, "one and two words, "},
		{"$0 and $1", "one two", "one and two"},
		{"$ARGUMENTS[1] $ARGUMENTS[0] $1", "one two", "two one two"},
		{"$FILE in $DIR", `FILE=a.go "x y"`, "a.go in $DIR"},
		{"costs $$5 $1", "x", "costs $5 x"},
		{"$1", "$2 $ARGUMENTS", "$2"},
		{"$10 $ARGUMENTSX", "x", "$10 $ARGUMENTSX"},
		{"nothing", "x", "nothing"},
		{"$HOME", "x", "$HOME"},
	} {
		if got, _ := skills.Fill(tt.text, tt.arguments); got != tt.want {
			t.Errorf("%q with %q: %q, want %q", tt.text, tt.arguments, got, tt.want)
		}
	}
	if _, ok := skills.Fill("nothing $HOME", "x"); ok || skills.HasPlaces("$HOME") || !skills.HasPlaces("$1") {
		t.Error("places")
	}
	if diff := cmp.Diff([]skills.Word{{"a", 0, 1}, {"b c", 2, 7}, {"it's", 9, 13}, {"K=v w", 14, 21}, {"", 22, 24}},
		skills.Words(`a "b c"  it's K="v w" ''`)); diff != "" {
		t.Error(diff)
	}
}

func TestCatalog(t *testing.T) {
	if section, note := skills.Catalog([]skills.Skill{{Name: "x", About: "y"}}); section != "" || note != "" {
		t.Errorf("%q, %q: the model may not call it", section, note)
	}
	many := func(n, about int) (out []skills.Skill) {
		for i := range n {
			out = append(out, skills.Skill{
				Name: fmt.Sprintf("skill-%03d", i), About: strings.Repeat("é", about/2),
				Model: true,
			})
		}
		return out
	}
	for _, tt := range []struct {
		n, about, lines int
		note            string
	}{
		{1, 10, 1, ""},
		{7, 1024, 7, ""},
		{20, 1024, 20, "cut in the prompt"},
		{300, 1024, 101, "199 of 300 skills are left out"},
	} {
		section, note := skills.Catalog(many(tt.n, tt.about))
		if n := strings.Count(section, "\n- "); n != tt.lines || len(section) > 9<<10 ||
			!strings.Contains(note, tt.note) || tt.note == "" && note != "" {
			t.Errorf("%d of %d bytes: %d lines, %d bytes, %q", tt.n, tt.about, n, len(section), note)
		}
	}
}
