//go:build unix

package policy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// spellings are the scripts of testdata/destructive.txt.
func spellings(t *testing.T) (list []string) {
	t.Helper()
	raw, err := os.ReadFile("testdata/destructive.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if !strings.HasPrefix(line, "#") {
			list = append(list, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), `\n`, "\n"))
		}
	}
	return list
}

// files is the number of files in the folder docs of a test.
const files = 12

// docsFolder makes a directory with a folder of files, which a repository has if added.
func docsFolder(t *testing.T, added bool) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "docs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for n := range files {
		if err := os.WriteFile(filepath.Join(dir, "docs", strconv.Itoa(n+1)+".md"), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bash(t, dir, "git init -q --template= && git commit -q --allow-empty -m first && git tag first")
	if added {
		bash(t, dir, "git add docs && git commit -qm docs")
	}
	return dir
}

// copied returns a copy of a directory.
func copied(t *testing.T, dir string) string {
	t.Helper()
	c := t.TempDir()
	if err := os.CopyFS(c, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return c
}

func bash(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(
		os.Environ(), "HOME="+dir, "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=b",
	)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Logf("%s: %v: %s", script, err, out)
	}
}

// unchanged returns the number of unchanged files.
func unchanged(dir string) (n int) {
	for i := range files {
		data, err := os.ReadFile(filepath.Join(dir, "docs", strconv.Itoa(i+1)+".md"))
		if err == nil && string(data) == "x\n" {
			n++
		}
	}
	return n
}

// The question names all reasons: each destructive command, and the paths outside of the
// working directory.
func TestDestructiveReasons(t *testing.T) {
	dir := newCalmDir(t)
	const rm, push = "rm -r deletes folders with all that is in them", "changes the repository that it pushes to"
	for script, want := range map[string]string{
		"rm -rf build && rm -r dist; rm -rf x": rm,
		"rm -rf build ~/x && git push --force origin main": rm + "; git push " + push +
			"; ~/x is outside of the working directory",
		"bash -c 'rm -rf ../x; git push' && rm -rf " + dir + "/docs": rm + "; git push " + push +
			"; ../x is outside of the working directory",
		"rm -rf /opt/x; make": rm + "; /opt/x is outside of the working directory",
	} {
		if got := sandboxed(t, dir, script, policy.Mode{}).Why; got != want {
			t.Errorf("%q: got %q, want %q", script, got, want)
		}
	}
}

// Without a sandbox, the danger is the first reason of the question.
func TestDestructiveReasonComesFirst(t *testing.T) {
	dir := newCalmDir(t)
	call := shell(t, "rm -rf build; for x in a; do :; done")
	const want = "rm -r deletes folders with all that is in them; "
	if j := newPolicy(t, dir, policy.Config{}).Judge(call); !strings.HasPrefix(j.Why, want) {
		t.Errorf("%+v", j)
	}
}

// A part that a rule allows is no reason, and the other parts of the script still are.
func TestDestructiveReasonsOfPartlyAllowedScripts(t *testing.T) {
	dir := newCalmDir(t)
	const rm, push = "rm -r deletes folders with all that is in them", "changes the repository that it pushes to"
	for script, want := range map[string][2]bool{
		"git status && rm -rf build":       {true, false},
		"git push --force && rm -rf build": {true, false},
		"git push --force && make":         {false, false},
		"make && rm -rf build":             {true, false},
	} {
		p := newPolicy(t, dir, policy.Config{Rules: []config.Rule{rule("shell", "git *", event.Allow)}})
		j := p.Judge(shell(t, script))
		got := [2]bool{strings.HasPrefix(j.Why, rm), strings.Contains(j.Why, push)}
		if j.Decision != event.Ask || got != want {
			t.Errorf("%q: %+v", script, j)
		}
	}
}

// A command that deletes or overwrites many files with the real bash is asked about, also
// in a sandbox, in every mode that asks.
func TestDestructiveCommandsAsk(t *testing.T) {
	dir, destroyed := newCalmDir(t), 0
	_, noBash := exec.LookPath("bash")
	_, noGit := exec.LookPath("git")
	runs := noBash == nil && noGit == nil // the tag machine promises both
	swept := policy.Mode{Name: "auto", Permission: event.Ask}
	swept.Rules = append(swept.Rules, rule("shell", "", event.Allow))
	var folders map[bool]string // by whether a repository has the files
	if runs {
		folders = map[bool]string{false: docsFolder(t, false), true: docsFolder(t, true)}
	}
	for _, script := range spellings(t) {
		for _, mode := range []policy.Mode{{}, {Name: "accept-edits", Permission: event.Ask}, swept} {
			if j := sandboxed(t, dir, script, mode); j.Decision != event.Ask || j.Why == "" {
				t.Errorf("%q in mode %q: %+v", script, mode.Name, j)
			}
		}
		if !runs {
			continue
		}
		committed := strings.Contains(script, "git") && !strings.Contains(script, "clean")
		work := copied(t, folders[committed])
		if bash(t, work, script); unchanged(work) == 0 {
			destroyed++
		} else if strings.Contains(script, "rm -r") {
			t.Errorf("%q deletes nothing with bash: the case proves nothing", script)
		}
	}
	if all := len(spellings(t)); runs && destroyed*10 < all*9 {
		t.Errorf("only %d of %d scripts destroy the files", destroyed, all)
	}
	for _, script := range []string{
		"make && git push origin main", "make && git push --force", "make; git rebase main", "npx rimraf dist",
		"make; git commit --amend --no-edit", "git branch -D x || make", "make; git restore .", "make && git tag -d v1",
		"dd if=/dev/zero of=disk.img", "make; git reflog expire --all", "sudo rm -rf dist",
		"make && git -C sub checkout -- .", "make && git stash clear", "make; git -C x push --force",
		"make; git $X main", "rm -r x)", "make; git rebase --exec 'rm -rf docs' main", "$X -rf docs",
		"for x in a b; do git -C $x push; done",
	} {
		if j := sandboxed(t, dir, script, policy.Mode{}); j.Decision != event.Ask || j.Why == "" {
			t.Errorf("%q: %+v", script, j)
		}
	}
}

// Ordinary work in a sandbox needs no approval; neither does anything that a rule of the
// user allows, or that runs where nobody can be asked.
func TestOrdinaryCommandsDoNotAsk(t *testing.T) {
	dir := newCalmDir(t)
	for _, script := range []string{
		"make", "go test ./...", "npm run clean", "npm run rm", "rm one.txt", "rm -f a.txt b.txt",
		"cargo build --release", "sed -i s/a/b/ x.go", "perl -pe 1 *.go > x", "find . -name '*.go' -newer x > y",
		"mkdir -p a/b && touch a/b/c",
		"cp -r src dst", "mv a b", "tar xf a.tar", "python3 -c 'print(1)'", "for f in *.go; do gofmt -l $f; done",
		"make && git status", "git clean -n > x", "rsync -r a/ b/", "firm -r x > y", "rmdir -p a/b", "make clean",
		"make; echo \"rm -r x\"", "make; git commit -m 'rm -r x, git push --force' || true", "make # rm -rf docs",
		"grep -rn rmtree src > y", "cat > x.sh <<'E'\nrm -rf docs\nE\n", "sed -i 's/[a-z]*/x/' a.txt",
		"printf 'git push --force' > notes", "X=ls; $X -l",
		"git checkout --help > x", "truncate -s 0 log", "make; git push --dry-run", "git clone -b main u d",
	} {
		if j := sandboxed(t, dir, script, policy.Mode{}); j.Decision != event.Allow || !j.Sandbox.On() {
			t.Errorf("%q: %+v", script, j)
		}
	}
	for _, mode := range []policy.Mode{{Unasked: "never"}, {Permission: event.Allow}} {
		if j := sandboxed(t, dir, "rm -rf docs", mode); j.Decision != event.Allow {
			t.Errorf("mode %+v: %+v", mode, j)
		}
	}
	allowed := rule("shell", "rm *", event.Allow)
	if j := sandboxed(t, dir, "rm -rf docs", policy.Mode{}, allowed); j.Decision != event.Allow {
		t.Errorf("with a rule: %+v", j)
	}
}
