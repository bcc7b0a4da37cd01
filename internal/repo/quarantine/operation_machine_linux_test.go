//go:build linux && machine

package quarantine

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shellIn runs a script in a folder with the configurations of a new user.
func shellIn(t testing.TB, dir, script string) (output string, err error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "bash", "-ec", script)
	c.Dir = dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_EDITOR=true",
		"GIT_AUTHOR_NAME=a o'b", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=c", "GIT_COMMITTER_EMAIL=c@d",
	}
	out, err := c.CombinedOutput()
	return string(out), err
}

func mustShellIn(t testing.TB, dir, script string) {
	t.Helper()
	if out, err := shellIn(t, dir, script); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// diverged makes a repository with two branches that conflict, and a program.
const diverged = `git init -q -b main n && cd n
commit() { echo $1 >f; git add f; git commit -qm $1; }
commit base; git checkout -qb side; commit one; commit two; git checkout -q main; commit three
printf '#!/bin/sh\ntouch "$HOME/planted"\n' >evil.sh; chmod +x evil.sh
`

// An unfinished operation whose files make git start a program is moved aside, in each form in which
// git reads the files.
func TestGuardMovesOperationsThatStartPrograms(t *testing.T) {
	const (
		pick   = "git cherry-pick side~1 side || true\n"
		rebase = "git rebase --onto main side~1 side || true\n"
	)
	for name, tt := range map[string]struct{ plant, proceed string }{
		"a key in capitals": {
			pick + `mkdir git-merge-x; printf '[options]\n\tStrategy = x/../evil.sh\n' >.git/sequencer/opts`,
			"git cherry-pick --skip",
		},
		"a section in capitals": {
			pick + `mkdir git-merge-x; printf '[OPTIONS]\n\tstrategy = x/../evil.sh\n' >.git/sequencer/opts`,
			"git cherry-pick --skip",
		},
		"one line": {
			pick + `mkdir git-merge-x; printf '[options] strategy = x/../evil.sh\n' >.git/sequencer/opts`,
			"git cherry-pick --skip",
		},
		"a continued line": {
			pick + `mkdir git-merge-x; printf '[options]\n\tstrategy = x/..\\\n/evil.sh\n' >.git/sequencer/opts`,
			"git cherry-pick --skip",
		},
		"a blank in a strategy": {
			rebase + `mkdir "git-merge-ort "; printf 'ort /../evil.sh' >.git/rebase-merge/strategy
			printf 'pick %s x\n' $(git rev-parse side) >.git/rebase-merge/git-rebase-todo`,
			"git checkout -q -f . && git rebase --skip",
		},
		"a command": {rebase + `echo 'x ./evil.sh' >.git/rebase-merge/git-rebase-todo`, "git rebase --skip"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := real(t)
			mustShellIn(t, dir, diverged+tt.plant)
			_, _ = shellIn(t, dir, "cp -a n copy; cd copy; "+tt.proceed) // it fails at the conflict
			if err := os.Remove(filepath.Join(dir, "planted")); err != nil {
				t.Fatal("git itself starts no program: ", err)
			}
			mustShellIn(t, dir, "mv n/.git old; rm -rf copy; mkdir -p n")
			g := guarded(t, filepath.Join(dir, "n"))
			mustShellIn(t, dir, "mv old n/.git")
			found := g.Check(t.Context())
			if len(found) != 1 || found[0].Moved == "" {
				t.Errorf("found %v", found)
			}
			out, _ := shellIn(t, filepath.Join(dir, "n"), "export HOME=..; "+tt.proceed)
			if _, err := os.Stat(filepath.Join(dir, "planted")); err == nil {
				t.Errorf("git started the program:\n%s", out)
			}
		})
	}
}

// Unfinished operations of git that start no program stay.
func TestGuardLeavesOperationsOfGit(t *testing.T) {
	for _, operation := range []string{
		"git cherry-pick -x --keep-redundant-commits -X patience -X find-renames=40% --strategy=recursive side~1 side",
		"git cherry-pick --strategy=resolve --allow-empty -m 1 side~1 side",
		"git revert --no-commit --edit side~1 side", "git revert side~1 side",
		"git rebase -X theirs -X diff-algorithm=patience --no-ff main side",
		"git rebase --strategy=ort --strategy-option=subtree=a/b main side",
		"git -c sequence.editor='sed -i s/pick/edit/' rebase -i --rebase-merges --autosquash main side",
		"git rebase --apply --whitespace=fix -C2 --ignore-whitespace main side",
		"git format-patch -q --stdout main..side >m; git am -3 --signoff -p1 --reject m",
		"git bisect start side side~2 -- f \"a'b!\"", "git merge side",
		"echo dirty >g; git add g; git rebase --autostash main side",
	} {
		t.Run(operation, func(t *testing.T) {
			dir := real(t)
			g := guarded(t, dir)
			mustShellIn(t, dir, diverged+"("+operation+") || true")
			if found := g.Check(t.Context()); found != nil {
				t.Errorf("found %v", found)
			}
			list, _ := filepath.Glob(filepath.Join(dir, "n/.git/*"))
			if names := strings.Join(list, " "); !regexp.MustCompile("_HEAD|rebase-|BISECT_").MatchString(names) {
				t.Errorf("no unfinished operation: %q", list)
			}
		})
	}
}
