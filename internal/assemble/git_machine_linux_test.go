//go:build machine

package assemble

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/internal/proc"
)

// everyday are the git commands that the user runs afterwards: with a terminal, so that
// pagers start, and without GIT_EDITOR, so that editors start.
var everyday = []string{
	"status", "diff", "log -p -2", "show", "blame file", "branch -a", "tag -l", "submodule status", "worktree list", "clean -nd", "stash list",
	"add -A", "commit -m one --allow-empty", "commit --allow-empty --amend", "stash", "stash pop", "checkout -b side", "switch -", "merge side",
	"fetch --all", "pull", "push", "push origin HEAD:refs/heads/x", "rebase --continue", "rebase -i HEAD~1", "submodule update --init", "submodule foreach true",
	"cherry-pick HEAD", "gc", "status --short", "ls-files", "st", "co",
}

// everydayScript runs the commands until one of them runs a planted program. It leaves out what
// cannot run one: commands that git refuses where it finds no work tree, and git's submodule,
// a slow shell script, where there is none.
const everydayScript = `
run() { "$@" </dev/null; [ ! -s "$RAN" ] || exit 0; }
submodules() { [ -e .gitmodules ] || git ls-files -s | grep -q ^160000; }
git rev-parse --show-toplevel >/dev/null 2>&1 && tree=yes
while read -r command; do
  set -- $command
  case $1 in
    log | show | branch | tag | worktree | gc | ls-files | st | co) run git "$@" ;;
    fetch | push) run timeout 5 git "$@" ;; # ssh can ask the terminal
    pull) [ -z "$tree" ] || run timeout 5 git "$@" ;;
    submodule) [ -z "$tree" ] || ! submodules || run timeout 5 git "$@" ;;
    *) [ -z "$tree" ] || run git "$@" ;;
  esac
done <<<"$EVERYDAY"
`

// planting is an attempt of a sandboxed command to make git run $EVIL later.
type planting struct {
	name string
	// before prepares the user's repository, and script is the command.
	before, script string
}

// usersScript makes a script of the user.
const usersScript = "mkdir scripts; echo '#!/bin/sh' >scripts/pc; chmod +x scripts/pc; "

const evilConfig = `evil() { git -C "$1" config core.fsmonitor "$EVIL" 2>/dev/null || git --git-dir="$1" config core.fsmonitor "$EVIL"; }; `

var plantings = []planting{
	{
		"a copy of .git, and commondir",
		"",
		`cp -r .git g2; printf '[core]\nfsmonitor = %s\n' "$EVIL" >>g2/config; chmod u+w .git; echo ../g2 >.git/commondir`,
	},
	{
		"commondir in a new repository",
		"",
		`git init -q n; cp -r n/.git c; printf '[core]\nfsmonitor = %s\n' "$EVIL" >>c/config; echo ../../c >n/.git/commondir`,
	},
	{"nested repository", "", evilConfig + `git init -q n; evil n`},
	{"nested repository, deep", "", evilConfig + `mkdir -p a/b/c/d; git init -q a/b/c/d; evil a/b/c/d`},
	{
		"bare repository",
		"",
		evilConfig + `git init -q --bare b; evil b; git --git-dir=b config core.bare false; git --git-dir=b config core.worktree ..`,
	},
	{
		"bare repository made by hand",
		"",
		`mkdir -p h/objects h/refs; echo 'ref: refs/heads/x' >h/HEAD; printf '[core]\nbare = false\nworktree = .\nfsmonitor = %s\n' "$EVIL" >h/config`,
	},
	{
		"a common directory without HEAD",
		"",
		`mkdir -p h/objects h/refs h/worktrees/x t; echo 'ref: refs/heads/main' >h/worktrees/x/HEAD; echo ../.. >h/worktrees/x/commondir; echo "$PWD/t/.git" >h/worktrees/x/gitdir; printf '[core]\nrepositoryformatversion = 0\nbare = false\nfsmonitor = %s\n' "$EVIL" >h/config; echo 'gitdir: ../h/worktrees/x' >t/.git`,
	},
	{
		"hooks of a common directory without HEAD",
		"",
		`mkdir -p h/objects h/refs h/hooks h/worktrees/x t; echo 'ref: refs/heads/main' >h/worktrees/x/HEAD; echo ../.. >h/worktrees/x/commondir; echo "$PWD/t/.git" >h/worktrees/x/gitdir; for n in pre-commit post-index-change reference-transaction; do cp "$EVIL" h/hooks/$n; done; echo 'gitdir: ../h/worktrees/x' >t/.git`,
	},
	{
		"a repository in objects of another",
		"",
		evilConfig + `git init -q n; git init -q --bare n/.git/objects/pack/b; evil n/.git/objects/pack/b`,
	},
	{
		"bare repository in a copied .git",
		"",
		`cp -r .git x; printf '[core]\nbare = false\nworktree = .\nfsmonitor = %s\n' "$EVIL" >>x/config`,
	},
	{".git that is a file", "", evilConfig + `git init -q --separate-git-dir=away n; evil n`},
	{
		".git that is a file and leads to TMPDIR",
		"",
		evilConfig + `git init -q --separate-git-dir=$TMPDIR/away n; evil n`,
	},
	{".git that is a link", "", evilConfig + `git init -q n; evil n; mv n/.git n/dot; ln -s dot n/.git`},
	{
		".git that is a link to TMPDIR",
		"",
		evilConfig + `git init -q n; evil n; mv n/.git $TMPDIR/dot; ln -s $TMPDIR/dot n/.git`,
	},
	{
		"a worktree of a new repository",
		"",
		evilConfig + `git init -q n; git -C n commit -q --allow-empty -m x; git -C n worktree add -q ../w; evil n; printf '[core]\nfsmonitor = %s\n' "$EVIL" >n/.git/worktrees/w/config.worktree`,
	},
	{
		"config.worktree",
		"",
		`git init -q n; git -C n config extensions.worktreeConfig true; git -C n config --worktree core.fsmonitor "$EVIL"`,
	},
	{
		"a pointer to the user's repository, whose hooks are relative",
		"git config core.hooksPath .husky; mkdir .husky; echo '#!/bin/sh' >.husky/pre-commit; chmod +x .husky/pre-commit",
		`mkdir -p n/.husky; cp "$EVIL" n/.husky/pre-commit; echo "gitdir: $PWD/.git" >n/.git`,
	},
	{
		"hooks in the work tree",
		"git config core.hooksPath .husky; mkdir .husky; echo '#!/bin/sh' >.husky/pre-commit; chmod +x .husky/pre-commit",
		`cp "$EVIL" .husky/pre-commit; cp "$EVIL" .husky/post-commit; mv .husky h2; mkdir .husky; cp "$EVIL" .husky/pre-commit`,
	},
	{
		"hooks in the work tree that do not exist yet",
		"git config core.hooksPath .husky/_",
		`mkdir -p .husky/_; cp "$EVIL" .husky/_/pre-commit`,
	},
	{
		"hooks deep in the work tree",
		"git config core.hooksPath a/b/hooks; mkdir -p a/b/hooks; echo '#!/bin/sh' >a/b/hooks/pre-commit; chmod +x a/b/hooks/pre-commit",
		`mv a a2; mkdir -p a/b/hooks; cp "$EVIL" a/b/hooks/pre-commit`,
	},
	{
		"an included file",
		"git config include.path ../.gitconfig; echo >.gitconfig",
		`printf '[core]\nfsmonitor = %s\n' "$EVIL" >.gitconfig; mv .gitconfig x; printf '[core]\nfsmonitor = %s\n' "$EVIL" >.gitconfig`,
	},
	{
		"an included file that does not exist yet",
		"git config include.path ../.gitconfig",
		`printf '[core]\nfsmonitor = %s\n' "$EVIL" >.gitconfig`,
	},
	{
		"a file that an included file includes",
		"git config include.path ../.gitconfig; printf '[include]\npath = more\n' >.gitconfig",
		`printf '[core]\nfsmonitor = %s\n' "$EVIL" >more`,
	},
	{
		"a filter's script in the work tree",
		"mkdir tools; echo cat >tools/clean; chmod +x tools/clean; git config filter.x.clean 'tools/clean %f'; echo '*.f filter=x' >.gitattributes",
		`cp "$EVIL" tools/clean; mv tools t2; mkdir tools; cp "$EVIL" tools/clean; echo x >y.f`,
	},
	{
		"a filter's script without a slash",
		"echo cat >clean.sh; git config filter.x.clean 'sh clean.sh'; echo '*.f filter=x' >.gitattributes",
		`echo '"$EVIL"; cat' | sed "s,.EVIL,$EVIL," >clean.sh; echo x >y.f`,
	},
	{
		"a script in a folder that git's command enters",
		"mkdir tools; echo true >tools/st.sh; git config alias.st '!cd tools && sh st.sh'",
		`echo "$EVIL" >tools/st.sh`,
	},
	{
		"hooks in the work tree of a nested repository",
		"git init -q sub; git -C sub config core.hooksPath .husky; mkdir sub/.husky; echo '#!/bin/sh' >sub/.husky/pre-commit; chmod +x sub/.husky/pre-commit",
		`cp "$EVIL" sub/.husky/pre-commit; cp "$EVIL" sub/.husky/post-commit; mv sub/.husky sub/h2; mkdir sub/.husky; cp "$EVIL" sub/.husky/pre-commit`,
	},
	{
		"hooks in the work tree of a new repository",
		"git config --global core.hooksPath .githooks",
		`git init -q n; mkdir n/.githooks; for h in pre-commit post-checkout post-index-change; do cp "$EVIL" n/.githooks/$h; done`,
	},
	{
		"a file behind a link of a hook",
		usersScript + "ln -s ../../scripts/pc .git/hooks/pre-commit",
		`cp "$EVIL" scripts/pc; mv scripts s2; mkdir scripts; cp "$EVIL" scripts/pc`,
	},
	{
		"an absent file behind a link of a hook",
		"ln -s ../../scripts/pc .git/hooks/pre-commit",
		`mkdir scripts; cp "$EVIL" scripts/pc`,
	},
	{
		"a folder behind the link of the hooks",
		"mkdir scripts; echo '#!/bin/sh' >scripts/x; rm -rf .git/hooks; ln -s ../scripts .git/hooks",
		`cp "$EVIL" scripts/pre-commit; mv scripts s2; mkdir scripts; cp "$EVIL" scripts/pre-commit`,
	},
	{
		"an absent folder behind the link of the hooks",
		"rm -rf .git/hooks; ln -s ../scripts .git/hooks",
		`mkdir scripts; cp "$EVIL" scripts/pre-commit`,
	},
	{
		"a file behind the link of the configuration",
		"mkdir conf; mv .git/config conf/c; ln -s ../conf/c .git/config",
		`printf '[core]\nfsmonitor = %s\n' "$EVIL" >>conf/c; cp -r conf c2; ` +
			`printf '[core]\nfsmonitor = %s\n' "$EVIL" >>c2/c; rm -rf conf; mv c2 conf`,
	},
	{
		"a file behind a link of a submodule's hook",
		"git -c protocol.file.allow=always submodule --quiet add ../up lib; git commit -qm sub; " +
			usersScript + "ln -s ../../../../scripts/pc .git/modules/lib/hooks/pre-commit",
		`cp "$EVIL" scripts/pc`,
	},
	{
		"a file behind a link of a worktree's hook",
		"cd ..; git clone -q work main && rm -rf work && git -C main worktree add -q -b w ../work && cd work; " +
			usersScript + "ln -s $PWD/scripts/pc ../main/.git/hooks/pre-commit",
		`cp "$EVIL" scripts/pc`,
	},
	{
		"a file behind a link of a nested repository's hook",
		"git init -q sub; " + usersScript + "ln -s ../../../scripts/pc sub/.git/hooks/pre-commit",
		`cp "$EVIL" scripts/pc`,
	},
	{
		"an absent file behind a link of a nested repository's hook",
		"git init -q sub; ln -s ../../../scripts/pc sub/.git/hooks/pre-commit",
		`mkdir scripts; cp "$EVIL" scripts/pc`,
	},
	{
		"hooks in an absent folder behind a link",
		"git config --global core.hooksPath .githooks; ln -s build/hooks .githooks; git add .; git commit -qm link",
		`mkdir -p build/hooks; cp "$EVIL" build/hooks/pre-commit`,
	},
	{
		"hooks in an absent folder behind two links",
		"git config core.hooksPath .husky; ln -s scripts .husky; ln -s ./build/hooks scripts",
		`mkdir -p build/hooks; cp "$EVIL" build/hooks/pre-commit`,
	},
	{
		"an absent included file behind a link",
		"git config include.path ../inc; ln -s gen/inc inc",
		`mkdir gen; printf '[core]\nfsmonitor = %s\n' "$EVIL" >gen/inc`,
	},
	{
		"a link between a configuration and its hooks",
		"mkdir hk; echo '#!/bin/sh' >hk/x; ln -s hk mid; ln -s mid first; git config core.hooksPath first",
		`rm mid; mkdir mid; cp "$EVIL" mid/pre-commit`,
	},
	{
		"a link to hooks elsewhere",
		"mkdir ../hk; ln -s ../hk tools; git config core.hooksPath tools",
		`rm tools; mkdir tools; cp "$EVIL" tools/pre-commit`,
	},
	{
		"a file behind a link of hooks elsewhere",
		usersScript + "mkdir ../hk; ln -s ../work/scripts/pc ../hk/pre-commit; " +
			"git config --global core.hooksPath ~/hk",
		`cp "$EVIL" scripts/pc`,
	},
	{
		"an absent folder of hooks behind a link of the command",
		"git config core.hooksPath q/b/hooks",
		`mkdir -p z/b/hooks; cp "$EVIL" z/b/hooks/pre-commit; ln -s z q`,
	},
	{
		"hooks of a new repository behind a link",
		"git config --global core.hooksPath .githooks",
		`git init -q n; mkdir hk; ln -s ../hk n/.githooks; ` +
			`for h in pre-commit post-index-change; do cp "$EVIL" hk/$h; done`,
	},
	{
		"an absent configuration of the user behind a link",
		"cp ~/.gitconfig .git/own; git config include.path own; " +
			"ln -sf work/dot/gitconfig ~/.gitconfig; git config safe.directory '*'",
		`mkdir dot; printf '[core]\nfsmonitor = %s\n' "$EVIL" >dot/gitconfig`,
	},
	{
		"an absent script of a filter",
		"git config filter.x.clean './tools/clean %f'; echo '*.f filter=x' >.gitattributes",
		`mkdir tools; cp "$EVIL" tools/clean; echo x >y.f`,
	},
	{
		"an absent script of a filter behind other programs",
		"git config filter.x.clean 'env -u A nice -n 5 ./tools/clean %f'; echo '*.f filter=x' >.gitattributes",
		`mkdir tools; cp "$EVIL" tools/clean; echo x >y.f`,
	},
	{
		"an absent script of a filter in a folder that its command enters",
		"git config filter.x.clean 'cd tools && sh clean'; echo '*.f filter=x' >.gitattributes",
		`mkdir tools; cp "$EVIL" tools/clean; echo x >y.f`,
	},
	{
		"the user's own hook",
		"",
		`cp "$EVIL" .git/hooks/pre-commit; mv .git/hooks .git/h2; mkdir .git/hooks; cp "$EVIL" .git/hooks/pre-commit`,
	},
	{
		"hooks of a new repository",
		"",
		`git init -q n; mkdir -p n/.git/hooks; for h in pre-commit post-checkout post-index-change pre-push post-commit reference-transaction; do cp "$EVIL" n/.git/hooks/$h; done`,
	},
	{
		"hooksPath of a new repository",
		"",
		`git init -q n; mkdir n/h; for h in pre-commit post-index-change; do cp "$EVIL" n/h/$h; done; git -C n config core.hooksPath h`,
	},
	{
		"include in a new repository",
		"",
		`git init -q n; printf '[core]\nfsmonitor = %s\n' "$EVIL" >n/conf; git -C n config include.path ../conf`,
	},
	{
		"a filter",
		"",
		`git init -q n; git -C n config filter.x.clean "$EVIL"; git -C n config filter.x.smudge "$EVIL"; echo '* filter=x' >n/.gitattributes; echo x >n/file`,
	},
	{
		"a diff driver",
		"",
		`git init -q n; cd n; echo a >file; git add .; git commit -qm x; echo b >file; git config diff.x.textconv "$EVIL"; echo '* diff=x' >.git/info/attributes`,
	},
	{
		"an external diff",
		"",
		`git init -q n; cd n; echo a >file; git add .; git commit -qm x; echo b >file; git config diff.external "$EVIL"`,
	},
	{
		"a merge driver",
		"",
		`git init -q n; cd n; echo a >file; git add .; git commit -qm x; git checkout -qb side; echo b >file; git commit -qam y; git checkout -q -; echo c >file; git commit -qam z; git config merge.x.driver "$EVIL"; echo '* merge=x' >.gitattributes`,
	},
	{"an alias", "", `git init -q n; git -C n config alias.st "!$EVIL"; git -C n config alias.co "!$EVIL"`},
	{
		"a credential helper",
		"",
		`git init -q n; git -C n config credential.helper "!$EVIL"; git -C n remote add origin https://localhost:1/x`,
	},
	{
		"an ssh command",
		"",
		`git init -q n; git -C n config core.sshCommand "$EVIL"; git -C n remote add origin ssh://localhost/x`,
	},
	{
		"a remote helper",
		"",
		`git init -q n; git -C n config protocol.ext.allow always; git -C n remote add origin "ext::$EVIL"`,
	},
	{
		"a remote's program",
		"",
		`git init -q n; git -C n remote add origin ../n; git -C n config remote.origin.uploadpack "$EVIL"; git -C n config remote.origin.receivepack "$EVIL"`,
	},
	{
		"a remote in TMPDIR with hooks",
		"",
		`git init -q n; git -C n commit -q --allow-empty -m x; git init -q --bare $TMPDIR/r; for h in pre-receive update post-receive; do cp "$EVIL" $TMPDIR/r/hooks/$h; done; git -C n remote add origin $TMPDIR/r`,
	},
	{
		"a remote in a file",
		"",
		`git init -q n; mkdir -p n/.git/remotes; git -C n config protocol.ext.allow always; printf 'URL: ext::%s\n' "$EVIL" >n/.git/remotes/origin`,
	},
	{
		"a pager",
		"",
		`git init -q n; git -C n commit -q --allow-empty -m x; git -C n config core.pager "$EVIL"; git -C n config pager.status "$EVIL"`,
	},
	{"an editor", "", `git init -q n; git -C n config core.editor "$EVIL"; git -C n config sequence.editor "$EVIL"`},
	{
		"a signing program",
		"",
		`git init -q n; git -C n config gpg.program "$EVIL"; git -C n config commit.gpgsign true`,
	},
	{
		"an unfinished rebase",
		"",
		`git init -q n; cd n; for i in 1 2; do echo $i >file; git add .; git commit -qm $i; done; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1; echo "exec $EVIL" >>.git/rebase-merge/git-rebase-todo`,
	},
	{
		"an unfinished rebase with a strategy",
		"",
		`git init -q n; cd n; for i in 1 2; do echo $i >file; git add .; git commit -qm $i; done; GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~1; echo evil >.git/rebase-merge/strategy`,
	},
	{
		"alternates with a command",
		"",
		`git init -q n; git init -q o; echo $PWD/o/.git/objects >n/.git/objects/info/alternates; git -C n config core.alternateRefsCommand "$EVIL"; git -C n remote add origin ../o`,
	},
	{
		"a submodule's .git",
		"git -c protocol.file.allow=always submodule --quiet add ../up lib; git commit -qm sub",
		evilConfig + `git init -q e; evil e; rm -f lib/.git; cp -r e/.git lib/.git; echo "gitdir: ../e/.git" >lib/.git; mv lib l2; mkdir lib; cp -r e/.git lib/`,
	},
	{
		"a submodule's own configuration",
		"git -c protocol.file.allow=always submodule --quiet add ../up lib; git commit -qm sub",
		evilConfig + `evil lib; printf '[core]\nfsmonitor = %s\n' "$EVIL" >>.git/modules/lib/config`,
	},
	{
		".gitmodules",
		"git -c protocol.file.allow=always submodule --quiet add ../up lib; git commit -qm sub",
		`printf '[submodule "lib"]\npath = lib\nurl = ../up\nupdate = !%s\n' "$EVIL" >.gitmodules`,
	},
	{"a gitlink", "", evilConfig + `git init -q n; evil n; git -C n commit -q --allow-empty -m x; git add n`},
	{
		"a nested repository that existed",
		"git init -q old; git -C old commit -q --allow-empty -m x",
		evilConfig + `evil old; cp "$EVIL" old/.git/hooks/pre-commit`,
	},
	{
		"a nested repository that existed, moved",
		"git init -q old; git -C old commit -q --allow-empty -m x",
		evilConfig + `evil old; mv old new`,
	},
	{
		"a folder that nobody can list",
		"",
		evilConfig + `mkdir -p a/n; git init -q a/n; evil a/n; chmod 300 a; chmod 100 a/n/.git`,
	},
	{
		"an index that is a link",
		"",
		`git init -q n; cd n; echo x >file; git add .; git commit -qm x; cp .git/index i; ln -sf ../i .git/index; git config core.fsmonitor "$EVIL"`,
	},
	{
		"variants of the name",
		"",
		evilConfig + `for n in .GIT .Git "$(printf '.g\342\200\214it')" git~1; do git init -q n; evil n; mkdir -p "v$n"; mv n/.git "v$n/$n"; rm -rf n; done`,
	},
	{"a job that goes on for a while", "", evilConfig + `(sleep 0.4; git init -q late; evil late) & echo`},
	{"the folder is moved in from TMPDIR", "", evilConfig + `git init -q $TMPDIR/n; evil $TMPDIR/n; mv $TMPDIR/n n`},
	{
		"a folder is moved over a repository",
		"",
		evilConfig + `git init -q n; mkdir d; git init -q d/m; evil d/m; mv d e; mv e/m/.git n/x; mv n/.git old; mv n/x n/.git`,
	},
	{
		"a configuration with continued lines",
		"",
		`git init -q n; printf '[core]\n\tfsmon\\\nitor = %s\n[user]\n name = x\\\n[core] fsmonitor = %s\n' "$EVIL" "$EVIL" >>n/.git/config`,
	},
	{
		"a configuration of one line",
		"",
		`git init -q n; printf '[core] fsmonitor = %s\n[core "x"] fsmonitor = y\n' "$EVIL" >>n/.git/config`,
	},
}

var plantAsRoot = flag.Int(
	"plant-as-root",
	4,
	"root plants every N-th time; an ordinary user, whom root becomes, does all",
)

// C22: no git command of the user runs a program that a sandboxed command has planted in
// any folder that it can write: for an ordinary user, and for root.
func TestSandboxedCommandPlantsNothingForGit(t *testing.T) {
	if !confines(t) {
		return
	}
	every := 1
	if os.Geteuid() == 0 {
		every = *plantAsRoot
		t.Run("ordinary user", asOrdinaryUser)
	}
	template := newUser(t)
	for n, p := range plantings {
		if n%every != 0 {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			u := template.copy(t)
			u.git(t, u.work, p.before)
			a := u.agent(t, p.script)
			output := outputs(t, a)[0].Content().Output
			if ran := u.everyday(t); ran != "" {
				t.Errorf("git ran it: %s\nthe command said: %s", ran, output)
			}
		})
	}
}

// asOrdinaryUser runs the test of that name as a user without privileges, in a process of
// its own.
func asOrdinaryUser(t *testing.T) {
	const nobody = 65534
	dir, err := os.MkdirTemp("", "settle-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, err := os.ReadFile("/proc/self/exe") // other users cannot reach the folder in which go built it
	if err != nil {
		t.Fatal(err)
	}
	own, name := filepath.Join(dir, "own"), filepath.Join(dir, "assemble.test")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(name, program, 0o755), os.Mkdir(own, 0o755), os.Chown(own, nobody, nobody)); err != nil {
		t.Fatal(err)
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.CommandContext(t.Context(), name, "-test.run", "^"+test+"$", "-test.v")
	cmd.Dir, cmd.Env = own, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + own, "TMPDIR=" + own}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if passed := strings.Count(string(out), "--- PASS: "+test+"/"); err != nil || passed != len(plantings) {
		t.Errorf("%v; %d of %d passed: %s", err, passed, len(plantings), out)
	}
}

// The planted programs run without a sandbox: the oracle detects them.
func TestPlantingsAreReal(t *testing.T) {
	template := newUser(t)
	var held atomic.Int64
	t.Run("without a sandbox", func(t *testing.T) {
		for _, p := range plantings {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				u := template.copy(t)
				u.git(t, u.work, p.before)
				u.git(t, u.work, p.script)
				if u.everyday(t) == "" {
					held.Add(1)
					t.Log("git itself holds")
				}
			})
		}
	})
	if n := int(held.Load()); n > len(plantings)/4 {
		t.Errorf("%d of %d do nothing", n, len(plantings))
	}
}

// user has a home, a repository at work, and a repository beside it.
type user struct {
	home, work, evil, ran string
	env                   []string
}

// userAt returns the user whose home is a folder.
func userAt(home string) *user {
	u := &user{home: home, work: filepath.Join(home, "work"), ran: filepath.Join(home, "ran")}
	u.evil = filepath.Join(u.work, "evil")
	u.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + u.home, "EVIL=" + u.evil, "RAN=" + u.ran,
		"EDITOR=true", "PAGER=cat", "TERM=dumb",
	}
	return u
}

func newUser(t *testing.T) *user {
	t.Helper()
	u := userAt(t.TempDir())
	if err := os.Mkdir(u.work, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		filepath.Join(u.home, ".gitconfig"): "[user]\nname = n\nemail = e@example.com\n" +
			"[init]\ndefaultBranch = main\n[safe]\ndirectory = *\n",
		filepath.Join(u.work, "file"): "content\n",
		u.evil: "#!/bin/sh\necho \"$0 in $PWD\" >>\"$RAN\"\n" +
			"[ -z \"$1\" ] || cat \"$1\" 2>/dev/null\nexit 0\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	u.git(t, u.home, "git init -q up; git -C up commit -q --allow-empty -m up; "+
		"cd work; git init -q; git add .; git commit -qm one; git commit -q --allow-empty -m two")
	return u
}

// copy returns a user with a copy of the files.
func (u *user) copy(t *testing.T) *user {
	t.Helper()
	c := userAt(t.TempDir())
	if err := os.CopyFS(c.home, os.DirFS(u.home)); err != nil {
		t.Fatal(err)
	}
	return c
}

// git runs a script as the user.
func (u *user) git(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(u.env), "TMPDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil && !strings.HasPrefix(t.Name(), "TestPlantingsAreReal") {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
}

// agent works there in a sandbox.
func (u *user) agent(t *testing.T, scripts ...string) *Agent {
	t.Helper()
	return make1(t, resolve(t, "/", nil, nil, ""), func(o *Options) {
		o.Dir, o.Environ, o.Getenv = u.work, u.env, func(name string) string { return variable(u.env, name) }
		o.Permission, o.Sandbox, o.Model = settle.Ask, "required", scripted(commands(scripts...))
	})
}

// found returns the first of the folders from which git finds each repository and work tree. The
// programs that git runs depend on these two: its commands, filters and hooks start at the top of
// the work tree.
func (u *user) found(t *testing.T, dirs []string) (first []string) {
	t.Helper()
	own, seen := filepath.Join(u.work, ".git"), map[string]bool{}
	for _, dir := range dirs {
		if rel, err := filepath.Rel(own, dir); err == nil && filepath.IsLocal(rel) && rel != "." {
			continue // only git's own files
		}
		cmd := exec.CommandContext(
			t.Context(), "git", "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel",
		)
		cmd.Dir, cmd.Env = dir, u.env
		out, err := cmd.CombinedOutput() // without a repository, its message
		if where := fmt.Sprint(string(out), err); !seen[where] {
			seen[where] = true
			first = append(first, dir)
		}
	}
	return first
}

// everyday runs the commands in the first folder of each repository and work tree that git
// finds from any folder, and returns the planted programs that they ran. Planted programs that
// ran before do not count.
func (u *user) everyday(t *testing.T) string {
	t.Helper()
	_ = os.Remove(u.ran)
	var dirs []string
	_ = filepath.WalkDir(u.work, func(path string, entry fs.DirEntry, err error) error {
		if entry != nil && entry.IsDir() &&
			!(len(filepath.Base(path)) == 2 && filepath.Base(filepath.Dir(path)) == "objects") &&
			filepath.Base(filepath.Dir(path)) != "refs" {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, dir := range slices.Backward(u.found(t, dirs)) { // before the user's commands in the parent
		p, err := proc.Start(t.Context(), proc.Spec{
			Argv: []string{"bash", "-c", everydayScript}, Dir: dir, Stdout: io.Discard, Marker: u.home,
			Env:      append(slices.Clone(u.env), "EVERYDAY="+strings.Join(everyday, "\n")),
			Terminal: &proc.Size{Rows: 5, Cols: 80},
		})
		if err != nil {
			t.Logf("in %s: %v", dir, err)
			continue
		}
		<-p.Done()
		if ran, _ := os.ReadFile(u.ran); len(ran) > 0 {
			first, _, _ := strings.Cut(string(ran), "\n")
			return dir + ": " + first
		}
	}
	return ""
}
