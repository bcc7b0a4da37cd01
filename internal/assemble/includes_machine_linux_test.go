//go:build linux && machine

package assemble

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/executor"
)

// Git works in the sandbox with configurations that include others: the user's own apply, without
// their credentials if secrets are withheld. A repository's configuration cannot have commands
// read files of the user, and an included file that they cannot read does not stop git.
func TestGitInSandboxWithIncludes(t *testing.T) {
	if !confines(t) {
		return
	}
	base := t.TempDir()
	dir, home := filepath.Join(base, "work"), filepath.Join(base, "home")
	for name, text := range map[string]string{
		"home/.gitconfig": "[include]\n\tpath = ~/.gitconfig.local\n\tpath = missing\n" +
			"[includeIf \"gitdir:" + dir + "/\"]\n\tpath = id/work\n[include]\n\tpath = ~/.ssh/git\n",
		"home/.gitconfig.local": "[alias]\n\tlocal = !echo alias-of-local\n[http]\n\textraheader = " + planted + "\n",
		"home/id/work":          "[include]\n\tpath = ../deep\n",
		"home/deep":             "[alias]\n\tdeep = !echo alias-of-deep\n",
		"home/.ssh/git":         "[alias]\n\tssh = " + planted + "-ssh\n",
		"home/private":          "[alias]\n\tprivate = " + planted + "-private\n",
		"work/.gitconfig":       "[alias]\n\ttree = !echo alias-of-tree\n",
		"work/.ssh/git":         "[alias]\n\tdir = " + planted + "-dir\n",
		"work/.aws/deep/git":    "[alias]\n\taws = " + planted + "-aws\n",
		"work/.git/creds":       "[http]\n\textraheader = " + planted + "-creds\n",
		"work/f":                "1\n",
	} {
		path := filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	command(t, dir, env, "git init -q . && git add f && git config include.path ../.gitconfig && "+
		"git config --add include.path ../.ssh/git && git config --add include.path ../.aws/deep/git && "+
		"git config --add include.path creds && git config --add include.path "+home+"/private")
	o := ExecutorOptions{
		Settings: resolve(t, "/", nil, nil, ""), Dir: dir, Environ: env,
		Getenv: func(name string) string { return variable(env, name) },
	}
	stand, discard := o.Stand()
	t.Cleanup(func() {
		if err := discard(); err != nil {
			t.Error(err)
		}
	})
	for _, kind := range []event.Sandbox{event.ReadOnly, event.Workspace} {
		policy, _, err := stand.Local(nil, "").Sandbox(executor.Confined{Sandbox: kind, Dir: dir})
		if err != nil || slices.Contains(policy.Read, home+"/private") ||
			slices.Contains(policy.Read, home+"/.ssh/git") {
			t.Errorf("%s grants by its name a file that a repository includes: %v, %q", kind, err, policy.Read)
		}
		for _, secrets := range []event.Secrets{"", event.SecretsWithheld} {
			var out strings.Builder
			p, err := stand.Local(nil, "").Start(t.Context(), executor.Command{
				Script: "git status --short && git local && git deep && git tree; git config --list; cat " + home +
					"/.gitconfig.local .git/creds " + home + "/private " + home + "/.ssh/git",
				Dir: dir, Sandbox: kind, Secrets: secrets, Output: &out,
			})
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			got := out.String()
			for _, want := range []string{"A  f", "alias-of-local", "alias-of-deep", "alias-of-tree", "alias.deep="} {
				if !strings.Contains(got, want) {
					t.Errorf("%s, secrets %q: no %q in\n%s", kind, secrets, want, got)
				}
			}
			if strings.Contains(got, planted+"-private") || strings.Contains(got, planted+"-ssh") ||
				secrets == event.SecretsWithheld && strings.Contains(got, planted) {
				t.Errorf("%s, secrets %q: a secret in\n%s", kind, secrets, got)
			}
		}
	}
}

func command(t *testing.T, dir string, env []string, script string) {
	t.Helper()
	run := exec.CommandContext(t.Context(), "sh", "-c", script)
	run.Dir, run.Env = dir, env
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
