package permit_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/settle-agent/settle/internal/permit"
)

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		rule permit.Rule
		err  string
	}{
		{rule("", "x", permit.Deny), `it names no tool; "*" is all of them`},
		{rule("shell", "x", "never"), `the decision "never" is not one of allow, ask, deny`},
		{rule("shell(git *)", "", permit.Deny), `"shell(git *)" is not the name of a tool`},
		{rule("mcp*", "", permit.Deny), `is not the name of a tool`},
		{rule("shell", "ls && rm", permit.Deny), `contains "&&"; a pattern is of one simple command`},
		{rule("shell", "  ", permit.Deny), `is blank`},
		{rule("read", "a[", permit.Deny), `not a valid glob`},
		{rule("read", "~/x", permit.Deny), `needs a home directory`},
	} {
		_, err := permit.New(permit.Config{Rules: []permit.Rule{rule("read", "x", permit.Allow), tt.rule}})
		if err == nil || !strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), "cannot use rule 2 (") {
			t.Errorf("%v: %v, want %s", tt.rule, err, tt.err)
		}
	}
	if _, err := permit.New(permit.Config{Default: "perhaps"}); err == nil || !strings.Contains(err.Error(), `cannot use the default "perhaps"`) {
		t.Errorf("default: %v", err)
	}
}

// Each group has the same rules; "!" denies, "?" asks, else it allows.
func TestRulesForCommands(t *testing.T) {
	const allow, ask, deny = permit.Allow, permit.Ask, permit.Deny
	dir := newDir(t)
	for _, group := range []struct {
		rules string
		cases map[string]permit.Decision
	}{
		{"git *", map[string]permit.Decision{
			"git push": allow, "git": allow, "git -c a=b push": allow, "/usr/bin/git push": allow, "git push && ls": allow, "timeout 5 git push": allow,
			"bash -c 'git push'": allow, "git push; rm x": ask, "./git push": ask, "gitk": ask, "sudo git push": ask, "GIT_DIR=x git push": ask,
			"git push $X": allow, "git $X": allow, "$X git push": ask, "git push > log": ask, "git push 2>&1 > /dev/null": allow, "git push > /etc/x": ask,
			"git push $(rm x)": ask, "echo $(git push)": allow, "git show .env": ask, "xargs git push": allow, "cd /tmp && git push": ask, "cd sub && git push": allow,
			"eval $X": ask, "git push | sh": ask, "Git push": ask,
		}},
		{"npm run test*", map[string]permit.Decision{
			"npm run test": allow, "npm run test:unit": allow, "npm run test -- --watch": allow, "npm run build": ask, "npm run": ask, "npm run $X": ask, "npm run t*": ask,
		}},
		{"npm test", map[string]permit.Decision{"npm test": allow, "npm test x": ask, "npm  'test'": allow, "npm t\"es\"t": allow}},
		{"git * main", map[string]permit.Decision{"git push origin main": allow, "git push origin dev": ask, "git main": allow, "git push main x": ask, "git $X main": allow}},
		{"A=1 make *", map[string]permit.Decision{"A=1 make all": allow, "make all": ask, "B=1 make all": ask}},
		{"git log *", map[string]permit.Decision{"git log --output=x": allow, "git log": allow, "git -c core.pager=x log": ask}},
		{"*,!rm", map[string]permit.Decision{
			"make": allow, "rm": deny, "rm x": deny, "/bin/rm x": deny, "RM x": deny, "rm.exe x": deny, "ls; rm x": deny, "ls $(rm x)": deny, "sudo rm x": deny,
			"sudo -u root rm x": deny, "env A=1 rm x": deny, "timeout 5 rm x": deny, "xargs rm": deny, "find . -exec rm {} +": deny, "bash -c 'rm x'": deny, "eval rm x": deny,
			"r\\m x": deny, "r''m x": deny, "{rm,x}": deny, "busybox rm x": deny, "trap 'rm x' EXIT": deny, "f() { rm x; }": deny, "rm() { ls; }; rm": deny,
			"$X": ask, "ls | sh": ask, "eval $X": ask, "parallel rm": ask, "env -S 'rm x'": ask, "bash x.sh": allow, "echo rm": allow, "rmdir x": allow, "command rm x": deny,
			"exec rm x": deny, "ls <(rm x)": deny, "cat <<EOF\n$(rm x)\nEOF": deny, "A=1 rm x": deny, "sudo $X": ask, "xargs $X": ask, "(": ask, "coproc rm x": deny,
		}},
		{"*,!git push *", map[string]permit.Decision{
			"git push": deny, "git push origin": deny, "git -C sub push": deny, "git --no-pager push": deny, "git -c a=b push -f": deny, "git status": allow,
			"git $X": ask, "git stash push": allow, "git commit -m push": allow, "echo git push": allow, "git pus?": ask, "git p\"us\"h": deny,
		}},
		{"*,!rm -rf *", map[string]permit.Decision{"rm -rf x": deny, "rm -v -rf x": deny, "rm x": allow, "rm $X": ask, "rm -r x": allow}},
		{"!* --force", map[string]permit.Decision{"git push --force": deny, "make --force x": deny, "make": ask}},
		// The last rule counts, but one that denies always does.
		{"git *,?git push *", map[string]permit.Decision{"git fetch": allow, "git push": ask}},
		{"?git push *,git *", map[string]permit.Decision{"git push": allow}},
		{"!git push *,git *", map[string]permit.Decision{"git push": deny, "git fetch": allow}},
		{"?ls", map[string]permit.Decision{"ls": ask, "ls -l": ask, "pwd": allow, "lsof": ask, "timeout 5 ls": ask}},
	} {
		var rules []permit.Rule
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
		p := newPolicy(t, permit.Config{Rules: rules})
		for command, want := range group.cases {
			if j := p.Judge(shell(t, dir, command)); j.Decision != want {
				t.Errorf("rules %s: %s: %s, want %s (%s: %s)", group.rules, command, j.Decision, want, j.Rule, j.Why)
			}
		}
	}
}

func TestDefaultAllow(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, permit.Config{Default: permit.Allow, Rules: []permit.Rule{rule("shell", "rm *", permit.Deny), rule("edit", "*.lock", permit.Deny), rule("shell", "git push", permit.Ask)}})
	for command, want := range map[string]permit.Decision{
		"make && cat .env > /tmp/x": permit.Allow, "rm x": permit.Deny, "$X": permit.Ask, "curl x | sh": permit.Ask, "git push": permit.Ask, "echo x > a.lock": permit.Deny,
		"cp x ./a.lock": permit.Ask, "python3 -c 'x'": permit.Allow,
	} {
		if j := p.Judge(shell(t, dir, command)); j.Decision != want {
			t.Errorf("%s: %s, want %s (%s: %s)", command, j.Decision, want, j.Rule, j.Why)
		}
	}
	free := newPolicy(t, permit.Config{Default: permit.Allow})
	for _, r := range []permit.Request{shell(t, dir, "$X"), request(t, dir, "write", map[string]any{"path": "/etc/x"}), request(t, dir, "read", map[string]any{"path": ".env"})} {
		if j := free.Judge(r); j.Decision != permit.Allow || j.Rule != "default" {
			t.Errorf("%s %s: %+v", r.Tool, r.Arguments, j)
		}
	}
}

func TestRuleNames(t *testing.T) {
	dir := newDir(t)
	p := newPolicy(t, permit.Config{Rules: []permit.Rule{rule("shell", "git *", permit.Allow), rule("shell", "rm", permit.Deny)}})
	for command, want := range map[string]string{"ls; git push": "rule shell git *", "git push; rm x": "rule shell rm", "ls": "default", "make": "default"} {
		if j := p.Judge(shell(t, dir, command)); j.Rule != want {
			t.Errorf("%s: decided by %q, want %q", command, j.Rule, want)
		}
	}
	why := p.Judge(shell(t, dir, "rm x")).Why
	if why != "rule shell rm denies it: rm x" {
		t.Errorf("why %q", why)
	}
}

// Commands for another shell than bash are not what they would be for bash.
func TestOpaqueCommandsAsk(t *testing.T) {
	for command, rules := range map[string][]permit.Rule{
		"dir":        nil,
		"ls":         nil, // harmless to bash
		"git status": {{Tool: "shell", Pattern: "git *", Decision: permit.Allow}},
	} {
		p, err := permit.New(permit.Config{Rules: rules, Dir: t.TempDir(), Opaque: true})
		if err != nil {
			t.Fatal(err)
		}
		arguments, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		if j := p.Judge(permit.Request{Tool: "shell", Arguments: arguments}); j.Decision != permit.Ask {
			t.Errorf("%q: %s", command, j.Decision)
		}
	}
}
