package policy_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// sandboxed judges a command with a sandbox that keeps the repository read-only.
func sandboxed(t *testing.T, dir, command string, mode policy.Mode, rules ...config.Rule) settle.Judgement {
	t.Helper()
	p, err := policy.New(policy.Config{
		Mode: func() policy.Mode { return mode }, Rules: rules, Dir: dir, Environ: os.Environ(), Confine: true, ReadOnlyGit: true,
		Sandbox: func(policy.Mode) event.Sandbox { return event.Workspace },
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	a := settle.Approval{Arguments: string(raw)}
	a.Tool.Name = "shell"
	return p.Judge(a)
}

// Git commands that change the repository need an approval at once, to run outside the
// sandbox; together with other commands they stay in the sandbox.
func TestGitChangesAreAskedAbout(t *testing.T) {
	dir := newCalmDir(t)
	for _, name := range []string{"HEAD", "objects/x", "refs/x"} {
		path := filepath.Join(dir, "nested", ".git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("ref: refs/heads/main\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for command, asked := range map[string]bool{
		"git add -A": true, "git commit -m x": true, "cd sub && git add . && git commit -qm 'a b'": true, "git -C sub stash": true, "git switch -c x": true, "git push": true,
		"git fetch origin && git status": true, "git branch new": true, "git tag v1": true, "git config core.editor x": true, "git remote add o u": true, "git submodule update --init": true,
		"git -c user.name=x commit --amend": true, "git stash": true, "git rebase -i HEAD~2": true, "git worktree add ../x": true, "git symbolic-ref HEAD": false,
		"git commit -m \"$(cat <<'EOF'\nfix: the (thing)\n\n$(not run) `nor this`\nEOF\n)\"": true,
		"git commit -m \"$(cat <<'EOF'\nfix\nEOF\nmake evil\ncat <<'EOF'\nEOF\n)\"":          false,
		"git add -A && git commit -m \"$(cat <<'EOF'\nfix\nEOF\n)\" && make":                 false,
		"make && git commit -m x": false, "git commit -m \"$(make)\"": false, "git bisect run make": false, "git submodule foreach make": false, "sh -c 'git add .'": false,
		"git clone u d": false, "git init sub": false, "git remote -v": false, "git config --get user.name": false, "git branch --contains x": false, "git submodule status": false, "git stash show -p": false,
		"git -C nested add .": false, "cd nested && git commit -m x": false, "git add . >log": false, "git ls-remote": false,
	} {
		j := sandboxed(t, dir, command, policy.Mode{})
		if got := j.Decision == event.Ask && !j.Sandbox.On(); got != asked || !asked && j.Decision != event.Allow {
			t.Errorf("%s: %+v, asked: %t", command, j, asked)
		}
		if asked && !strings.Contains(j.Why, "read-only in the sandbox") {
			t.Errorf("%s: %s", command, j.Why)
		}
	}
}

// If no person can answer, the refusal names the rule that would allow the command.
func TestGitChangesByRule(t *testing.T) {
	dir := newCalmDir(t)
	rule := func(confinement event.Sandbox) config.Rule {
		return config.Rule{Tool: "shell", Pattern: "git commit *", Decision: event.Allow, Sandbox: confinement}
	}
	for _, c := range []struct {
		name  string
		mode  policy.Mode
		rules []config.Rule
		want  settle.Permission
	}{
		{"ask", policy.Mode{}, nil, event.Ask},
		{"allow", policy.Mode{Permission: event.Allow}, nil, event.Ask},
		{"nobody to ask", policy.Mode{Unasked: "headless"}, nil, event.Deny},
		{"deny", policy.Mode{Permission: event.Deny}, nil, event.Deny},
		{"rule", policy.Mode{Unasked: "headless"}, []config.Rule{rule(event.NoSandbox)}, event.Allow},
		{"rule in the sandbox", policy.Mode{}, []config.Rule{rule("")}, event.Ask},
	} {
		j := sandboxed(t, dir, "git commit -m x", c.mode, c.rules...)
		if j.Decision != c.want || j.Sandbox.On() && c.want != event.Deny {
			t.Errorf("%s: %+v", c.name, j)
		}
		if c.name == "nobody to ask" &&
			!strings.Contains(j.Why, `pattern = "git commit -m x", decision = "allow", sandbox = "off"`) {
			t.Errorf("%s: %s", c.name, j.Why)
		}
	}
}

// A rule does not run git outside the sandbox while a sandboxed job can change the
// repository that git finds.
func TestGitByRuleAsksWhileJobCanChangeRepository(t *testing.T) {
	dir := newCalmDir(t)
	for _, name := range []string{".git", "nested/.git"} {
		for _, entry := range []string{"HEAD", "objects/x", "refs/x"} {
			path := filepath.Join(dir, name, entry)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte("ref: refs/heads/main\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(policy.Config{
		Mode: func() policy.Mode { return policy.Mode{} }, Dir: dir, Environ: os.Environ(), Confine: true, ReadOnlyGit: true,
		Sandbox: func(policy.Mode) event.Sandbox { return event.Workspace },
		Rules: []config.Rule{
			{Tool: "shell", Pattern: "git commit *", Decision: event.Allow, Sandbox: event.NoSandbox},
			{Tool: "shell", Pattern: "git -C *", Decision: event.Allow, Sandbox: event.NoSandbox},
			{Tool: "shell", Pattern: "git --git-dir *", Decision: event.Allow, Sandbox: event.NoSandbox},
		},
		GitRisk: func(paths []string) string {
			if paths != nil &&
				!slices.ContainsFunc(paths, func(path string) bool { return path != filepath.Join(real, ".git") }) {
				return ""
			}
			return "a job runs"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[[2]string]settle.Permission{
		{"git commit -m x", ""}:                       event.Allow,
		{"cd sub && git commit -m x", ""}:             event.Ask, // the job can make sub/.git
		{"cd nested && git commit -m x", ""}:          event.Ask,
		{"git commit -m x", "nested"}:                 event.Ask,
		{"git -C nested commit -m x", ""}:             event.Ask,
		{"git --git-dir nested/.git commit -m x", ""}: event.Ask,
		// The first command brings a repository of the job into the index, the second enters it.
		{"git commit -m x && git commit -a -m y", ""}: event.Ask,
	} {
		raw, err := json.Marshal(map[string]string{"command": call[0], "workdir": call[1]})
		if err != nil {
			t.Fatal(err)
		}
		a := settle.Approval{Arguments: string(raw)}
		a.Tool.Name = "shell"
		if j := p.Judge(a); j.Decision != want || want == event.Ask && j.Why != "a job runs" {
			t.Errorf("%v: %+v", call, j)
		}
	}
	for _, arguments := range []string{
		`{"command": "git commit -m x", "background": true}`, `{"command": "git commit -m x", "yield_ms": 700}`,
	} {
		a := settle.Approval{Arguments: arguments}
		a.Tool.Name = "shell"
		if j := p.Judge(a); j.Decision != event.Ask || !strings.Contains(j.Why, "as a job") || j.Alone != nil {
			t.Errorf("%s: %+v", arguments, j)
		}
	}
}

// A rule for git outside of the sandbox covers neither programs and files that options name,
// nor repositories on this machine, which a sandboxed command may have made.
func TestGitByRuleAsksAboutProgramsAndLocalRepositories(t *testing.T) {
	dir := newCalmDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	p, err := policy.New(policy.Config{
		Mode: func() policy.Mode { return policy.Mode{} }, Dir: dir, Environ: os.Environ(), Confine: true, ReadOnlyGit: true,
		Sandbox: func(policy.Mode) event.Sandbox { return event.Workspace },
		Rules:   []config.Rule{{Tool: "shell", Pattern: "git *", Decision: event.Allow, Sandbox: event.NoSandbox}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]settle.Permission{
		"git push origin main": event.Allow, "git push": event.Allow, "git fetch --all --prune": event.Allow,
		"git pull --rebase origin feature/x": event.Allow, "git clone https://example.com/x.git": event.Allow,
		"git push git@example.com:x/y.git HEAD:refs/heads/z": event.Allow, "git commit -m ./x": event.Allow,
		"git push ~/.cache/x HEAD:refs/heads/z": event.Ask, "git fetch file:///tmp/x": event.Ask, "git pull ../x": event.Ask,
		"git push sub": event.Ask, "git fetch --upload-pack='touch x' origin": event.Ask, "git fetch --upl=x origin": event.Ask,
		"git push --receive-pack=x origin": event.Ask, "git log --output=x": event.Ask, "git rebase -x make": event.Ask,
		"git clone -u x https://example.com/x.git": event.Ask, "git fetch ext::sh": event.Ask, "git bisect run x": event.Ask,
	} {
		raw, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		a := settle.Approval{Arguments: string(raw)}
		a.Tool.Name = "shell"
		if j := p.Judge(a); j.Decision != want {
			t.Errorf("%s: %+v, want %s", command, j, want)
		}
	}
}

// In a mode that allows every call, a rule for git lets no other command run outside of the sandbox.
func TestGitByRuleTakesNoOtherCommandOutside(t *testing.T) {
	dir := newCalmDir(t)
	rule := config.Rule{Tool: "shell", Pattern: "git commit *", Decision: event.Allow, Sandbox: event.NoSandbox}
	for _, command := range []string{
		"make && git commit -m x", "cat a.txt && git commit -m x", "echo x >a.txt && git commit -m x",
		"git push && git commit -m x", "sleep 1; git commit -m x",
	} {
		j := sandboxed(t, dir, command, policy.Mode{Permission: event.Allow}, rule)
		if j.Decision == event.Allow && !j.Sandbox.On() {
			t.Errorf("%s: %+v", command, j)
		}
	}
}

// An approval for the session is not offered for git with words that could lead to a program, also
// beside a message that is a here-document, and for other commands beside git.
func TestGitApprovalForSessionCoversKnownWords(t *testing.T) {
	dir := newCalmDir(t)
	message := "git commit -m \"$(cat <<'EOF'\nmsg\nEOF\n)\""
	for command, once := range map[string]bool{
		"git commit -m x": false, "git add -A && " + message: false, "cd sub && git add . && git commit -qm x": false,
		"git push -u origin main": false, "git rebase --onto main x": false,
		"git rebase -mx ./t.sh HEAD~1": true, "git rebase -x ./t.sh HEAD~1 && " + message: true,
		"git worktree add ../x": true, "git push later main": true, "cat a.txt; " + message: true,
		"git rebase --strategy=x/../evil.sh main": true, "git commit -m x <a.txt": true,
	} {
		if j := sandboxed(t, dir, command, policy.Mode{}); j.Decision != event.Ask || j.Once != once {
			t.Errorf("%s: %s, once: %t: %s", command, j.Decision, j.Once, j.Why)
		}
	}
}

// A rule for a git command outside of the sandbox does not allow words that lead git to a
// program, a file or a repository that commands can make, unless the rule has the word.
func TestGitByRuleAsksAboutProgramsFilesAndPlaces(t *testing.T) {
	dir := newCalmDir(t)
	if err := os.WriteFile(filepath.Join(dir, "--receive-pack=evil"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rules := func(patterns ...string) (list []config.Rule) {
		for _, pattern := range patterns {
			list = append(list, config.Rule{
				Tool: "shell", Pattern: pattern, Decision: event.Allow, Sandbox: event.NoSandbox,
			})
		}
		return list
	}
	var subcommands []string
	for _, name := range strings.Fields("add commit fetch push pull log diff rebase remote archive bisect tag") {
		subcommands = append(subcommands, "git "+name+" *")
	}
	for _, c := range []struct {
		want     settle.Permission
		rules    []config.Rule
		commands string
	}{
		{event.Allow, rules(subcommands...), `
git push
git push -u origin main
git push --tags origin HEAD:refs/heads/z
git push origin feature/x
git push git@example.com:a/b.git main
git fetch https://example.com/a/b.git
git fetch --filter=blob:none origin
git fetch --all --prune
git pull --rebase origin main
git commit -am 'Fix /api/x'
git commit -m'Fix: template'
git commit --fixup HEAD
git add a.txt ./main.go sub/deep
git add ./*.go
git add -- *.go
git commit -am x -- *.go
git add -A && git commit -m x
cd sub && echo done && true && printf x && git status && git commit -m x
git rebase -m -i --onto main x
git rebase -Xours main
git commit -qm --template=x
git rebase --onto main x
git tag -a v1 -m v1
git remote add up https://example.com/x.git
git bisect good
git log -p --stat
`},
		{event.Ask, rules(subcommands...), `
git rebase -mx ./evil.sh HEAD~1
git rebase -X -- -x ./evil.sh HEAD~1
git rebase --strategy x/../evil.sh --onto side HEAD~1
git rebase -* HEAD~1
git rebase [-]* HEAD~1
git rebase --ex=make
git fetch -o -- --upload-pack=./evil.sh origin
git push -o -- --receive-pack=./evil.sh origin main
git push -uo -- --exec x
git push later HEAD:refs/heads/b
git push sub/later HEAD:refs/heads/b
git fetch --multiple origin later
git commit --allow-empty --trailer -- -F /home/x/notes.txt
git commit --unknown -m --template=x
git commit -m x <a.txt
git commit --am -m x
git pull --rebase --strategy=x/../evil.sh origin main
git add ../x
git tag v1 /home/x
git add *.go
git log -p --ext-diff
cat a.txt; git commit -m x
sleep 2; git commit -m x
ls && git push
echo * && git push
git log -1 | cat && git push
git push /home/x/.cache/evil HEAD
git push ~/.cache/evil HEAD
git push file:///home/x/evil HEAD
git push FILE:///home/x/evil HEAD
git push ../evil HEAD
git push . x
git fetch sub
git fetch sub/../sub
git fetch 'ext::sh -c touch%20x'
git pull localhost:/home/x/evil
git push ssh://me@127.0.0.1/home/x/evil
git push foo://x
git fetch --upload-pack='touch x' origin
git fetch --upload-p 'touch x' origin
git push --receive-pack='touch x' origin
git push --exec='touch x' origin
git push --rec=x origin
git push *
git push --repo=x
git log --output=x
git log --out x
git diff --no-index a.txt main.go
git commit -F a.txt
git commit -aF a.txt
git commit --template=a.txt
git commit -t a.txt
git add --pathspec-from-file=a.txt
git rebase -x make main
git rebase --exec=make main
git remote add up /home/x/evil
git archive -o x HEAD
git archive --remote=/home/x/evil HEAD
git bisect run make
git tag -F a.txt v1
`},
		{event.Allow, rules("git *"), `
git commit -m x
git commit -m '- x'
git tag -m '- x' v1
git checkout -- --x
git commit -m x -- --x
git stash push -- --x
git symbolic-ref HEAD refs/heads/x
git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/main
git symbolic-ref -d refs/remotes/origin/HEAD
git update-ref refs/heads/x HEAD
git -C sub commit -m x
`},
		{event.Ask, rules("git *"), `
git -c core.pager=evil log
git --exec-path=evil log
git config core.editor evil
git -C /home/x/evil commit -m x
git --git-dir=/home/x/evil log
git difftool -y
git merge-index ./evil.sh -a
git x/../evil.sh
git read-tree --index-output=/home/x/clobber HEAD
git init /outside2
git worktree add /tmp/attack/outside side
git cherry-pick --strategy=x/../evil.sh side
git submodule foreach make
git clone -u evil x
git filter-branch x
git archive --prefix --remote=. --prefix --exec=./evil.sh HEAD
git archive --prefix --output=/home/x/.profile HEAD
git remote update -- --no-multiple . --upload-pack=./evil.sh
git pull -- origin --upload-pack=./evil.sh
git remote add -f -- --upload-pack=x https://example.invalid/x
git remote add -f -t --upload-pack=x up https://example.invalid/x
git cherry-pick -- --output=/home/x/.profile
git revert -- --output=/home/x/.profile
git revert -- -*
git cherry-pick -- *
git cherry-pick -X --output=/home/x/.profile side
git bisect skip -- --output=/home/x/.profile
git rebase -- --exec=./evil.sh
git symbolic-ref config refs/heads/x
git symbolic-ref -m x config refs/heads/x
git symbolic-ref refs/../config refs/heads/x
git symbolic-ref ./config refs/heads/x
git update-ref hooks/pre-commit HEAD
`},
	} {
		for command := range strings.SplitSeq(strings.TrimSpace(c.commands), "\n") {
			j := sandboxed(t, dir, command, policy.Mode{}, c.rules...)
			if j.Decision != c.want || c.want == event.Allow && j.Sandbox.On() {
				t.Errorf("%s: %+v", command, j)
			}
		}
	}
	for command, pattern := range map[string]string{
		"git fetch --upload-pack=x origin":            "git fetch --upload-pack=x *",
		"git log --output=x":                          "git log --output=*",
		"git push ../b main":                          "git push ../b *",
		"git -C /home/x/b commit -m x":                "git -C /home/x/b *",
		"git config a.b c":                            "git config *",
		"git bisect run make":                         "git bisect run *",
		"git rebase -x make main":                     "git rebase -x *",
		"git rebase -x true main":                     "git rebase -x true *",
		"git rebase -x 'make check' main":             "git rebase -x make* main",
		"git -c user.name=bot commit -m x":            "git -c user.name=bot *",
		"git -c a.b=1 -c c.d=2 log":                   "git -c a.b=1 -c c.d=2 *",
		"git -c user.name=bot config a.b c":           "git -c * config *",
		"/usr/bin/git config a.b c":                   "git config *",
		"git diff --no-index a.txt main.go":           "",
		"git config a.b c && git rebase -x true main": "git config *, git rebase -x true *",
	} {
		list := rules(strings.Split(pattern, ", ")...)
		if j := sandboxed(t, dir, command, policy.Mode{}, list...); j.Decision != event.Allow || j.Sandbox.On() {
			t.Errorf("%s with the rule %q: %+v", command, pattern, j)
		}
	}
}

// A rule allows the words of its pattern once, at their place, with their values.
func TestGitByRuleAllowsWordsOfPatternOnce(t *testing.T) {
	dir := newCalmDir(t)
	for command, patterns := range map[string]string{
		"git -c user.name=bot -c core.fsmonitor=./evil.sh status": "git -c user.name=bot *",
		"git rebase -x true -x ./evil.sh HEAD~1":                  "git rebase -x true *",
		"git rebase --exec=true --exec=./evil.sh HEAD~1":          "git rebase --exec=true *",
		"git rebase --exec=true --exec ./evil.sh HEAD~1":          "git rebase --exec=true *",
		"git rebase -x make -x ./evil.sh HEAD~1":                  "git rebase -x *",
		"git rebase -x ./evil.sh -x true":                         "git rebase * -x true",
		"git push push HEAD:refs/heads/b":                         "git push *",
		"git push git HEAD:refs/heads/b":                          "git push *",
		"git shell -c x":                                          "git *",
		"git -c core.fsmonitor=./evil.sh rebase -c x":             "git * rebase -c x",
		"git push ../b x && git pull ../b":                        "git push ../b *, git pull *",
		"git rebase -x true a && git rebase -x ./evil.sh b":       "git rebase -x true *, git rebase *",
		"git fetch ../b && git fetch origin ../b":                 "git fetch *, git fetch ../b",
	} {
		var rules []config.Rule
		for pattern := range strings.SplitSeq(patterns, ", ") {
			rules = append(rules, config.Rule{
				Tool: "shell", Pattern: pattern, Decision: event.Allow, Sandbox: event.NoSandbox,
			})
		}
		if j := sandboxed(t, dir, command, policy.Mode{}, rules...); j.Decision != event.Ask {
			t.Errorf("%s with the rules %q: %+v", command, patterns, j)
		}
	}
}

// Git exchanges commits by a rule only if the repository's configuration has remotes in a usual form, of
// other machines.
func TestGitByRuleReadsConfigurationOfRemotes(t *testing.T) {
	const usual = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n" +
		"\tlogallrefupdates = true ; a comment\n# a comment\n[extensions]\n\tworktreeConfig\n" +
		"[remote \"origin\"]\n\turl = https://example.com/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n" +
		"\tgh-resolved = base\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n" +
		"\tdescription = \"a \\\"b\\n; c\"\n[user]\n\tname = A B # c\n[submodule \"x\"]\n\tactive = true\n" +
		"[lfs]\n\trepositoryformatversion = 0\n[lfs \"https://example.com/x.git/info/lfs\"]\n\taccess = basic\n" +
		"[pull]\n\trebase = true\n[push]\n\tdefault = current\n\tautoSetupRemote = true\n\n"
	for lines, want := range map[string]settle.Permission{
		"": event.Allow,
		"[remote]\npushDefault = origin\n[branch \"x\"]\npushRemote = origin\n":         event.Allow,
		"[remote \"up\"]\nurl = git@example.com:a/b.git\npushurl = ssh://h.example/x\n": event.Allow,
		"[branch \"x\"]\n\tremote = https://example.com/a/b.git\n":                      event.Allow,
		"[remote \"up\"]\nurl = ./my mirror\n":                                          event.Ask,
		"[remote \"up\"]\nurl = ./mymirror ; x\n":                                       event.Ask,
		"[remote \"up\"]\nurl = ./mymirror#x\n":                                         event.Ask,
		"[remote \"up\"]\nurl = \"./mymirror\"\n":                                       event.Ask,
		"[remote \"up\"]\nurl = ./my\\\nmirror\n":                                       event.Ask,
		"[remote \"up\"]\nurl = .\\t\n":                                                 event.Ask,
		"[remote \"up\"] url = ./mymirror\n":                                            event.Ask,
		"[remote \"up\"] ; x\nurl = ./mymirror\n":                                       event.Ask,
		"[remote \"u\\p\"]\nurl = ./mymirror\n":                                         event.Ask,
		"[Remote \"up\"]\nURL = ./mymirror\n":                                           event.Ask,
		"[remote.up]\nurl = ./mymirror\n":                                               event.Ask,
		"[remote \"up\"]\nurl\n":                                                        event.Ask,
		"[remote \"up\"]\nurl = ./mymirror\n":                                           event.Ask,
		"[remote \"up\"]\nurl = https://example.com/x\nvcs = ext\n":                     event.Ask,
		"[remote]\npushDefault = ./later\n":                                             event.Ask,
		"[remote]\npushDefault = later\n":                                               event.Ask,
		"[remote]\npushDefault = ./my later\n":                                          event.Ask,
		"[branch \"x\"]\nremote = later\n":                                              event.Ask,
		"[branch \"x\"]\nremote = .\n":                                                  event.Ask,
		"[branch \"x\"]\npushRemote = later\n":                                          event.Ask,
		"[branch \"x\"]\nremote = https://localhost/x\n":                                event.Ask,
		"[url \"./later/\"]\ninsteadOf = https://example.com/\n":                        event.Ask,
		"[URL \"./later/\"]\npushInsteadOf = https://example.com/\n":                    event.Ask,
		"[include]\npath = ../x\n":                                                      event.Ask,
		"[remotes]\ndefault = ./later\n":                                                event.Ask,
		"\ufeff[remote \"up\"]\nurl = ./mymirror\n":                                     event.Ask,
	} {
		for _, file := range []string{"config", "config.worktree"} {
			dir := newCalmDir(t)
			content := map[string]string{"config": usual}
			content[file] += lines
			for name, text := range content {
				if err := os.WriteFile(filepath.Join(dir, ".git", name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			rule := config.Rule{Tool: "shell", Pattern: "git *", Decision: event.Allow, Sandbox: event.NoSandbox}
			j := sandboxed(t, dir, "git push", policy.Mode{}, rule)
			if j.Decision != want || want == event.Allow && j.Sandbox.On() {
				t.Errorf("%s with %q: %+v", file, lines, j)
			}
		}
	}
}

// If the remotes of the configuration are not known, git asks before each exchange of commits.
func TestGitByRuleAsksIfRemotesAreUnknown(t *testing.T) {
	dir := newCalmDir(t)
	text := "[remote \"origin\"]\nurl = https://example.com/x\n[url \"./later/\"]\ninsteadOf = https://example.com/\n"
	if err := os.WriteFile(filepath.Join(dir, ".git", "config"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	rule := config.Rule{Tool: "shell", Pattern: "git *", Decision: event.Allow, Sandbox: event.NoSandbox}
	for command, want := range map[string]settle.Permission{
		"git push origin main": event.Ask, "git push https://example.com/x main": event.Ask,
		"git fetch origin": event.Ask, "git fetch --all": event.Ask, "git pull origin main": event.Ask,
		"git ls-remote origin": event.Ask, "git remote update": event.Ask, "git remote prune origin": event.Ask,
		"git remote add -f up https://example.com/y": event.Ask,
		"git remote add up https://example.com/y":    event.Allow, "git commit -m x": event.Allow,
	} {
		if j := sandboxed(t, dir, command, policy.Mode{}, rule); j.Decision != want {
			t.Errorf("%s: %+v", command, j)
		}
	}
}

// The options -C of git count once: the remotes are those of the repository there, not of one below.
func TestGitByRuleReadsRepositoryOfDirectory(t *testing.T) {
	dir := newCalmDir(t)
	for path, url := range map[string]string{"sub": "./evil", "sub/sub": "https://example.com/x"} {
		for name, text := range map[string]string{
			"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": "",
			"config": "[remote \"origin\"]\nurl = " + url + "\n",
		} {
			file := filepath.Join(dir, path, ".git", name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	rule := config.Rule{Tool: "shell", Pattern: "git *", Decision: event.Allow, Sandbox: event.NoSandbox}
	for command, want := range map[string]settle.Permission{
		"git -C sub push": event.Ask, "git --no-pager -C sub push": event.Ask, "cd sub && git push": event.Ask,
		"git -C sub -C sub push": event.Allow, "git -C sub/sub push": event.Allow,
		"cd sub && git -C sub push": event.Allow,
	} {
		if j := sandboxed(t, dir, command, policy.Mode{}, rule); j.Decision != want {
			t.Errorf("%s: %+v", command, j)
		}
	}
}

// A question about git is bound to the content of a script or an input that the command names.
func TestGitQuestionIsBoundToNamedFiles(t *testing.T) {
	for command, bound := range map[string]bool{
		"git rebase -x ./t.sh main": true, "git rebase -x./t.sh main": true, "git rebase -x 'sh t.sh a' main": true,
		"git rebase --exec=./t.sh main": true, "git rebase --exec ./t.sh main": true, "git bisect run ./t.sh": true,
		"git -c core.editor=./t.sh commit": true, "git -c alias.x='!./t.sh' x": true, "git submodule foreach ../t.sh": false,
		"cd sub && git rebase -x ./t.sh main": true, "git -C sub rebase -x ../t.sh main": true,
		"git commit -F t.sh": true, "git apply t.sh": true, "git am t.sh": true,
		"git add t.sh": false, "git commit -m t.sh": false, "git commit -- t.sh": false, "git checkout t.sh": false,
		"git rm --cached t.sh": false, "git push origin main": false, "git mv t.sh u.sh": false, "git log -- t.sh": false,
	} {
		dir := newCalmDir(t)
		path := filepath.Join(dir, "t.sh")
		var hashes []string
		for _, content := range []string{"true\n", "evil\n"} {
			if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
				t.Fatal(err)
			}
			j := sandboxed(t, dir, command, policy.Mode{}, config.Rule{Tool: "shell", Decision: event.Ask})
			hashes = append(hashes, j.Files)
		}
		if changed := hashes[0] != hashes[1]; changed != bound || !bound && hashes[0] != "" {
			t.Errorf("%s: %q, bound: %t", command, hashes, bound)
		}
	}
}
