package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		rule config.Rule
		err  string
	}{
		{rule("", "x", event.Deny), `it names no tool; "*" is all of them`},
		{rule("shell", "x", "never"), `the decision "never" is not one of allow, ask, deny`},
		{rule("shell(git *)", "", event.Deny), `"shell(git *)" is not the name of a tool`},
		{rule("mcp*", "", event.Deny), `is not the name of a tool`},
		{rule("shell", "ls && rm", event.Deny), `contains "&&"; a pattern is of one simple command`},
		{rule("shell", "  ", event.Deny), `is blank`},
		{rule("read", "a[", event.Deny), `not a valid glob`},
		{rule("read", "~/x", event.Deny), `needs a home directory`},
	} {
		_, err := policy.New(
			policy.Config{Mode: mode(event.Ask), Rules: []config.Rule{rule("read", "x", event.Allow), tt.rule}},
		)
		if err == nil || !strings.Contains(err.Error(), tt.err) ||
			!strings.Contains(err.Error(), "cannot use rule 2 (") {
			t.Errorf("%v: %v, want %s", tt.rule, err, tt.err)
		}
	}
	if _, err := policy.New(policy.Config{Mode: mode("perhaps")}); err == nil ||
		!strings.Contains(err.Error(), `cannot use the permission "perhaps"`) {
		t.Errorf("default: %v", err)
	}
}

// Each group has the same rules; "!" denies, "?" asks, no mark allows.
func TestRulesForCommands(t *testing.T) {
	const allow, ask, deny = event.Allow, event.Ask, event.Deny
	dir := newDir(t)
	for _, group := range []struct {
		rules string
		cases map[string]event.Permission
	}{
		{"git *", map[string]event.Permission{
			"git push": allow, "git": allow, "git -c a=b push": allow, "/usr/bin/git push": allow, "git push && ls": allow, "timeout 5 git push": ask,
			"bash -c 'git push'": ask, "git push; rm x": ask, "./git push": ask, "gitk": ask, "sudo git push": ask, "GIT_DIR=x git push": ask,
			"git push $X": ask, "git $X": ask, "$X git push": ask, "git push > log": ask, "git push 2>&1 > /dev/null": allow, "git push > /etc/x": ask,
			"git push $(rm x)": ask, "echo $(git push)": ask, "git show .env": ask, "xargs git push": ask, "cd /tmp && git push": ask, "cd sub && git push": allow,
			"eval $X": ask, "git push | sh": ask, "Git push": ask,
		}},
		{"npm run test*", map[string]event.Permission{
			"npm run test": allow, "npm run test:unit": allow, "npm run test -- --watch": allow, "npm run build": ask, "npm run": ask, "npm run $X": ask, "npm run t*": ask,
		}},
		{"npm test", map[string]event.Permission{"npm test": allow, "npm test x": ask, "npm  'test'": allow, "npm t\"es\"t": allow}},
		{"git * main", map[string]event.Permission{"git push origin main": allow, "git push origin dev": ask, "git main": allow, "git push main x": ask, "git $X main": ask}},
		{"A=1 make *", map[string]event.Permission{"A=1 make all": ask, "make all": ask, "B=1 make all": ask}},
		{"git log *", map[string]event.Permission{"git log --output=x": allow, "git log": allow, "git -c core.pager=x log": ask}},
		{"*,!rm", map[string]event.Permission{
			"make": allow, "rm": deny, "rm x": deny, "/bin/rm x": deny, "RM x": deny, "rm.exe x": deny, "ls; rm x": deny, "ls $(rm x)": ask, "sudo rm x": ask,
			"sudo -u root rm x": ask, "env A=1 rm x": ask, "timeout 5 rm x": ask, "xargs rm": ask, "find . -exec rm {} +": ask, "bash -c 'rm x'": ask, "eval rm x": ask,
			"r\\m x": ask, "r''m x": deny, "{rm,x}": ask, "busybox rm x": ask, "trap 'rm x' EXIT": ask, "f() { rm x; }": ask, "rm() { ls; }; rm": ask,
			"$X": ask, "ls | sh": ask, "eval $X": ask, "parallel rm": ask, "env -S 'rm x'": ask, "bash x.sh": allow, "echo rm": allow, "rmdir x": allow, "command rm x": ask,
			"exec rm x": ask, "ls <(rm x)": ask, "cat <<EOF\n$(rm x)\nEOF": ask, "A=1 rm x": ask, "sudo $X": ask, "xargs $X": ask, "(": ask, "coproc rm x": ask,
		}},
		{"*,!git push *", map[string]event.Permission{
			"git push": deny, "git push origin": deny, "git -C sub push": deny, "git --no-pager push": deny, "git -c a=b push -f": deny, "git status": allow,
			"git -c alias.p=push p": ask, "git p": ask, "git -C sub p": ask, "sudo git p": ask, "/usr/lib/git-core/git-push origin": ask, "sudo git-push": ask, "git config alias.p push && git p": ask, "git commit -m x": allow, "git -c alias.p='pu\"\"sh' p": ask, "git -c core.pager='git pu\\sh' log": ask,
			"git $X": ask, "git stash push": allow, "git commit -m push": allow, "echo git push": allow, "git pus?": ask, "git p\"us\"h": deny,
		}},
		{"*,!rm -rf *", map[string]event.Permission{"rm -rf x": deny, "rm -v -rf x": deny, "rm x": allow, "rm $X": ask, "rm -r x": allow}},
		{"*,!curl *", map[string]event.Permission{
			"git -c core.pager=\"cu''rl x\" -p log": ask, "watch 'c\\url x'": ask, "ssh host 'cu$@rl x'": ask, "script -c 'cu`:`rl'": ask, "vim -es -c \"exe '!cu'.'rl'\"": ask,
			"osascript -e 'do shell script x'": ask, "make": allow, "git commit -m \"don't\"": allow, "npm test": allow, "cargo build --release": allow,
		}},
		{"!* --force", map[string]event.Permission{"git push --force": deny, "make --force x": deny, "make": ask}},
		// The last matching rule wins, except over a rule that denies.
		{"git *,?git push *", map[string]event.Permission{"git fetch": allow, "git push": ask}},
		{"?git push *,git *", map[string]event.Permission{"git push": allow}},
		{"!git push *,git *", map[string]event.Permission{"git push": deny, "git fetch": allow}},
		{"?ls", map[string]event.Permission{"ls": ask, "ls -l": ask, "pwd": allow, "lsof": ask, "timeout 5 ls": ask}},
	} {
		var rules []config.Rule
		for _, text := range strings.Split(group.rules, ",") {
			d := allow
			switch text[0] {
			case '!':
				d, text = deny, text[1:]
			case '?':
				d, text = ask, text[1:]
			}
			rules = append(rules, rule("shell", text, d))
		}
		p := newPolicy(t, dir, policy.Config{Rules: rules})
		for command, want := range group.cases {
			if j := p.Judge(shell(t, command)); j.Decision != want {
				t.Errorf("rules %s: %s: %s, want %s (%s: %s)", group.rules, command, j.Decision, want, j.Rule, j.Why)
			}
		}
	}
}

func TestDefaultAllow(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(
		t,
		dir,
		policy.Config{
			Mode: mode(event.Allow),
			Rules: []config.Rule{
				rule("shell", "rm *", event.Deny),
				rule("edit", "*.lock", event.Deny),
				rule("shell", "git push", event.Ask),
			},
		},
	)
	for command, want := range map[string]event.Permission{
		"make && cat .env > /tmp/x": event.Allow, "rm x": event.Deny, "$X": event.Ask, "curl x | sh": event.Ask, "git push": event.Ask, "echo x > a.lock": event.Deny,
		"cp x ./a.lock": event.Ask, "python3 -c 'x'": event.Ask, "python3 x.py": event.Allow, "timeout 60 go test ./...": event.Allow, "for f in a; do ls; done": event.Ask,
		"git commit -m 'no more rm'": event.Ask, "printf 'rm x' > x.sh && sh x.sh": event.Ask, "echo rm | xargs env": event.Ask, "cp /bin/rm x && ./x y": event.Ask,
	} {
		if j := p.Judge(shell(t, command)); j.Decision != want {
			t.Errorf("%s: %s, want %s (%s: %s)", command, j.Decision, want, j.Rule, j.Why)
		}
	}
	free := newPolicy(t, dir, policy.Config{Mode: mode(event.Allow)})
	for _, r := range []settle.Approval{shell(t, "$X"), request(t, "write", map[string]any{"path": "/etc/x"}), request(t, "read", map[string]any{"path": ".env"})} {
		if j := free.Judge(r); j.Decision != event.Allow || j.Rule != "default" {
			t.Errorf("%s %s: %+v", r.Tool.Name, r.Arguments, j)
		}
	}
}

func TestRuleNames(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(
		t, dir,
		policy.Config{Rules: []config.Rule{rule("shell", "git *", event.Allow), rule("shell", "rm", event.Deny)}},
	)
	for command, want := range map[string]string{"ls; git push": "rule shell git *", "git push; rm x": "rule shell rm", "ls": "default", "make": "default"} {
		if j := p.Judge(shell(t, command)); j.Rule != want {
			t.Errorf("%s: decided by %q, want %q", command, j.Rule, want)
		}
	}
	why := p.Judge(shell(t, "rm x")).Why
	if why != "rule shell rm denies it: rm x" {
		t.Errorf("why %q", why)
	}
}

// Commands for another shell than bash can differ from bash's.
func TestOpaqueCommandsAsk(t *testing.T) {
	for command, rules := range map[string][]config.Rule{
		"dir":        nil,
		"ls":         nil, // harmless in bash
		"git status": {{Tool: "shell", Pattern: "git *", Decision: event.Allow}},
	} {
		p, err := policy.New(policy.Config{Mode: mode(event.Ask), Rules: rules, Dir: t.TempDir(), Opaque: true})
		if err != nil {
			t.Fatal(err)
		}
		arguments, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		if j := p.Judge(settle.Approval{Tool: spec("shell"), Arguments: string(arguments)}); j.Decision != event.Ask {
			t.Errorf("%q: %s", command, j.Decision)
		}
	}
}

// A rule of another agent requires no approval for a script that cannot be analysed, unless
// the script names the rule's program.
func TestImportedRules(t *testing.T) {
	dir := newDir(t)
	of := func(r config.Rule) config.Rule { r.Imported = true; return r }
	for _, tt := range []struct {
		rule    config.Rule
		command string
		want    event.Permission
	}{
		{of(rule("read", ".env", event.Deny)), "for f in a b; do echo $f; done", event.Allow},
		{rule("read", ".env", event.Deny), "for f in a b; do echo $f; done", event.Ask},
		{of(rule("read", ".env", event.Deny)), "cat .env", event.Deny},
		{of(rule("shell", "curl *", event.Deny)), "for f in a b; do echo $f; done", event.Allow},
		{rule("shell", "curl *", event.Deny), "for f in a b; do echo $f; done", event.Ask},
		{of(rule("shell", "curl *", event.Deny)), "for f in a b; do /usr/bin/Curl $f; done", event.Ask},
		{of(rule("shell", "* -rf *", event.Deny)), "for f in a b; do echo $f; done", event.Ask},
		{of(rule("shell", "", event.Deny)), "for f in a b; do echo $f; done", event.Deny},
		{of(rule("shell", "curl *", event.Deny)), "make && curl x", event.Deny},
		{of(rule("shell", "curl *", event.Deny)), "make && ls", event.Allow},
	} {
		p := newPolicy(t, dir, policy.Config{Mode: mode(event.Allow), Rules: []config.Rule{tt.rule}})
		if j := p.Judge(shell(t, tt.command)); j.Decision != tt.want {
			t.Errorf("%v: %s: %s (%s), want %s", tt.rule, tt.command, j.Decision, j.Why, tt.want)
		}
	}
	p := newPolicy(
		t, dir, policy.Config{Mode: mode(event.Allow), Rules: []config.Rule{of(rule("shell", "curl *", event.Deny))}},
	)
	for input, want := range map[string]event.Permission{"curl x\n": event.Ask, "ls\n": event.Allow} {
		if j := p.Judge(request(t, "job", map[string]any{"action": "write", "job": "1", "input": input})); j.Decision != want {
			t.Errorf("to a job, %q: %s (%s), want %s", input, j.Decision, j.Why, want)
		}
	}
	if err := policy.Check(of(rule("shell", "a && b", event.Deny)), dir, ""); err == nil {
		t.Error("a rule that cannot be used was not noticed")
	}
}
