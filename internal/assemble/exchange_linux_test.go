package assemble

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
)

// A command that can change the folder around the working directory cannot exchange the
// working directory for a link: settle's own tools find it by its name.
func TestWorkingDirectoryCannotBeExchanged(t *testing.T) {
	if !confines(t) {
		return
	}
	var work, top string
	a := inSandbox(t, settle.Ask, "[sandbox]\nwrite = ['~/src']\n", func(o *Options) {
		top = variable(o.Environ, "HOME")
		work = filepath.Join(top, "src/deep/work")
		if err := os.MkdirAll(work, 0o755); err != nil {
			t.Fatal(err)
		}
		o.Dir = work
	}, commands(
		"cd .. && mv work old; ln -sn ~/.ssh work; cd ../.. && mv src/deep src/other; "+
			"mkdir -p src/deep; ln -s ~/.ssh src/deep/work; echo tried",
		"echo x > ../beside; echo tried",
	))
	for _, call := range outputs(t, a) {
		if got := call.Content().Output; !strings.Contains(got, "tried") {
			t.Errorf("the command: %q", got)
		}
	}
	if info, err := os.Lstat(work); err != nil || !info.IsDir() {
		t.Errorf("the working directory: %v, %v", info, err)
	}
	c := a.Session.Confinement
	_, err := os.Stat(filepath.Join(top, "src/deep/beside"))
	if slices.Contains(c.By, "mounts") != (err == nil) {
		t.Errorf("the folder around it: %v, %+v", err, c)
	}
}

// A repository counts as read-only only if it is: also the main repository of a worktree, in
// a folder that commands can change.
func TestKeptRepositoriesAreReadOnly(t *testing.T) {
	if !confines(t) {
		return
	}
	var config string
	a := inSandbox(t, settle.Ask, "[sandbox]\nwrite = ['~/repos']\n", func(o *Options) {
		git := filepath.Join(variable(o.Environ, "HOME"), "repos/main/.git")
		config = filepath.Join(git, "config")
		if err := os.RemoveAll(filepath.Join(o.Dir, ".git")); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{
			filepath.Join(git, "HEAD"): "ref: refs/heads/main\n", config: "[core]\n\trepositoryformatversion = 0\n",
			filepath.Join(git, "objects/none"): "", filepath.Join(git, "refs/none"): "",
			filepath.Join(git, "worktrees/w/HEAD"):      "ref: refs/heads/w\n",
			filepath.Join(git, "worktrees/w/commondir"): "../..\n",
			filepath.Join(git, "worktrees/w/gitdir"):    filepath.Join(o.Dir, ".git") + "\n",
			filepath.Join(o.Dir, ".git"):                "gitdir: " + filepath.Join(git, "worktrees/w") + "\n",
		} {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}, commands("printf '\\tfsmonitor = evil\\n' >> ~/repos/main/.git/config; echo tried"))
	output := outputs(t, a)[0].Content().Output
	if got, err := os.ReadFile(config); err == nil && strings.Contains(string(got), "evil") {
		t.Errorf("the configuration of the main repository: %q; the output: %q", got, output)
	}
}

// Files that git obeys are read-only also where settle knows no ordinary repository: git can
// know one.
func TestObeyedFilesWithoutOrdinaryRepository(t *testing.T) {
	if !confines(t) {
		return
	}
	for name, tt := range map[string]struct{ head, link, global string }{
		"SHA-256":       {head: strings.Repeat("ab", 32) + "\n"},
		"behind a link": {head: "ref: refs/heads/main\n", link: "gd"},
		"none":          {global: "[include]\n\tpath = WORK/proj.inc\n[core]\n\thooksPath = WORK/.githooks # mine\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var work string
			a := inSandbox(t, settle.Ask, "", func(o *Options) {
				work = o.Dir
				mustWrite(t, filepath.Join(work, ".githooks/pre-commit"), "mine")
				mustWrite(t, filepath.Join(work, "proj.inc"), "mine")
				if tt.global != "" {
					if err := os.RemoveAll(filepath.Join(work, ".git")); err != nil {
						t.Fatal(err)
					}
					text := strings.ReplaceAll(tt.global, "WORK", work)
					mustWrite(t, filepath.Join(filepath.Dir(work), ".gitconfig"), text)
					return
				}
				mustWrite(t, filepath.Join(work, ".git/HEAD"), tt.head)
				mustWrite(t, filepath.Join(work, ".git/config"),
					"[core]\n\thooksPath = .githooks # shared\n[include]\n\tpath = ../proj.inc\n")
				if tt.link != "" {
					if err := os.Rename(filepath.Join(work, ".git"), filepath.Join(work, tt.link)); err != nil {
						t.Fatal(err)
					}
					if err := os.Symlink(tt.link, filepath.Join(work, ".git")); err != nil {
						t.Fatal(err)
					}
				}
			}, commands(
				"for f in .githooks/pre-commit proj.inc .git/config gd/config; do echo evil >> $f; done; echo tried",
			))
			output := outputs(t, a)[0].Content().Output
			if !slices.Contains(a.Session.Confinement.By, "mounts") {
				return // a reported gap
			}
			for _, name := range []string{".githooks/pre-commit", "proj.inc", ".git/config"} {
				if got, err := os.ReadFile(filepath.Join(work, name)); err == nil &&
					strings.Contains(string(got), "evil") {
					t.Errorf("%s: %q; the output: %q", name, got, output)
				}
			}
		})
	}
}
