package quarantine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// symlinks makes links below a folder.
func symlinks(t testing.TB, dir string, list map[string]string) {
	t.Helper()
	for name, target := range list {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(strings.ReplaceAll(target, "DIR", dir), path); err != nil {
			t.Fatal(err)
		}
	}
}

// Follow finds each place whose change alters what a program finds at a path.
func TestFollowFindsTargetsAndLinks(t *testing.T) {
	for name, tt := range map[string]struct {
		files                   string
		links                   map[string]string
		path                    string
		existing, absent, onWay string
	}{
		"a file":                 {"x", nil, "x", "x", "", ""},
		"nothing":                {"", nil, "a/x", "", "a/x", ""},
		"a link":                 {"x", map[string]string{"l": "x"}, "l", "x", "", "l"},
		"a chain":                {"x", map[string]string{"l": "m", "m": "DIR/x"}, "l", "x", "", "l m"},
		"a dangling link":        {"", map[string]string{"l": "a/x"}, "l", "", "a/x", "l"},
		"a dangling chain":       {"", map[string]string{"l": "m", "m": "a/x"}, "l", "", "a/x", "l m"},
		"a link above":           {"a/x", map[string]string{"l": "a"}, "l/x", "a/x", "", "l"},
		"a link above, dangling": {"", map[string]string{"l": "a"}, "l/x", "", "a/x", "l"},
		"up behind a link":       {"a/b/c x a/x", map[string]string{"l": "a/b"}, "l/../x", "a/x", "", "l"},
		"a link out":             {"", map[string]string{"l": "/usr"}, "l", "", "", "l"},
		"a loop":                 {"", map[string]string{"l": "m", "m": "l"}, "l", "", "", "l m"},
		"a folder with links":    {"d/y x", map[string]string{"d/e/l": "../../x"}, "d", "d x", "", "d/e/l"},
		"links behind links":     {"x d/y", map[string]string{"l": "d", "d/m": "../x"}, "l", "d x", "", "d/m l"},
		"a folder, dangling":     {"d/y", map[string]string{"d/m": "../x"}, "d", "d", "x", "d/m"},
		"hooks of a repository": {
			"g/refs/x g/objects/x",
			map[string]string{"g/hooks/h": "../../x"},
			"g", "g", "x", "g/hooks/h",
		},
		"data of a repository": {
			"g/refs/x g/objects/x",
			map[string]string{"g/objects/l": "../../x", "g/HEAD": "x"},
			"g", "g", "", "",
		},
		"a submodule": {
			"g/refs/x g/objects/x g/modules/a/b/refs/x g/modules/a/b/objects/x",
			map[string]string{"g/modules/a/b/hooks/h": "DIR/x"},
			"g", "g", "x", "g/modules/a/b/hooks/h",
		},
		"a loop of folders": {"d/y", map[string]string{"d/l": "."}, "d", "d", "", "d/l"},
		"a link to the folder of work": {
			"t/cli.js d/y",
			map[string]string{"d/all": "..", "bin/tool": "../t/cli.js"},
			"d", "d", "", "d/all",
		},
		"a link to a folder around work": {
			"t/cli.js d/y",
			map[string]string{"d/all": "../..", "bin/tool": "../t/cli.js"},
			"d", "d", "", "d/all",
		},
		"a folder with packages": {
			"t/cli.js d/y",
			map[string]string{"d/node_modules/.bin/tool": "DIR/t/cli.js"},
			"d", "d", "", "",
		},
		"a name behind no folder": {"x", nil, "x/y", "", "x/y", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := real(t)
			for _, file := range strings.Fields(tt.files) {
				files(t, dir, map[string]string{file: ""})
			}
			symlinks(t, dir, tt.links)
			got := Follow([]string{dir + "/" + tt.path}, Places{Folders: []string{dir}})
			for _, c := range []struct {
				kind, want string
				got        []string
			}{
				{"existing", tt.existing, got.Existing},
				{"absent", tt.absent, got.Absent},
				{"links", tt.onWay, got.Links},
			} {
				if list := strings.ReplaceAll(strings.Join(c.got, " "), dir+"/", ""); list != c.want {
					t.Errorf("%s: %q, want %q", c.kind, list, c.want)
				}
			}
		})
	}
}

// The programs of a command are known before they exist; other words of it are not taken for
// files.
func TestProgramsOfCommands(t *testing.T) {
	const top = "/top"
	for text, want := range map[string]string{
		"[filter \"x\"]\nclean = ./tools/clean %f":                                     "/top/./tools/clean",
		"[filter \"x\"]\nclean = sh clean.sh":                                          "/top/clean.sh",
		"[filter \"x\"]\nclean = sh -e tools/clean":                                    "/top/tools/clean",
		"[filter \"x\"]\nclean = perl -e a/b":                                          "",
		"[filter \"x\"]\nclean = A=b/c exec tools/clean":                               "/top/tools/clean",
		"[filter \"x\"]\nclean = cd tools && ./clean -x a/b":                           "/top/tools/./clean",
		"[filter \"x\"]\nclean = \"sh -c 'cd a; python3 -u b/c.py <d/e'\"":             "/top/b/c.py /top/a/b/c.py",
		"[filter \"x\"]\nclean = \"\\\"$(git rev-parse --show-toplevel)\\\"/a/clean\"": "/top/a/clean",
		"[filter \"x\"]\nclean = ~/bin/clean":                                          "/home/bin/clean",
		"[filter \"x\"]\nclean = clean a/b":                                            "",
		"[filter \"x\"]\nclean = $X/clean":                                             "",
		"[filter \"lfs\"]\nclean = git-lfs clean -- %f":                                "",
		"[diff \"x\"]\ntextconv = a/conv":                                              "/top/a/conv",
		"[diff]\nexternal = a/diff":                                                    "/top/a/diff",
		"[merge \"x\"]\ndriver = a/merge %O %A":                                        "/top/a/merge",
		"[pager]\nlog = a/pager":                                                       "/top/a/pager",
		"[core]\nfsmonitor = .git/hooks/watch":                                         "/top/.git/hooks/watch",
		"[alias]\nst = !a/st | b/filter":                                               "/top/a/st /top/b/filter",
		"[alias]\nst = diff origin/main":                                               "",
		"[alias]\nst = \"!f() { git log a/b; }; f\"":                                   "",
		"[difftool \"x\"]\npath = a/diff":                                              "/top/a/diff",
		"[gitflow \"prefix\"]\nfeature = feature/":                                     "",
		"[commit]\ntemplate = a/template":                                              "",
		"[credential]\nhelper = \"!sh a/helper\"":                                      "/top/a/helper",
		"[submodule \"x\"]\nupdate = !a/up":                                            "/top/a/up",
		"[url \"https://x/\"]\ninsteadOf = x/":                                         "",
	} {
		var got []string
		for _, v := range lenient(text) {
			list, _ := v.programs(top, "/home")
			got = append(got, list...)
		}
		if list := strings.Join(got, " "); list != want {
			t.Errorf("%s: %q, want %q", text, list, want)
		}
	}
}

// Programs that a command finds in PATH, and words that only look like a script, are not taken for
// files: settle would move aside what a command makes there. Programs behind other programs are.
func TestProgramsBehindStartersAndInterpreters(t *testing.T) {
	for value, want := range map[string]string{
		"sh -c 'git log a/b'": "", "bash -lc \"docker ps\"": "", "sudo apt update": "", "cd x && time npm test": "",
		"exec server start": "", "eval terraform fmt": "",
		"env X=0 gh pr list": "", "git ls-files | xargs -n 1 git add a/b": "",
		"env LC_ALL=C ssh": "", "env nvim": "", "python3 -c 'import json'": "", "python3 -m a/b": "",
		"nice -n 5 git log a/b": "", "timeout 10 docker/x a/b": "docker/x", "xargs -I{} sh -c 'git show {}'": "",
		"perl -pe s/a/b/": "", "perl -MJSON x.pl": "x.pl", "node --conditions dev x.js": "x.js", "node --foo dev": "",
		"bun test": "", "deno fmt": "", "command -v a": "",
		"if true; then git log a/b; fi": "", "./x 2>&1 a/b": "./x",
		"./x &>log/x a/b": "./x", "x `cat y` a/b": "", "${HOME}/bin/x": "", "sh \"$@\" a/b": "", "x >a/b": "",
		"nice -n 5 ./x": "./x", "env -u FOO ./x": "./x", "sudo -u nobody ./x": "./x", "env -S './x a/b'": "./x",
		"python3 -W ignore x.py": "x.py", "deno run -A x.ts": "x.ts",
		"./x.sh>out": "./x.sh", "./x.sh </dev/null>a/b": "./x.sh",
		"exec </dev/null ./x": "./x", "flock f ./x": "./x",
		"flock -n f -c './x a/b'": "./x", "strace -f -o o ./x": "./x",
		"nohup setsid ./x": "./x", "php x.php": "x.php", "lua5.4 x.lua": "x.lua",
		"Rscript x.R": "x.R", "pwsh x.ps1": "x.ps1",
		"tsx x.ts": "x.ts", "/usr/bin/env python3.11 -u x.py": "/usr/bin/env x.py",
		"bash -ec 'cd a && . b.sh'": "a/b.sh",
		"node -r ./a.js b/c.js":     "./a.js b/c.js", "sh -o pipefail x.sh": "x.sh",
		"'./a b/x' y": "./a b/x", "eval './x'": "./x",
		"echo $(sh x.sh a/b) c/d": "x.sh", "echo \"it's `./x`\" c/d": "./x",
		"f() { ./x a/b; }; f": "./x", "! ./x": "./x",
		"A=$(./y) ./x": "./y ./x", "sh -c \"sh -c './x a/b'\" c/d": "./x",
		"\"$(git rev-parse --show-toplevel)/x\"": "x",
		"git show a/b | grep x":                  "", "cat a/b | prettier c/d": "",
		"bash --norc -c 'docker build docker/'": "",
		"bash -norc x.sh":                       "x.sh", "sh -c 'cd a && ./x'; ./y": "a/./x ./y",
		"bash -s <x.sh b":            "x.sh",
		"node --require=./a.js b.js": "./a.js b.js", "awk -f a.awk b/c": "a.awk", "awk 1 b/c": "",
		"sh <<<'./x a/b'": "./x", "cd a && ./x; ./y": "a/./x ./y a/./y", "curl -s https://a/b | git apply": "",
	} {
		list, _ := variable{"alias", "", "x", "!" + value}.programs("/top", "/home")
		if got := strings.ReplaceAll(strings.Join(list, " "), "/top/", ""); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}

// Keys of git by which it starts a program, and commands whose programs settle cannot know.
func TestCommandsOfConfigurations(t *testing.T) {
	for text, want := range map[string]string{
		"[gc]\nrecentObjectsHook = ./x": "/top/./x", "[sendemail]\nsendmailCmd = ./x": "/top/./x",
		"[sendemail \"a\"]\nsmtpServer = /top/x": "/top/x", "[sendemail]\nsmtpServer = a/b": "",
		"[core]\nsshCommand = env LC_ALL=C ssh": "", "[core]\neditor = env nvim": "", "[alias]\nx = !git log a/b": "",
		"[filter \"x\"]\nclean = python3 -c 'import json'": "uncertain",
		"[filter \"x\"]\nclean = python3 -m nbstripout":    "uncertain",
		"[filter \"x\"]\nclean = python3 -I -m nbstripout": "",
		"[filter \"x\"]\nclean = node --foo dev":           "uncertain",
		"[filter \"x\"]\nclean = perl -pe s/a/b/":          "",
		"[filter \"x\"]\nclean = poetry run clean":         "uncertain",
		"[filter \"x\"]\nclean = sh -c 'poetry run clean'": "uncertain",
	} {
		var got []string
		for _, v := range lenient(text) {
			list, isCertain := v.programs("/top", "/home")
			if got = append(got, list...); !isCertain {
				got = append(got, "uncertain")
			}
			if unread := v.unread("/top", "/top", "/home"); unread == isCertain {
				t.Errorf("%s: unread %v, certain %v", text, unread, isCertain)
			}
		}
		if list := strings.Join(got, " "); list != want {
			t.Errorf("%s: %q, want %q", text, list, want)
		}
	}
}

// What appears behind a dangling link that a configuration or a hook of the user leads through
// is moved aside, and a command cannot reach an absent place through a link of its own. The
// user's own folders behind such a link stay.
func TestGuardMovesWhatLinksLeadTo(t *testing.T) {
	dir := real(t)
	files(t, dir, merge(
		repository("sub/.git", "\thooksPath = .husky\n"), repository("plain/.git", "\thooksPath = q/hooks\n"),
		map[string]string{"docs/hooks/x": "", "scripts/used": "", "plain/x": ""},
	))
	symlinks(t, dir, map[string]string{
		"sub/.husky": "mid", "sub/mid": "../build/hooks", "sub/.git/hooks/pre-commit": "../../../scripts/pc",
		"sub/.git/hooks/pre-push": "../../../scripts/used", "sub/.git/objects/data": "../../../data",
	})
	g := guarded(t, dir)
	p := g.Pointers()
	for _, c := range []struct {
		want string
		got  []string
	}{
		{"scripts/used", p.Existing},
		{"build/hooks plain/q/hooks scripts/pc", p.Absent},
		{"sub/.git/hooks/pre-commit sub/.git/hooks/pre-push sub/.husky sub/mid", p.Links},
	} {
		if list := strings.ReplaceAll(strings.Join(c.got, " "), dir+"/", ""); list != c.want {
			t.Errorf("%q, want %q", list, c.want)
		}
	}
	enter(t, g, dir) // a second command does not make the work of the first one the user's
	files(t, dir, map[string]string{"build/hooks/pre-commit": "x", "scripts/pc": "x", "data": "x"})
	symlinks(t, dir, map[string]string{"plain/q": "../docs"})
	fresh := real(t)
	if err := g.Enter(t.Context(), Area{Look: []string{dir, fresh}}); err != nil {
		t.Fatal(err)
	}
	var moved []string
	for _, f := range g.Check(t.Context()) {
		moved = append(moved, strings.TrimPrefix(f.Path, dir+"/"))
	}
	slices.Sort(moved)
	if got := strings.Join(moved, " "); got != "build/hooks plain/q scripts/pc" {
		t.Errorf("moved %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "docs/hooks/x")); err != nil {
		t.Errorf("the user's folder: %v", err)
	}
}

// A place that a configuration names while a command runs is watched from the next command on; what
// exists there already is named, once.
func TestGuardWatchesPlacesNamedWhileCommandRuns(t *testing.T) {
	for _, another := range []bool{false, true} {
		dir, fresh, config := real(t), real(t), filepath.Join(real(t), "config")
		files(t, dir, map[string]string{"old/x": "", "hk/pre-commit": ""})
		g := New()
		t.Cleanup(func() { _ = g.Close() })
		enter := func(text string) {
			t.Helper()
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			places := Places{Folders: []string{dir}}
			area := Area{Look: []string{dir}, Obeyed: Obeyed([]string{config}, dir, "", places).Absent}
			if area.Named = Named([]string{config}, dir, "", places); another && strings.Contains(text, ".hooks") {
				area.Look = append(area.Look, fresh)
			}
			if err := g.Enter(t.Context(), area); err != nil {
				t.Fatal(err)
			}
		}
		enter("[core]\n\thooksPath = hk\n")
		files(t, dir, map[string]string{"made.sh": "x", "word": "x"})
		text := "[core]\n\thooksPath = .hooks\n[filter \"z\"]\n\tclean = ./z.sh\n\tsmudge = ./made.sh word\n"
		enter(text)
		files(t, dir, map[string]string{".hooks/pre-commit": "x", "z.sh": "x"})
		var got []string
		for _, f := range g.Check(t.Context()) {
			got = append(got, strings.TrimPrefix(f.Path, dir+"/")+" "+strings.TrimPrefix(f.Moved, dir+"/"))
		}
		slices.Sort(got)
		if list := strings.Join(got, ", "); list != ".hooks .hooks-quarantined-1, made.sh , z.sh z.sh-quarantined-1" {
			t.Errorf("found %q", list)
		}
		enter(text)
		if again := g.Check(t.Context()); again != nil {
			t.Errorf("again: %v", again)
		}
	}
}

// A command may remove a virtual environment whose interpreter git runs, and make it again: its links
// to the interpreter are not in the way. Another program in the place of such a link is moved aside,
// and so is a new environment.
func TestGuardLetsCommandsRemakeVirtualEnvironments(t *testing.T) {
	outside := real(t)
	files(t, outside, map[string]string{"python3.11": "", "sh": ""})
	links := map[string]string{"bin/python": outside + "/python3.11", "bin/python3": "python"}
	for name, tt := range map[string]struct {
		before, after map[string]string
		file          string // that the command makes
		want          string
	}{
		"the same":      {links, links, "", ""},
		"only one link": {links, map[string]string{"bin/python3": outside + "/python3.11"}, "", ""},
		"removed":       {links, nil, "", ""},
		"a program":     {links, nil, ".venv/bin/python3", ".venv/bin/python3"},
		"a program behind it": {
			links,
			map[string]string{"bin/python3": "python"},
			".venv/bin/python", ".venv/bin/python3",
		},
		"another program": {links, map[string]string{"bin/python3": outside + "/sh"}, "", ".venv/bin/python3"},
		"a link to a program": {
			links,
			map[string]string{"bin/python3": "../../x/python3"},
			"x/python3", ".venv/bin/python3",
		},
		"none before": {nil, links, "", ".venv/bin/python3"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := real(t)
			venv := filepath.Join(dir, ".venv")
			config := filepath.Join(outside, "config")
			files(t, outside, map[string]string{
				"config": "[filter \"x\"]\nclean = \"\\\"" + venv + "/bin/python3\\\" -m nbstripout\"\n",
			})
			symlinks(t, venv, tt.before)
			enter := func(g *Guard) {
				t.Helper()
				obeyed := Obeyed([]string{config}, dir, "", Places{Folders: []string{dir}})
				if obeyed.Links != nil {
					t.Errorf("the links %q are protected", obeyed.Links)
				}
				if err := g.Enter(t.Context(), Area{Look: []string{dir}, Obeyed: obeyed.Absent}); err != nil {
					t.Fatal(err)
				}
			}
			g := New()
			t.Cleanup(func() { _ = g.Close() })
			enter(g)
			if err := os.RemoveAll(venv); err != nil {
				t.Fatal(err)
			}
			g.Leave()
			enter(g) // another command makes it again
			symlinks(t, venv, tt.after)
			if tt.file != "" {
				files(t, dir, map[string]string{tt.file: "x"})
			}
			var moved []string
			for _, f := range g.Check(t.Context()) {
				moved = append(moved, strings.TrimPrefix(f.Path, dir+"/"))
			}
			slices.Sort(moved)
			if got := strings.Join(moved, " "); got != tt.want {
				t.Errorf("moved %q, want %q", got, tt.want)
			}
		})
	}
}

// A hook folder of the user that all repositories have is not moved aside because a command makes
// a repository.
func TestGuardLeavesHooksOfAllRepositories(t *testing.T) {
	dir, home := real(t), real(t)
	files(t, home, map[string]string{".gitconfig": "[core]\n\thooksPath = " + dir + "/hk\n"})
	files(t, dir, map[string]string{"hk/pre-commit": ""})
	g := New()
	t.Cleanup(func() { _ = g.Close() })
	area := Area{Look: []string{dir}, Configs: []string{filepath.Join(home, ".gitconfig")}, Home: home}
	if err := g.Enter(t.Context(), area); err != nil {
		t.Fatal(err)
	}
	files(t, dir, repository("new/.git", ""))
	if found := g.Check(t.Context()); found != nil {
		t.Errorf("moved: %v", found)
	}
}
