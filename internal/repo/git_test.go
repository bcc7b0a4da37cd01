package repo_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/repo"
)

func TestFindGit(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"a/.git/HEAD", "a/.git/objects/x", "a/.git/refs/x", "a/sub/x", "bare/HEAD", "bare/objects/x", "bare/refs/x",
		"bare/sub/x", "odd/.git/HEAD",
	} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("ref: refs/heads/main\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if g, err := repo.FindGit(filepath.Join(root, "a", "sub")); err != nil || g.Top != filepath.Join(root, "a") ||
		g.Own != filepath.Join(root, "a", ".git") {
		t.Errorf("below a repository: %+v, %v", g, err)
	}
	for _, name := range []string{"bare", "bare/sub", "odd"} {
		if g, err := repo.FindGit(filepath.Join(root, name)); err == nil {
			t.Errorf("%s is taken for %+v", name, g)
		}
	}
}

// Index reads the index that git writes.
func TestIndex(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		return // nothing to compare with
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := func(dir string, args ...string) {
		cmd := exec.Command(git, append([]string{"-c", "user.name=x", "-c", "user.email=x@y"}, args...)...)
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + root, "PATH=/usr/bin:/bin"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	var want []string
	for _, name := range []string{".env", "a", "bb", "ccc", "dddd/eeeee", "ffffff", "ggggggg", "hhhhhhhh"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, name)
	}
	run(root, "init", "-q")
	run(root, "add", ".")
	run(root, "add", "-N", "a")
	g, err := repo.FindGit(root)
	if err != nil {
		t.Fatal(err)
	}
	if x, err := g.Index(); err != nil || x.Submodules || !slices.Equal(x.Names, want) {
		t.Errorf("%+v, %v", x, err)
	}
	module := filepath.Join(root, "zz")
	if err := os.MkdirAll(module, 0o755); err != nil {
		t.Fatal(err)
	}
	run(module, "init", "-q")
	run(module, "commit", "-q", "--allow-empty", "-m", "x")
	run(root, "add", "zz")
	if x, err := g.Index(); err != nil || !x.Submodules || !slices.Equal(x.Names, append(want, "zz")) {
		t.Errorf("with a submodule: %+v, %v", x, err)
	}
	run(root, "update-index", "--index-version", "4")
	if x, err := g.Index(); err == nil {
		t.Errorf("version 4: %+v", x)
	}
}

// Check refuses a configuration by which a command that only reads starts a program, such as the
// verification of signatures.
func TestCheckRefusesConfigurationsThatStartPrograms(t *testing.T) {
	check := func(text string) error {
		common := t.TempDir()
		if err := os.WriteFile(filepath.Join(common, "config"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return repo.Git{Own: common, Common: common}.Check()
	}
	for _, text := range []string{
		"[format]\n\tpretty = %G?\n", "[format]\n\tpretty = oneline\n", "[gpg]\n\tformat = ssh\n",
		"[tag]\n\tsort = sig\"nature\"\n", "[tag]\n\tsort = version:refname\n", "[branch]\n\tsort = signature\n",
		"[branch]\n\tsort = sig\"nature\"\n", "[branch]\n\tsort = \"-si\"gnature\n", "[submodule]\n\trecurse\n",
		"[core]\n\tprotectHFS = false\n", "[core]\n\tprotectNTFS = false\n", "[feature]\n\texperimental\n",
		"[gui]\n\tspellingDictionary = x\n", "[rerere]\n\tother = x\n", "[i18n]\n\tother = x\n",
	} {
		if err := check(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for _, text := range []string{
		"", "[branch]\n\tsort = \"-committerdate\"\n", "[rerere]\n\tenabled = true\n", "[gui]\n\twmstate = normal\n",
		"[i18n]\n\tcommitEncoding = utf-8\n", "[url \"ssh://git@example.com/\"]\n\tinsteadOf = https://example.com/\n",
		"[feature]\n\tmanyFiles = true\n", "[branch \"signature\"]\n\tmerge = refs/heads/main\n",
		"[remote \"origin\"]\n\turl = git@x:signature/y\n", "[user]\n\tname = signature\n",
		"[branch \"main\"]\n\tdescription = signature-work\n", "[core]\n\tabbrev = 7 # signature\n",
	} {
		if err := check(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"[branch]\n\tsort = -signature:grade\n": "the value asks git to verify signatures",
		"[format]\n\tpretty = oneline\n":        "format.pretty, a key that settle does not know",
		"[core] bare = true\n":                  "which settle cannot read",
	} {
		if err := check(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
