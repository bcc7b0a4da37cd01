//go:build machine && linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/modeltest"
)

// git over ssh leaves the sandbox by its proxy, to listed hosts: it clones and pushes. To other
// hosts nothing gets through, and the call has the reason.
func TestGitOverSSHThroughTheProxy(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		t.Run(fmt.Sprintf("allowed %t", allowed), func(t *testing.T) {
			t.Parallel()
			s := newSSHServer(t)
			at := s.host + ":" + s.port
			hosts := "github.com"
			if allowed {
				hosts = at
			}
			p := newPlace(t)
			p.configure(fmt.Sprintf("[sandbox]\nnetwork = \"proxy\"\nallow_hosts = [%q]\nread = [%q]\n", hosts, s.dir))
			p.env = append(p.env, "GIT_CONFIG_NOSYSTEM=1", "GIT_SSH_COMMAND="+s.client(t))
			repository := p.bareRepository()
			command := fmt.Sprintf("git clone -q ssh://%s@%s%s cloned && cat cloned/file && cd cloned && "+
				"git -c user.name=a -c user.email=a@b commit -q --allow-empty -m from-the-box && git push -q origin HEAD:refs/heads/pushed && echo pushed it", s.user, at, repository)
			server := modeltest.NewServer(
				t,
				modeltest.Script(
					modeltest.Reply(modeltest.Call("shell", fmt.Sprintf(`{"command":%q}`, command))),
					modeltest.Say("Done."),
				),
			)
			cmd := p.run(server, "--session", "s", "--sandbox", "required", "go")
			started(t, cmd)
			exited(t, cmd, 0)
			output := p.outputOf("s")
			if allowed {
				if !strings.Contains(output, "what is cloned\n") || !strings.Contains(output, "pushed it") ||
					strings.Contains(output, "denied") ||
					s.conns.Load() != 2 {
					t.Errorf("%d connections; %s", s.conns.Load(), output)
				}
				if got := p.git("-C", repository, "log", "-1", "--format=%s", "pushed"); got != "from-the-box\n" {
					t.Errorf("the server has %q", got)
				}
				return
			}
			for _, want := range []string{"the sandbox denied connecting to " + at + " (not an allowed host)", fmt.Sprintf("allow_hosts = [%q]", at)} {
				if !strings.Contains(output, want) {
					t.Errorf("no %q in %s", want, output)
				}
			}
			if _, err := os.Stat(filepath.Join(p.work, "cloned", "file")); err == nil || s.conns.Load() != 0 {
				t.Errorf("%v; %d connections", err, s.conns.Load())
			}
		})
	}
}

// client is an ssh that has the user's key, and knows the server's.
func (s *sshServer) client(t *testing.T) string {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(s.dir, "host.pub"))
	if err == nil {
		err = os.WriteFile(
			filepath.Join(s.dir, "known_hosts"),
			fmt.Appendf(nil, "[%s]:%s %s", s.host, s.port, key),
			0o600,
		)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(
		"ssh -F none -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=%[1]s/known_hosts -i %[1]s/user",
		s.dir,
	)
}

// bareRepository has one commit, with one file.
func (p *place) bareRepository() (path string) {
	p.t.Helper()
	dir := p.t.TempDir()
	path, first := filepath.Join(dir, "repository.git"), filepath.Join(dir, "first")
	p.git("init", "-q", "--bare", "-b", "main", path)
	p.git("init", "-q", "-b", "main", first)
	p.write(filepath.Join(first, "file"), "what is cloned\n", 0o600)
	p.git("-C", first, "add", "file")
	p.git("-C", first, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first")
	p.git("-C", first, "push", "-q", path, "main")
	return path
}

func (p *place) git(args ...string) string {
	p.t.Helper()
	cmd := exec.CommandContext(p.ctx, "git", args...)
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// outputOf returns the output of the session's shell calls.
func (p *place) outputOf(session string) (text string) {
	p.t.Helper()
	for _, e := range p.log(session) {
		if d, ok := e.Data.(event.ItemEnded); ok && d.Name == "shell" {
			text += d.Output
		}
	}
	return text
}
