package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/modeltest"
)

// secretKey is a provider key. No program that a repository names can receive it.
const secretKey = "sk-hostile-0123456789abcdefghij"

// hostile makes the working directory a repository that runs a program in every
// way that git has been seen to, and returns the file into which that program
// writes its environment.
func (p *place) hostile() (seen string) {
	p.t.Helper()
	seen = filepath.Join(p.t.TempDir(), "seen")
	recorder := filepath.Join(p.work, "recorder")
	p.write(recorder, "#!/bin/sh\n{ echo \"ran: $0 $*\"; env; } >>"+seen+"\ncat\n", 0o755)
	p.write(filepath.Join(p.work, "a.txt"), "one\n", 0o600)
	p.write(filepath.Join(p.work, "AGENTS.md"), "words of the repository\n", 0o600)
	p.write(filepath.Join(p.work, ".gitattributes"), "* filter=evil diff=evil\n", 0o600)
	if git, err := exec.LookPath("git"); err == nil {
		for _, args := range [][]string{{"init", "-q"}, {"add", "a.txt"}} {
			cmd := exec.CommandContext(p.ctx, git, args...)
			cmd.Dir, cmd.Env = p.work, p.env
			if out, err := cmd.CombinedOutput(); err != nil {
				p.t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
	}
	p.write(filepath.Join(p.work, ".git", "HEAD"), "ref: refs/heads/main\n", 0o600)
	p.write(filepath.Join(p.work, "a.txt"), "two\n", 0o600) // changed, so that git would have to look
	p.write(
		filepath.Join(p.work, "included"),
		fmt.Sprintf("[core]\n\tfsmonitor = %[1]s\n\thooksPath = %[2]s\n\tpager = %[1]s\n", recorder, p.work),
		0o600,
	)
	p.write(filepath.Join(p.work, ".git", "config"), fmt.Sprintf(`[core]
	repositoryformatversion = 1
	fsmonitor = %[1]s
	sshCommand = %[1]s
	pager = %[1]s
	gitProxy = %[1]s
	hooksPath = .git/hooks
[include]
	path = ../included
[extensions]
	partialClone = origin
[remote "origin"]
	url = "ext::%[1]s %%S"
	promisor = true
	partialclonefilter = blob:none
[filter "evil"]
	clean = %[1]s
	smudge = %[1]s
	process = %[1]s
	required = true
[diff]
	external = %[1]s
[diff "evil"]
	command = %[1]s
	textconv = %[1]s
[credential]
	helper = !%[1]s
[protocol]
	allow = always
[alias]
	status = !%[1]s
	config = !%[1]s
`, recorder), 0o600)
	for _, name := range []string{"HEAD", "config"} { // a bare repository, too
		text, err := os.ReadFile(filepath.Join(p.work, ".git", name))
		if err != nil {
			p.t.Fatal(err)
		}
		p.write(filepath.Join(p.work, name), string(text), 0o600)
	}
	for _, hook := range []string{"post-index-change", "fsmonitor-watchman", "reference-transaction", "post-checkout"} {
		p.write(filepath.Join(p.work, ".git", "hooks", hook), "#!/bin/sh\nexec "+recorder+"\n", 0o755)
	}
	return seen
}

func (p *place) write(path, text string, mode os.FileMode) {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		p.t.Fatal(err)
	}
}

// spied puts programs with these names before all others in PATH. They write their environment into
// the file seen, then run the real programs.
func (p *place) spied(seen string, names ...string) {
	p.t.Helper()
	dir := p.t.TempDir()
	for _, name := range names {
		actual, err := exec.LookPath(name)
		if err != nil {
			actual = "false"
		}
		p.write(
			filepath.Join(dir, name),
			fmt.Sprintf("#!/bin/sh\n{ echo \"ran: %s $*\"; env; } >>%s\nexec %s \"$@\"\n", name, seen, actual),
			0o755,
		)
	}
	for i, entry := range p.env {
		if rest, isPath := strings.CutPrefix(entry, "PATH="); isPath {
			p.env[i] = "PATH=" + dir + ":" + rest
		}
	}
}

// The start of settle in a hostile repository runs no program of the repository, and no program
// that could run one: C15, and no person has requested anything yet.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	model := []string{"-m", "chat/m"}
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n"
	tests := map[string]struct {
		args  []string
		stdin func(work string) string
	}{
		"run": {append([]string{"run", "hello"}, model...), nil},
		"run less": {
			append([]string{"run", "--permission", "deny", "--no-project-config", "--tools", "", "hello"}, model...),
			nil,
		},
		"exec":   {append([]string{"exec", "hello"}, model...), nil},
		"claude": {[]string{"claude", "-p", "--model", "chat/m", "hello"}, nil},
		"acp": {append([]string{"acp"}, model...), func(work string) string {
			return initialize + fmt.Sprintf(
				`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`+"\n", work,
			)
		}},
		"doctor": {append([]string{"doctor"}, model...), nil},
		"config": {[]string{"config"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			seen := p.hostile()
			p.spied(seen, "git", "rg")
			server := modeltest.NewServer(
				t, modeltest.Scenario{Loop: true, Turns: []modeltest.Turn{modeltest.Say("hello")}},
			)
			p.env = append(p.env, "SETTLE_API_KEY="+secretKey, "OPENAI_API_KEY="+secretKey)
			args := tt.args
			if name != "config" && name != "doctor" && name != "claude" {
				args = append(args[:len(args):len(args)], "--base-url", server.OpenAI())
			}
			cmd := p.command(args...)
			if tt.stdin != nil {
				cmd.Stdin = strings.NewReader(tt.stdin(p.work))
			}
			out, _ := cmd.CombinedOutput() // some fail, which does not matter here
			if len(out) == 0 {
				t.Error("it said nothing at all")
			}
			text, err := os.ReadFile(seen)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if strings.Contains(string(text), secretKey) {
				t.Errorf("a program saw the key:\n%s", text)
			}
			if name != "doctor" && len(text) > 0 { // doctor runs git and rg to report their versions
				t.Errorf("a program ran:\n%s", text)
			}
			if strings.Contains(string(text), "recorder") {
				t.Errorf("the repository ran a program:\n%s", text)
			}
			if strings.Contains(string(out), secretKey) {
				t.Errorf("the key was shown:\n%s", out)
			}
		})
	}
}

// In a directory of another user, settle asks the system's git whether the user trusts it, and
// follows the answer. It does not start the first git of PATH.
func TestDirectoryOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		return // only root can give a directory away; internal/repo has the rules
	}
	for _, safe := range []string{"", "*"} {
		t.Run("safe.directory="+safe, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			seen := p.hostile()
			p.spied(seen, "git")
			p.write(filepath.Join(p.work, ".settle", "config.toml"), "max_steps = 7\n", 0o600)
			home := filepath.Join(filepath.Dir(p.work), "home")
			p.write(filepath.Join(home, ".gitconfig"), "[safe]\n\tdirectory = "+safe+"\n", 0o600)
			for _, path := range []string{"", ".git", ".settle", "AGENTS.md"} {
				if err := os.Chown(filepath.Join(p.work, path), 54321, 54321); err != nil {
					t.Fatal(err)
				}
			}
			server := modeltest.NewServer(t, modeltest.Script(modeltest.Say("hello")))
			p.env = append(p.env, "SETTLE_API_KEY="+secretKey)
			cmd := p.run(server, "-v", "hello")
			started(t, cmd)
			exited(t, cmd, 0)
			said := cmd.Stderr.(fmt.Stringer).String()
			_, gitErr := exec.LookPath("git")
			trusted := safe == "*" && gitErr == nil
			request := string(server.Exchanges()[0].Body)
			if got := strings.Contains(request, "words of the repository"); got != trusted {
				t.Errorf("AGENTS.md was read: %t, want %t", got, trusted)
			}
			if got := strings.Count(said, "is not trusted"); got != map[bool]int{true: 0, false: 1}[trusted] {
				t.Errorf("said %d times that it is not trusted:\n%s", got, said)
			}
			config := p.says("config")
			if got := strings.Contains(config, "config.toml:1"); got != trusted {
				t.Errorf(".settle was read: %t, want %t\n%s", got, trusted, config)
			}
			if _, err := os.Stat(seen); err == nil { // PATH is no reason to start a program
				t.Error("a git was started that is not the system's")
			}
		})
	}
}
