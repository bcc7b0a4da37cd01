package commands_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/client/commands"
	"github.com/settle-agent/settle/internal/repo"
	"github.com/settle-agent/settle/internal/skills"

	"github.com/google/go-cmp/cmp"
)

// sources writes files below root and returns the skill sources of a user whose home is root/home
// and whose working directory is root/repo.
func sources(t *testing.T, files map[string]string) (root string, s skills.Sources) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if target, link := strings.CutPrefix(text, "-> "); link {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	s = skills.UserSources(filepath.Join(root, "home/.config/settle/config.toml"), func(name string) string {
		return map[string]string{"HOME": filepath.Join(root, "home")}[name]
	})
	s.Project = repo.Trust{}.Project(filepath.Join(root, "repo"))
	return root, s
}

func find(s skills.Sources) commands.Set { return commands.Find(s, skills.Find(s)) }

func TestFind(t *testing.T) {
	root, s := sources(t, map[string]string{
		"home/.config/settle/commands/review.md":     "---\ndescription: Review a change\nargument-hint: \"WHAT\"\n---\nReview $ARGUMENTS with care.\n",
		"home/.config/settle/commands/plain.md":      "# Say hello\nto everybody",
		"home/.config/settle/commands/git/commit.md": "Commit $1 as $2.",
		"home/.config/settle/commands/Not A Name.md": "x",
		"home/.config/settle/commands/empty.md":      "---\ndescription: nothing\n---\n",
		"home/.config/settle/commands/other.txt":     "x",
		"home/.config/settle/commands/bad.md":        "---\na: 'b\n---\nx",
		"home/.config/settle/commands/huge.md":       strings.Repeat("x", 257<<10),
		"home/.claude/commands/plain.md":             "hidden",
		"home/.codex/prompts/draft.md":               "---\ndescription: Draft a change\nargument-hint: FILE=<path>\n---\nDraft $FILE for $$5 with $1.",
		"home/.codex/prompts/sub/not.md":             "Codex reads no folders.",
		"home/.codex/commands/not.md":                "x",
		"home/.claude/skills/tidy/SKILL.md":          "---\nname: tidy\ndescription: Tidy up\nargument-hint: [dir]\n---\nTidy $ARGUMENTS.",
		"home/.claude/skills/inner/SKILL.md":         "---\nname: inner\ndescription: Not for people\nuser-invocable: false\n---\nx",
		"repo/.claude/commands/tidy.md":              "hidden by the skill",
		"repo/.claude/commands/status.md":            "---\nallowed-tools: Bash(git status:*)\nmodel: haiku\n---\nState: !`git status`, see @README.md\n",
		"repo/.settle/commands/own.md":               "settle's",
		"repo/.agents/commands/not.md":               "no agent reads this",
		"repo/.claude/commands/out.md":               "-> ../../../secret.md",
		"secret.md":                                  "private",
	})
	set := find(s)
	var got []string
	for _, c := range set.List {
		with, err := c.Expand("a b c")
		without, again := c.Expand("")
		if err != nil || again != nil {
			t.Error(err, again)
		}
		text := fmt.Sprintf(
			"%s|%s|%s|%v|%s|%s|%s", c.Name, c.Hint, c.About, c.Project, with, without,
			strings.Join(c.Warnings, ";"),
		)
		got = append(got, strings.ReplaceAll(text, root, "ROOT"))
	}
	folder := "\n</skill>\n\n[Its folder is ROOT/home/.claude/skills/tidy; paths in it are relative to that.]"
	unrun := "\n\n[Where this says !`…`, another agent would have put the output of that command. It was not run: run it yourself if you need to know.]"
	want := []string{
		"draft|FILE=<path>|Draft a change|false|Draft $FILE for $5 with a.|Draft $FILE for $5 with .|",
		"git:commit|[ARGUMENTS]|Commit $1 as $2.|false|Commit a as b.|Commit  as .|",
		"own||settle's|true|settle's\n\na b c|settle's|",
		"plain||Say hello|false|# Say hello\nto everybody\n\na b c|# Say hello\nto everybody|",
		"review|WHAT|Review a change|false|Review a b c with care.|Review  with care.|",
		"status||State: !`git status`, see @README.md|true|State: !`git status`, see @README.md\n\na b c" + unrun +
			"|State: !`git status`, see @README.md" + unrun +
			"|settle does not use its allowed-tools;settle does not use its model;the commands in it (!`…`) are left to the model",
		"tidy|[dir]|Tidy up|false|Use the skill \"tidy\", which I have called.\n\n<skill name=\"tidy\">\nTidy a b c." + folder +
			"|Use the skill \"tidy\", which I have called.\n\n<skill name=\"tidy\">\nTidy ." + folder + "|",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	problems := strings.ReplaceAll(errors.Join(append(set.Broken, set.Hidden...)...).Error(), root, "ROOT")
	for _, want := range []string{
		"Not A Name.md", "empty.md", "bad.md", "huge.md", "out of the project",
		"tidy.md: it is hidden by ROOT/home/.claude/skills/tidy", ".claude/commands/plain.md: it is hidden",
	} {
		if !strings.Contains(problems, want) {
			t.Errorf("%q is not in\n%s", want, problems)
		}
	}
	if strings.Contains(problems, "private") {
		t.Error(problems)
	}
}

func TestNothing(t *testing.T) {
	if set := find(skills.Sources{}); len(set.List) > 0 || len(set.Broken) > 0 || len(set.Hidden) > 0 {
		t.Errorf("%v", set)
	}
}

func TestExpand(t *testing.T) {
	_, s := sources(t, map[string]string{
		"home/.claude/commands/a/b.md":      "Do $ARGUMENTS.",
		"home/.claude/skills/gone/SKILL.md": "---\ndescription: x\n---\nx",
	})
	set := find(s)
	for text, want := range map[string]string{
		"/a:b":          "Do .",
		"/a:b x  y":     "Do x  y.",
		"/a:b\nx\ny":    "Do x\ny.",
		" /a:b":         " /a:b",
		"/a":            "/a",
		"/a:b/c":        "/a:b/c",
		"/usr/bin is a": "/usr/bin is a",
		"hello":         "hello",
		"/":             "/",
		"":              "",
	} {
		if got, err := set.Expand(text); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	gone, _ := set.Named("gone")
	if err := os.Remove(gone.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Expand("/gone"); err == nil {
		t.Error("a skill that is gone was called")
	}
}
