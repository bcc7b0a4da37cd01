//go:build machine

package assemble

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/model/script"
)

// shellStep is a call of shell in a directory.
func shellStep(command, workdir string, background bool) script.Step {
	args, _ := json.Marshal(map[string]any{ // texts
		"command": command, "workdir": workdir, "background": background,
	})
	return script.Call("shell", string(args))
}

// A rule runs git outside of the sandbox. Neither a parallel call nor a job makes it run a program.
func TestGitByRuleRunsNothingOfParallelCommands(t *testing.T) {
	if !confines(t) {
		return
	}
	hook := `cp "$EVIL" .git/hooks/pre-commit; cp "$EVIL" .git/hooks/post-commit; `
	for _, c := range []struct {
		name, before, want string
		denied             bool
		steps              []script.Step
	}{
		{
			"a hook of a parallel call", "mkdir -p n", "is now", false,
			[]script.Step{script.Turn(
				shellStep(`cd n; git init -q; `+hook+`sleep 1`, "", false),
				shellStep("git commit -q --allow-empty -m x", "n", false),
			)},
		},
		{
			"a hook in an absent folder that the configuration names", "git config core.hooksPath .h", "", true,
			[]script.Step{
				script.Turn(shellStep(`while mkdir -p .h; do cp "$EVIL" .h/pre-commit; sleep 0.02; done`, "", true)),
				script.Turn(shellStep("git commit -q --allow-empty -m x", "", false)),
			},
		},
		{
			"a file behind a link of a parallel call", "echo secret >../secret", "", false,
			[]script.Step{script.Turn(
				shellStep("ln -sf ../secret notes; sleep 1", "", false),
				shellStep("sleep 0.5; cat notes; git commit -q --allow-empty -m x", "", false),
			)},
		},
	} {
		u := newUser(t)
		u.git(t, u.work, c.before)
		rule := "[[rules]]\ntool = \"shell\"\npattern = \"git commit *\"\ndecision = \"allow\"\nsandbox = \"off\"\n"
		a := make1(t, resolve(t, "/", nil, nil, rule), func(o *Options) {
			o.Dir, o.Environ, o.Getenv = u.work, u.env, func(name string) string { return variable(u.env, name) }
			o.Permission, o.Sandbox = settle.Ask, "required"
			o.Model = scripted(script.New(append(c.steps, script.Text("Done."))...))
		})
		calls := outputs(t, a)
		all := ""
		for _, call := range calls {
			all += call.Content().Output
		}
		if ran, err := os.ReadFile(u.ran); err == nil {
			t.Errorf("%s: git ran %s", c.name, ran)
		}
		last := calls[len(calls)-1]
		if strings.Contains(all, "secret\n") || !strings.Contains(all, c.want) ||
			c.denied && last.Status != event.ItemFailed {
			t.Errorf("%s: %q, the last call is %s", c.name, all, last.Status)
		}
	}
}
