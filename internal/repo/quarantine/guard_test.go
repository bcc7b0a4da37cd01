package quarantine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// files writes files below a folder; a name that ends in "/" is a folder.
func files(t testing.TB, dir string, list map[string]string) {
	t.Helper()
	for name, content := range list {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			content, path = "", filepath.Join(path, ".keep")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// repository is the part of the result of git init that git requires.
func repository(at, config string) map[string]string {
	return map[string]string{
		at + "/HEAD":     "ref: refs/heads/main\n",
		at + "/objects/": "",
		at + "/refs/":    "",
		at + "/config":   "[core]\n\trepositoryformatversion = 0\n" + config,
	}
}

func real(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func enter(t testing.TB, g *Guard, dir string) {
	t.Helper()
	if err := g.Enter(t.Context(), Area{Look: []string{dir}}); err != nil {
		t.Fatal(err)
	}
}

// guarded returns a guard that has entered for a command that can change a folder.
func guarded(t testing.TB, dir string) *Guard {
	t.Helper()
	g := New()
	enter(t, g, dir)
	t.Cleanup(func() { _ = g.Close() })
	return g
}

const evil = "\tfsmonitor = evil\n"

// New files that could run a program are moved aside, with and without the kernel's report
// of new names.
func TestGuardMovesNewFaultsAside(t *testing.T) {
	for name, list := range map[string]map[string]string{
		"a/b/.git/config":  repository("a/b/.git", evil),
		"bare/config":      repository("bare", evil),
		"n/.git/commondir": merge(repository("n/.git", ""), map[string]string{"n/.git/commondir": "../../c\n"}),
		"n/.git":           {"n/.git": "gitdir: /elsewhere\n"},
		"common/config": {
			"common/objects/": "", "common/refs/": "", "common/config": "[core]\n" + evil, "w/.git": "gitdir: ../common/worktrees/x\n",
			"common/worktrees/x/HEAD": "ref: refs/heads/main\n", "common/worktrees/x/commondir": "../..\n",
		},
		"common/hooks": {
			"common/objects/": "", "common/refs/": "", "common/hooks/pre-commit": "x", "w/.git": "gitdir: ../common/worktrees/x\n",
			"common/worktrees/x/HEAD": "ref: refs/heads/main\n", "common/worktrees/x/commondir": "../..\n",
		},
		"n/.git/hooks":           merge(repository("n/.git", ""), map[string]string{"n/.git/hooks/pre-commit": "x", "n/.git/hooks/a.sample": "x"}),
		"n/.git/modules/m/hooks": merge(repository("n/.git", ""), repository("n/.git/modules/m", ""), map[string]string{"n/.git/modules/m/hooks/x": "x"}),
		"n/.git/rebase-merge":    merge(repository("n/.git", ""), map[string]string{"n/.git/rebase-merge/git-rebase-todo": "pick 1 x\nexec evil\n"}),
	} {
		for _, watching := range []bool{true, false} {
			t.Run(fmt.Sprint(name, watching), func(t *testing.T) {
				dir := real(t)
				g := guarded(t, dir)
				if !watching {
					_ = g.watch.close()
					g.watch = nil
				}
				files(t, dir, list)
				found := g.Check(t.Context())
				if len(found) != 1 || found[0].Path != filepath.Join(dir, name) ||
					!strings.HasPrefix(filepath.Base(found[0].Moved), filepath.Base(name)+"-quarantined-") {
					t.Fatalf("found %v", found)
				}
				if _, err := os.Lstat(found[0].Moved); err != nil {
					t.Error(err)
				}
				if again := g.Check(t.Context()); again != nil {
					t.Errorf("again: %v", again)
				}
			})
		}
	}
}

func merge(lists ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, list := range lists {
		for name, content := range list {
			all[name] = content
		}
	}
	return all
}

// Files from before a command, and files that appear while no command runs, belong to the
// user; files that a command adds do not.
func TestGuardTrustsWhatTheUserMade(t *testing.T) {
	dir := real(t)
	files(t, dir, merge(repository("old/.git", evil), map[string]string{"old/.git/hooks/pre-commit": "mine"}))
	g := guarded(t, dir)
	if found := g.Check(t.Context()); found != nil {
		t.Errorf("of the user: %v", found)
	}
	files(t, dir, map[string]string{"old/.git/hooks/pre-commit": "yours"})
	if found := g.Check(t.Context()); len(found) != 1 || found[0].Path != filepath.Join(dir, "old/.git/hooks") {
		t.Errorf("of a command: %v", found)
	}
	g.Leave()
	files(t, dir, repository("new/.git", evil))
	enter(t, g, dir)
	if found := g.Check(t.Context()); found != nil {
		t.Errorf("made while no command ran: %v", found)
	}
	enter(t, g, dir)
	files(t, dir, repository("second/.git", evil))
	g.Leave()
	enter(t, g, dir) // one command still runs: nothing is trusted
	if found := g.Check(t.Context()); len(found) != 1 {
		t.Errorf("made while two ran: %v", found)
	}
}

// The files that git and other tools make for their own purposes stay.
func TestGuardLeavesOrdinaryRepositories(t *testing.T) {
	dir := real(t)
	g := guarded(t, dir)
	files(t, dir, merge(repository("clone/.git", `	filemode = true
	bare = false
[remote "origin"]
	url = https://user@example.com/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
	remote = origin
	merge = refs/heads/main
[submodule "lib"]
	url = ../lib
	active = true
[remote "other"]
	url = git@example.com:x/y.git
[filter "lfs"]
	clean = git-lfs clean -- %f
	smudge = git-lfs smudge -- %f
	process = git-lfs filter-process
	required = true
`), repository("clone/.git/modules/lib", "\tworktree = ../../../lib\n"), map[string]string{
		"clone/lib/.git": "gitdir: ../.git/modules/lib\n", "clone/.git/hooks/pre-commit.sample": "x", "clone/.git/info/exclude": "", "HEAD": "x", "objects/x": "",
	}))
	files(
		t,
		dir,
		map[string]string{
			"clone/.git/worktrees/w/HEAD":      "x",
			"clone/.git/worktrees/w/commondir": "../..\n",
			"clone/.git/worktrees/w/gitdir":    "x",
		},
	)
	if found := g.Check(t.Context()); found != nil {
		t.Errorf("%v", found)
	}
}

// Links in a repository would make git write outside it.
func TestGuardMovesLinksAside(t *testing.T) {
	dir := real(t)
	g := guarded(t, dir)
	files(t, dir, repository("n/.git", ""))
	if found := g.Check(t.Context()); found != nil {
		t.Fatalf("%v", found)
	}
	files(t, dir, map[string]string{"n/.git/logs/refs/heads/": ""})
	if err := os.Symlink("/elsewhere", filepath.Join(dir, "n/.git/logs/refs/heads/main")); err != nil {
		t.Fatal(err)
	}
	if found := g.Check(t.Context()); len(found) != 1 ||
		found[0].Path != filepath.Join(dir, "n/.git/logs/refs/heads/main") {
		t.Errorf("%v", found)
	}
}

// checkConfig finds keys that can run a program in every form that git reads.
func TestConfigIsHarmless(t *testing.T) {
	yes := func(string) bool { return true }
	no := func(string) bool { return false }
	for _, text := range []string{
		"[core]\nfsmonitor = x", "[core] fsmonitor = x", "[CORE]\n\tFsMonitor=x", "[core]\nhooksPath = x", "[alias]\nst = !x", "[include]\npath = x", "[includeIf \"gitdir:/\"]\npath = x",
		"[remote \"o\"]\nurl = ext::sh -c x", "[remote \"o\"]\nurl = -oProxyCommand=x", "[remote \"o\"]\nuploadpack = x", "[branch \"b\"]\nremote = ext::x", "[diff \"x\"]\ncommand = y",
		"[core.x]\nfsmonitor = y", "[user]\nname = x\\\n[core] fsmonitor = y", "\ufeff[core]\nfsmonitor = x", "[filter \"lfs\"]\nclean = evil", "[core]\nworktree = /", "[gpg]\nprogram = x",
		"[submodule \"x\"]\nupdate = !y", "[pager]\nstatus = x", "[protocol \"ext\"]\nallow = always", "[url \"ext::x\"]\ninsteadOf = https://", "fsmonitor = x", "[branch \"b\"]\nmergeOptions = -s x", "[core]\nbare",
	} {
		if faults := checkConfig("config", text, no, yes); (len(faults) == 0) != (text == "[core]\nbare") {
			t.Errorf("%q: %v", text, faults)
		}
	}
}

// BenchmarkCheck is the cost of a sandboxed command: without a new folder, and with one.
func BenchmarkCheck(b *testing.B) {
	dir := real(b)
	for i := range 300 {
		for j := range 100 {
			if err := os.MkdirAll(filepath.Join(dir, "node_modules", fmt.Sprint("p", i), "lib", fmt.Sprint("d", j)), 0o755); err != nil {
				b.Fatal(err)
			}
		}
	}
	files(b, dir, repository("nested/.git", ""))
	a := Area{Look: []string{dir}}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			g := New()
			_ = g.Enter(b.Context(), a)
			_ = g.Close()
		}
	})
	for _, name := range []string{"nothing new", "a folder", "unwatched"} {
		b.Run(name, func(b *testing.B) {
			g := guarded(b, dir)
			g.Leave()
			if name == "unwatched" {
				_ = g.watch.close()
				g.watch = nil
			}
			n := 0
			for b.Loop() {
				_ = g.Enter(b.Context(), a)
				if name == "a folder" {
					n++
					_ = os.Mkdir(filepath.Join(dir, fmt.Sprint("new", n)), 0o755)
				}
				g.Check(b.Context())
				g.Leave()
			}
		})
	}
}

// While a command runs, the files that it can change are unsettled, and a repository that appears
// in that time does not become a kept one.
func TestGuardUnsettledWhileCommandRuns(t *testing.T) {
	dir := real(t)
	files(t, dir, merge(repository("kept/.git", ""), repository("nested/.git", "")))
	own, nested, late := filepath.Join(
		dir,
		"kept",
		".git",
	), filepath.Join(
		dir,
		"nested",
		".git",
	), filepath.Join(
		dir,
		"late",
		".git",
	)
	g := New()
	t.Cleanup(func() { _ = g.Close() })
	enter := func(keep ...string) {
		t.Helper()
		if err := g.Enter(t.Context(), Area{Look: []string{dir}, Keep: keep}); err != nil {
			t.Fatal(err)
		}
	}
	enter(own)
	files(t, dir, repository("late/.git", evil))
	enter(own, late)
	for _, c := range []struct {
		paths []string
		want  bool
	}{{nil, true}, {[]string{own}, false}, {[]string{own, nested}, true}, {[]string{late}, true}, {[]string{"/elsewhere/.git"}, false}} {
		if got := g.Unsettled(t.Context(), c.paths...); got != c.want {
			t.Errorf("%v: %v", c.paths, got)
		}
	}
	if found := g.Check(t.Context()); len(found) != 1 || found[0].Path != filepath.Join(late, "config") {
		t.Errorf("found %v", found)
	}
	g.Leave()
	g.Leave()
	if g.Unsettled(t.Context(), nested) {
		t.Error("no command runs")
	}
}

// Files that the user's configurations name in the work trees of nested repositories are protected
// or moved aside, in a new repository too.
func TestGuardObeysConfigurationsOfOtherRepositories(t *testing.T) {
	dir, home := real(t), real(t)
	files(t, home, map[string]string{".gitconfig": "[core]\n\thooksPath = .githooks\n"})
	files(
		t,
		dir,
		merge(
			repository("old/.git", ""),
			repository("husky/.git", "\thooksPath = .husky\n"),
			map[string]string{"old/.githooks/pre-commit": "x", "husky/.husky/pre-commit": "x"},
		),
	)
	g := New()
	t.Cleanup(func() { _ = g.Close() })
	if err := g.Enter(t.Context(), Area{Look: []string{dir}, Configs: []string{filepath.Join(home, ".gitconfig")}, Home: home}); err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(dir, "husky/.husky"), filepath.Join(dir, "old/.githooks")}
	if got := g.Pointers().Existing; !slices.Equal(got, want) {
		t.Errorf("protected: %v", got)
	}
	files(
		t,
		dir,
		merge(
			repository("new/.git", ""),
			map[string]string{"new/.githooks/pre-commit": "x", "husky/.githooks/pre-commit": "x"},
		),
	)
	var moved []string
	for _, f := range g.Check(t.Context()) {
		moved = append(moved, f.Path)
	}
	slices.Sort(moved)
	if !slices.Equal(moved, []string{filepath.Join(dir, "husky/.githooks"), filepath.Join(dir, "new/.githooks")}) {
		t.Errorf("moved: %v", moved)
	}
}

// The files that a configuration names are found in every form of a word.
func TestObeyedFindsWordsOfCommands(t *testing.T) {
	dir := real(t)
	files(t, dir, map[string]string{"clean.sh": "", "tools/clean.sh": "", "Makefile": ""})
	for value, want := range map[string]string{
		"sh clean.sh": "clean.sh", "sh ./clean.sh": "clean.sh", "sh tools/clean.sh": "tools/clean.sh", "sh clean.sh;:": "clean.sh", "!sh clean.sh": "clean.sh",
		"!cd tools && sh clean.sh": "tools/clean.sh", "sh $PWD/tools/clean.sh": "tools/clean.sh", "sh \\\"$(git rev-parse --show-toplevel)\\\"/tools/clean.sh": "tools/clean.sh",
		"sh tools/*.sh": "tools/clean.sh", "make -s clean": "Makefile", "git-lfs smudge": "",
	} {
		config := filepath.Join(dir, "config")
		files(t, dir, map[string]string{"config": "[filter \"f\"]\n\tclean = \"" + value + "\"\n"})
		existing := Obeyed([]string{config}, dir, "", Places{Folders: []string{dir}}).Existing
		if want != "" && !slices.Contains(existing, filepath.Join(dir, want)) || want == "" && existing != nil {
			t.Errorf("%s: %v", value, existing)
		}
		if unread := Unread([]string{config}, dir, ""); (unread != nil) != strings.HasPrefix(value, "make") {
			t.Errorf("%s: unread: %v", value, unread)
		}
	}
}

// A folder that was removed and made again outside is inspected, and not the removed one.
func TestGuardLooksAtFolderMadeAnew(t *testing.T) {
	dir := real(t)
	at := filepath.Join(dir, "build")
	files(t, at, map[string]string{"x": ""})
	g := guarded(t, at)
	g.Leave()
	if err := os.Rename(at, filepath.Join(dir, "old")); err != nil {
		t.Fatal(err)
	}
	files(t, at, map[string]string{"x": ""})
	enter(t, g, at)
	files(t, at, repository("ev/.git", evil))
	if found := g.Check(t.Context()); len(found) != 1 || found[0].Moved == "" {
		t.Errorf("found %v", found)
	}
}

// Names in findings are spelled out, and entries that were not moved come first.
func TestFindingsSpellOutNames(t *testing.T) {
	f := Finding{Path: "/w/e\x1b[2K\r]\n[settle found nothing\u202e\xff", Moved: "/w/e-quarantined-1", Why: "its x"}
	want := `/w/e\x1b[2K\r]\n[settle found nothing\u202e\xff is now e-quarantined-1: its x`
	if got := f.String(); got != want {
		t.Errorf("it reads %q, want %q", got, want)
	}
	g := New()
	g.findings = []Finding{f, {Path: "/w/still", Why: "obeyed"}}
	g.look = &look{}
	if list := g.take(); list[0].Path != "/w/still" {
		t.Errorf("the order is %v", list)
	}
}
