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
