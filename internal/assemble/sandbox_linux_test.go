package assemble

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/model/script"
	"github.com/settle-agent/settle/tool"
)

// home makes a home directory with a secret, and a repository in it as the working
// directory.
func home(t *testing.T) (home, work string) {
	t.Helper()
	home = t.TempDir()
	work = filepath.Join(home, "work")
	for name, content := range map[string]string{
		".ssh/id_rsa": "hidden", ".gitconfig": "[user]\nname = n\nemail = e@example.com\n", "work/.env": "hidden", "work/file": "content\n",
		// The part of the result of git init that git requires.
		"work/.git/HEAD": "ref: refs/heads/main\n", "work/.git/config": "[core]\nrepositoryformatversion = 0\n", "work/.git/hooks/none": "", "work/.git/objects/none": "", "work/.git/refs/heads/.none": "",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(work, ".git/refs/heads/.none")); err != nil {
		t.Fatal(err)
	}
	return home, work
}

// inSandbox returns an agent in that directory, with a settings file.
func inSandbox(t *testing.T, permission settle.Permission, file string, change func(*Options), m *script.Model) *Agent {
	t.Helper()
	top, work := home(t)
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + top}
	return make1(t, resolve(t, "/", nil, nil, file), func(o *Options) {
		o.Dir, o.Environ, o.Getenv = work, env, func(name string) string { return variable(env, name) }
		o.Permission, o.Sandbox, o.Model = permission, config.SandboxAuto, scripted(m)
		if change != nil {
			change(o)
		}
	})
}

func confines(t *testing.T) bool {
	t.Helper()
	err := proc.Confines()
	if err != nil {
		t.Logf("nothing can be confined here: %v", err)
	}
	return err == nil
}

// runsGit matches a command that runs git; .git is only a name.
var runsGit = regexp.MustCompile(`(^|[ '])git `)

// In the workspace, a command works without an approval, and reaches nothing outside it.
func TestWorkspace(t *testing.T) {
	if !confines(t) {
		return
	}
	list := []struct{ command, want string }{
		{"echo x >made && cat made file", "x\ncontent"},
		{"chmod 700 made; mkdir -p d/e && mv made d/e && rm -r d && echo done", "done"},
		{"git init -q n && cd n && echo x >f && git add f && git commit -qm one && git log --format=%s", "one"},
		{"git add file; echo end", "git add changes the repository, which is read-only in the sandbox"},
		{"sh -c 'git add file'", "the repository (.git) is read-only in the sandbox: run git commands"},
		{`f=$(mktemp) && echo kept >"$f" && cat "$f"`, "kept"},
		{"echo x >.git/hooks/pre-commit", "[the sandbox denied writing "},
		{"true $HOME && git config core.editor x", "[the sandbox "},
		{"mv .git g2", "[the sandbox "},
		{"mv .git/hooks .git/gone; ls .git/hooks >/dev/null && echo there", "there"},
		{"chmod 755 ~/.ssh/id_rsa", "[the sandbox "},
		{"cat ~/.ssh/id_rsa", "[the sandbox denied reading "},
		{"echo x >~/new", "[the sandbox denied writing "},
		{"exec 3<>/dev/tcp/127.0.0.1/9", "[the sandbox denied the network"},
		{"touch ../b.txt; echo end", "end\n[the sandbox denied writing "}, // the last command succeeds
		{"sh -c 'git add file'; echo end", "the repository (.git) is read-only in the sandbox"},
		{"touch ../b.txt; sh -c 'git add file'; ls", `let them run outside; with "outside": true, a person is asked`},
		{"(exec 3<>/dev/tcp/127.0.0.1/9); echo end", "end\n[the sandbox denied the network"},
		{"exit 3", "[exit code 3]"},
	}
	var commandList []string
	for _, c := range list {
		commandList = append(commandList, c.command)
	}
	a := inSandbox(t, settle.Ask, "", nil, commands(commandList...))
	views := slices.Contains(a.Session.Confinement.By, "mounts")
	calls := outputs(t, a)
	for i, c := range list {
		if !views && (strings.Contains(c.command, ".git") || strings.HasPrefix(c.command, "chmod 755")) {
			continue // a reported gap
		}
		if runsGit.MatchString(c.command) && !installed("git") ||
			strings.Contains(c.command, "/dev/tcp") && !installed("bash") {
			continue
		}
		got := calls[i].Content().Output
		if !strings.Contains(got, c.want) || strings.Contains(got, "hidden") ||
			c.want == "[exit code 3]" && strings.Contains(got, "sandbox") {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
	if c := a.Session.Confinement; c == nil || c.Mode != event.Workspace || c.Network != "off" || len(c.By) < 2 {
		t.Errorf("it says %+v", c)
	}
}

// In plan mode, nobody is asked to let a command run outside of the sandbox, and the output does not say so.
func TestPlanModeOffersNoWayOutOfSandbox(t *testing.T) {
	if !confines(t) || !installed("git") {
		return
	}
	list := []string{"git add file", "sh -c 'git add file'", "echo x >made"}
	a := inSandbox(t, settle.Ask, "", func(o *Options) {
		o.Policy = NewPlanPolicy(ModeOf(settle.Ask))
	}, commands(list...))
	views := slices.Contains(a.Session.Confinement.By, "mounts")
	for i, call := range outputs(t, a) {
		if !views && runsGit.MatchString(list[i]) {
			continue // a reported gap
		}
		got := call.Content().Output
		if !strings.Contains(got, "[the sandbox denied ") || strings.Contains(got, "a person is asked") ||
			!strings.Contains(got, "; nobody is asked to let the command run without]") {
			t.Errorf("%s: %q", list[i], got)
		}
	}
}

// C22: command lines of other processes are readable only if the log reports it.
func TestOtherProcessesAreHidden(t *testing.T) {
	if !confines(t) {
		return
	}
	neighbour := exec.CommandContext(t.Context(), "sleep", "1000", "--", "--password=hunter2")
	neighbour.Args = []string{"sleep --password=hunter2", "1000"}
	if err := neighbour.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = neighbour.Wait() }()
	defer func() { _ = neighbour.Process.Kill() }()
	reads := fmt.Sprintf("cat /proc/self/cmdline /proc/%d/cmdline", neighbour.Process.Pid)
	const works = "cat /proc/[0-9]*/cmdline; echo >new"
	for name, file := range map[string]string{"off": "[sandbox]\nuse='off'", "read-only": "[sandbox]\nuse='auto'\nmode='read-only'", "workspace": ""} {
		t.Run(name, func(t *testing.T) {
			a := inSandbox(t, settle.Ask, file, nil, commands(reads, works))
			claimed := a.Session.Confinement != nil && slices.Contains(a.Session.Confinement.By, "processes")
			if c := a.Session.Confinement; c != nil && c.Mode.On() && claimed == slices.Contains(c.Gaps, processGap) {
				t.Errorf("it says %+v", c)
			}
			_, err := proven().prove(kind{ownProcesses: true})
			calls := outputs(t, a)
			if output := calls[0].Content().Output; !strings.Contains(output, "cmdline") ||
				err == nil && strings.Contains(output, "hunter2") {
				t.Errorf("a command that only reads shows %q", output)
			}
			if output := calls[1].Content().Output; claimed && strings.Contains(output, "hunter2") {
				t.Errorf("a command shows %q", output)
			}
		})
	}
}

func installed(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

func shellCall(command string, more map[string]any) string {
	args := map[string]any{"command": command}
	for k, v := range more {
		args[k] = v
	}
	raw, _ := json.Marshal(args) // texts
	return string(raw)
}

// The decision about a call, and the sandbox in which it runs.
func TestSandboxOfEachDecision(t *testing.T) {
	const freeMake = "[[rules]]\ntool='shell'\npattern='make'\ndecision='allow'\nsandbox='off'"
	can := confines(t)
	outside := map[string]any{"outside": true}
	for _, tt := range []struct {
		name, file string
		permission settle.Permission
		mode       *Mode
		command    string
		more       map[string]any
		want       settle.Permission
		sandbox    event.Sandbox
	}{
		{"reads", "", settle.Ask, nil, "ls", nil, "allow", event.ReadOnly},
		{"does", "", settle.Ask, nil, "make", nil, "allow", event.Workspace},
		{"shows a secret", "", settle.Ask, nil, "cat .env", nil, "ask", event.Workspace},
		{"outside", "", settle.Ask, nil, "make", outside, "ask", ""},
		{"reads outside", "", settle.Ask, nil, "ls", outside, "ask", ""},
		{"outlives", "", settle.Ask, nil, "make", map[string]any{"background": true, "release": true}, "ask", event.Workspace},
		{"a rule asks", "[[rules]]\ntool='shell'\npattern='make'\ndecision='ask'", settle.Ask, nil, "echo $x; make", nil, "ask", event.Workspace},
		{"a rule denies", "[[rules]]\ntool='shell'\npattern='make'\ndecision='deny'", settle.Ask, nil, "make", nil, "deny", ""},
		{"a rule allows", "[[rules]]\ntool='shell'\npattern='make'\ndecision='allow'", settle.Ask, nil, "ls && make", nil, "allow", event.Workspace},
		{"a rule frees", freeMake, settle.Ask, nil, "echo x && make", nil, "allow", ""},
		{"a rule frees no reader", freeMake, settle.Ask, nil, "cat a.txt && make", nil, "allow", event.Workspace},
		{"a rule frees one", freeMake, settle.Ask, nil, "make && cc", nil, "allow", event.Workspace},
		{"turned off", "[sandbox]\nuse='off'", settle.Ask, nil, "make", nil, "ask", ""},
		{"read-only", "[sandbox]\nuse='auto'\nmode='read-only'", settle.Ask, nil, "make", nil, "allow", event.ReadOnly},
		{"allow", "", settle.Allow, nil, "make", nil, "allow", ""},
		{"allow, chosen", "[sandbox]\nuse='auto'", settle.Allow, nil, "make", nil, "allow", event.Workspace},
		{"allow, chosen, outside", "[sandbox]\nuse='auto'", settle.Allow, nil, "make", outside, "ask", ""},
		{"deny", "", settle.Deny, nil, "make", nil, "deny", ""},
		{"a client's", "", settle.Ask, &Mode{Permission: settle.Ask, Sandbox: event.ReadOnly}, "make", nil, "allow", event.ReadOnly},
		{"a client's none", "", settle.Ask, &Mode{Permission: settle.Allow, Sandbox: event.NoSandbox}, "make", nil, "allow", ""},
		{"a client's none, chosen", "[sandbox]\nuse='auto'", settle.Ask, &Mode{Permission: settle.Allow, Sandbox: event.NoSandbox}, "make", nil, "allow", event.Workspace},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := inSandbox(t, tt.permission, tt.file, func(o *Options) {
				o.Environ = []string{"PATH=/usr/bin:/bin"} // nothing runs
				if tt.mode != nil {
					o.Policy = NewPolicy(*tt.mode)
				}
			}, commands())
			if a.Session.Judge == nil {
				if tt.want != settle.Allow || tt.sandbox != "" {
					t.Error("nobody judges")
				}
				return
			}
			judge, err := a.Session.Judge()
			if err != nil {
				t.Fatal(err)
			}
			got := judge.Judge(
				settle.Approval{Tool: tool.Spec{Name: "shell"}, Arguments: shellCall(tt.command, tt.more)},
			)
			if !can {
				if got.Sandbox.On() {
					t.Errorf("confined to %q", got.Sandbox)
				}
				return
			}
			if got.Decision != tt.want || got.Sandbox != tt.sandbox {
				t.Errorf("%s in %q (%s), want %s in %q", got.Decision, got.Sandbox, got.Why, tt.want, tt.sandbox)
			}
		})
	}
}

// C22: a sandbox weaker than required is refused.
func TestRequired(t *testing.T) {
	top, _ := home(t)
	r := resolve(t, "/", nil, nil, "[sandbox]\nuse = 'required'")
	o := Options{Settings: r, Dir: top, Getenv: func(string) string { return top }}
	if _, err := o.sandboxing(nil); err == nil ||
		!strings.Contains(err.Error(), "sandbox: it is required, and there is none: ") {
		t.Errorf("in the home directory: %v", err)
	}
	r.Sandbox.Use = config.SandboxAuto
	s, err := o.sandboxing(nil)
	if err != nil || len(s.notes()) != 1 || s.report(Mode{}).Missing == "" || s.of(Mode{}).On() {
		t.Errorf("auto: %v, %+v", err, s)
	}
}
