package assemble

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/settle-agent/settle"
	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/config"
	"github.com/settle-agent/settle/internal/executor"
	"github.com/settle-agent/settle/internal/sandbox"
)

const planted = "PLANTED-SECRET"

// inDanger returns an agent in a directory with secrets and an environment with secrets,
// whose mode confines commands and asks no one.
func inDanger(t *testing.T, file string, m Mode, list ...string) *Agent {
	t.Helper()
	top := t.TempDir()
	for name, text := range map[string]string{
		"work/.env": planted, "work/.ssh/id_x": planted, "work/server.pem": planted, "work/sub/.env.local": planted, "work/file": "content\n", "work/.env.example": "example\n",
	} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + top,
		"AWS_SECRET_ACCESS_KEY=" + planted,
		"DATABASE_URL=postgres://u:" + planted + "@h/d",
		"GITHUB_TOKEN=" + planted + "-kept",
	}
	return make1(t, resolve(t, "/", nil, nil, file), func(o *Options) {
		o.Dir, o.Environ, o.Getenv = filepath.Join(
			top, "work",
		), env, func(name string) string { return variable(env, name) }
		o.Permission, o.Sandbox, o.Model = settle.Ask, config.SandboxAuto, scripted(commands(list...))
		if m.Name != "" {
			o.Policy, o.Sandbox = NewPolicy(m), SandboxByMode
		}
	})
}

// thefts are commands that show a secret in ways that the policy cannot analyse.
func thefts() []string {
	return []string{
		"cat $(echo .e)nv", "env", "echo $AWS_SECRET_ACCESS_KEY $DATABASE_URL", "sh -c 'cat .e*'", "grep -r '' .", "tar cf - . | tar xOf -", "find . -type f -exec cat {} +",
		"cat /proc/self/environ /proc/$PPID/environ", "while read l; do echo $l; done <.ssh/id_x", "cp server.pem /dev/stdout", "ln .env $TMPDIR/x; cat $TMPDIR/x", "x=$(cat sub/.env.local); echo $x",
	}
}

// Calls without an approval receive no secrets, in each mode with a sandbox.
func TestUnaskedCommandsGetNoSecrets(t *testing.T) {
	if !confines(t) {
		return
	}
	for name, m := range map[string]Mode{
		"exec -s read-only":       {Name: "read-only", Permission: settle.Ask, Sandbox: event.ReadOnly, Unasked: "never"},
		"exec -s workspace-write": {Name: "workspace-write", Permission: settle.Ask, Sandbox: event.Workspace, Unasked: "never", Rules: []config.Rule{Allow("shell", "", "--sandbox")}},
		"workspace":               {},
	} {
		t.Run(name, func(t *testing.T) {
			list := append(thefts(), "cat file .env.example; ls -a; echo $HOME")
			a := inDanger(t, "", m, list...)
			calls := outputs(t, a)
			for i, command := range list {
				if got := calls[i].Content().Output; strings.Contains(got, planted) {
					t.Errorf("%q: %s", command, got)
				}
			}
			if got := calls[len(list)-1].Content().Output; !strings.Contains(got, "content") ||
				!strings.Contains(got, "example") ||
				!strings.Contains(got, ".env") ||
				strings.Contains(got, "denied") {
				t.Errorf("what is no secret: %s", got)
			}
			if got := calls[0].Content().Output; !strings.Contains(got, "[the sandbox denied reading ") {
				t.Errorf("the model is not told: %s", got)
			}
			said := a.Session.Confinement.Withheld
			if said == nil || said.Files != event.FilesHidden ||
				!slices.Equal(said.Variables, []string{"AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "GITHUB_TOKEN"}) {
				t.Errorf("the log says %+v", said)
			}
		})
	}
}

// An allowed call receives the user's secrets: allowed by a rule, by the permission, or by
// a setting that names a variable or a file.
func TestAllowedCommandsKeepSecrets(t *testing.T) {
	if !confines(t) {
		return
	}
	readOnly := Mode{Name: "read-only", Permission: settle.Ask, Sandbox: event.ReadOnly, Unasked: "never"}
	for _, tt := range []struct {
		name, file, command string
		mode                Mode
		kept                bool
	}{
		{"a rule", "[[rules]]\ntool = \"shell\"\npattern = \"env\"\ndecision = \"allow\"\n", "env", readOnly, true},
		{"everything", "", "echo $GITHUB_TOKEN; cat .env", Mode{Name: "full", Permission: settle.Allow}, true},
		{"keep_env", "keep_env = [\"GITHUB_*\"]\n", "sh -c 'echo $GITHUB_TOKEN'", readOnly, true},
		{"keep_env names another", "keep_env = [\"GITLAB_*\"]\n", "sh -c 'echo $GITHUB_TOKEN'", readOnly, false},
		{"sandbox.read", "[sandbox]\nread = [\"sub\"]\n", "cat $(echo sub/.e)nv.local", readOnly, true},
		{"sandbox.read elsewhere", "[sandbox]\nread = [\"sub\"]\n", "cat $(echo .e)nv", readOnly, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := inDanger(t, tt.file, tt.mode, tt.command)
			if got := outputs(t, a)[0].Content().Output; strings.Contains(got, planted) != tt.kept {
				t.Errorf("%q: %s", tt.command, got)
			}
			if said := a.Session.Confinement.Withheld; (said == nil) != (tt.name == "everything") {
				t.Errorf("the log says %+v", said)
			}
		})
	}
}

// Without an own view of the files, a command in the workspace needs an approval as soon as
// it could open a secret file.
func TestExposedFilesAreAskedAbout(t *testing.T) {
	if !confines(t) {
		return
	}
	a := inDanger(t, "", Mode{})
	a.confined.sandbox.viewless = exec.ErrNotFound // any reason
	build, err := a.from.judge(settle.Ask, a.confined)
	if err != nil {
		t.Fatal(err)
	}
	judge, err := build()
	if err != nil {
		t.Fatal(err)
	}
	about := func() settle.Judgement {
		args, _ := json.Marshal(map[string]string{"command": "make"})
		call := settle.Approval{Arguments: string(args)}
		call.Tool.Name = "shell"
		return judge.Judge(call)
	}
	if j := about(); j.Decision != settle.Ask || !strings.Contains(j.Why, "cannot hide files with secrets") ||
		!strings.Contains(j.Why, ".env") {
		t.Errorf("%+v", j)
	}
	if c := a.confined.report(Mode{Permission: settle.Ask}); c.Withheld.Files != event.FilesAsked {
		t.Errorf("the log says %+v", c.Withheld)
	}
	for _, name := range []string{".env", ".ssh", "server.pem", "sub"} {
		if err := os.RemoveAll(filepath.Join(a.from.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if j := about(); j.Decision != settle.Allow || j.Secrets != event.SecretsWithheld || sandbox.ViewLayer == "" {
		t.Errorf("%+v", j)
	}
}

// An executor also withholds the secrets of its own environment and directory.
func TestExecutorWithholdsSecrets(t *testing.T) {
	if !confines(t) {
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte(planted), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GITHUB_TOKEN=" + planted}
	o := ExecutorOptions{
		Settings: resolve(t, "/", nil, nil, ""),
		Dir:      dir,
		Environ:  env,
		Getenv:   func(name string) string { return variable(env, name) },
	}
	stand, discard := o.Stand()
	t.Cleanup(func() {
		if err := discard(); err != nil {
			t.Error(err)
		}
	})
	for _, kind := range []event.Sandbox{event.ReadOnly, event.Workspace} {
		for secrets, shown := range map[event.Secrets]bool{"": true, event.SecretsWithheld: false} {
			var out strings.Builder
			p, err := stand.Local(nil, "").
				Start(t.Context(), executor.Command{Script: "cat .env; echo $GITHUB_TOKEN; echo ran", Dir: dir, Sandbox: kind, Secrets: secrets, Output: &out})
			if err != nil {
				t.Fatal(err)
			}
			<-p.Done()
			if got := out.String(); strings.Contains(got, planted) != shown || !strings.Contains(got, "ran") {
				t.Errorf("%s, secrets %q: %s", kind, secrets, got)
			}
		}
	}
}

// A file that was hidden once stays hidden: commands cannot take its name away by renaming
// the folder above it, or by moving it to a folder that is granted, or not searched by name.
func TestHiddenFilesStayHiddenWhereverTheyMove(t *testing.T) {
	if !confines(t) {
		return
	}
	moves := "mkdir -p x/.git/refs y testdata/tls; mv deploy x/.git; mv .docker docker; mv gh g; mv one testdata/tls" +
		"; mv two y/.git; mv three x/.git/refs; mv four $TMPDIR/four; mv five $XDG_CACHE_HOME/five"
	list := []string{moves, "tar cf - . | tar xOf - ; cat $TMPDIR/*/.env $XDG_CACHE_HOME/*/.env" +
		"; ls docker g y/.git x/.git/refs testdata/tls/one"}
	for name, m := range map[string]Mode{"workspace": {}, "exec": {
		Name: "workspace-write", Permission: settle.Ask,
		Sandbox: event.Workspace, Unasked: "never", Rules: []config.Rule{Allow("shell", "", "--sandbox")},
	}} {
		t.Run(name, func(t *testing.T) {
			a := inDanger(t, "[sandbox]\nread = [\"testdata/tls\"]\n", m, list...)
			for _, name := range []string{
				"deploy/prod/.env", ".docker/config.json", "gh/hosts.yml", "one/.env", "two/.env", "three/.env", "four/.env", "five/.env",
			} {
				path := filepath.Join(a.from.Dir, name)
				err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(planted), 0o600))
				if err != nil {
					t.Fatal(err)
				}
			}
			calls := outputs(t, a)
			if got := calls[1].Content().Output; strings.Contains(got, planted) || !strings.Contains(got, "hosts.yml") {
				t.Errorf("%s: %s", calls[0].Content().Output, got)
			}
			for _, name := range []string{"docker/config.json", "g/hosts.yml"} {
				if !a.confined.files.Secret(filepath.Join(a.from.Dir, name)) {
					t.Errorf("file tools show %s", name)
				}
			}
		})
	}
}

// A command without an approval reads git's configurations without their credentials, also
// where another command has moved them; git works with them. An allowed one reads all.
func TestUnaskedCommandsReadGitConfigWithoutCredentials(t *testing.T) {
	if !confines(t) {
		return
	}
	const show = "cat $(echo .gi)t/config; tar cf - . | tar xOf -; cat ../.gitconfig; grep -r '' ."
	list := []string{
		show, "mv sub/.git sub/g; mv sub/g/HEAD sub/g/objects sub/g/refs .; mv sub/g/config sub/plain; mv sub y",
		"cat y/plain y/g/*; " + show,
	}
	for _, tt := range []struct {
		name, file string
		mode       Mode
		shown      bool
	}{
		{"workspace", "", Mode{}, false},
		{"read-only", "", Mode{
			Name: "read-only", Permission: settle.Ask, Sandbox: event.ReadOnly, Unasked: "never",
		}, false},
		{"everything", "", Mode{Name: "full", Permission: settle.Allow}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := inDanger(t, tt.file, tt.mode, list...)
			config := "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://u:" +
				planted + "-config@example.com/x-token.git\n"
			for name, text := range map[string]string{
				".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/x": "", ".git/config": config,
				".git/modules/m/HEAD": "x", ".git/modules/m/config": config, "sub/.git/HEAD": "x",
				"sub/.git/objects/x": "",
				"sub/.git/refs/x":    "", "sub/.git/config": config,
				"../.gitconfig": "[http]\n\textraheader = " + planted + "-config\n",
			} {
				path := filepath.Join(a.from.Dir, name)
				err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600))
				if err != nil {
					t.Fatal(err)
				}
			}
			for i, call := range outputs(t, a) {
				got := call.Content().Output
				shown := strings.Contains(got, planted+"-config")
				if i != 1 && (shown != tt.shown || !strings.Contains(got, "example.com/x-token.git")) {
					t.Errorf("%q: %s", list[i], got)
				}
			}
		})
	}
}

// A secret file that a command has renamed is hidden in the next session too.
func TestRenamedSecretsStayHiddenInTheNextSession(t *testing.T) {
	if !confines(t) {
		return
	}
	o := inDanger(t, "", Mode{}).from
	settings := *o.Settings
	settings.DataDir = t.TempDir()
	path := filepath.Join(o.Dir, ".docker/config.json")
	err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(planted), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	o.Settings = &settings
	for _, command := range []string{"mv .docker docker", "cat $(echo docker)/*; echo ran"} {
		o.Model = scripted(commands(command))
		next, err := New(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := outputs(t, next)[0].Content().Output; strings.Contains(got, planted) {
			t.Errorf("%q: %s", command, got)
		} else if strings.HasPrefix(command, "mv") != !strings.Contains(got, "ran") {
			t.Errorf("%q did not run: %s", command, got)
		}
	}
	next, err := New(t.Context(), o)
	if err != nil || !next.confined.files.Secret(filepath.Join(o.Dir, "docker/config.json")) {
		t.Errorf("file tools show it (%v)", err)
	}
}
