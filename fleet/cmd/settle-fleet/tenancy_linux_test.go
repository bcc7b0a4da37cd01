package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/modeltest"
)

// intrusion tries to read and change the files of the other tenant, and prints REACHED and a
// name for each way that does. TOLD is what the other one keeps.
const intrusion = `
try() { name=$1; shift; if "$@" 2>/dev/null | grep -q "tenant-a-keeps-this"; then echo "REACHED $name"; fi; }
try "a relative path" cat ../a/told
try "a relative path from a workspace" cat ../../s-a-repo/tree/told
try "all workspaces" cat ../../s-*/tree/told
try "an absolute path" cat "$ROOT/a/told"
try "all directories" find "$ROOT" -name told -exec cat {} +
ln -s "$ROOT/a" link 2>/dev/null; try "a link" cat link/told
ln "$ROOT/a/told" hard 2>/dev/null; try "a hard link" cat hard
try "the working directories of processes" sh -c 'cat /proc/[0-9]*/cwd/told'
try "the roots of processes" sh -c 'cat /proc/[0-9]*/root/'"$ROOT"'/a/told'
try "git" git --no-pager -C "$ROOT/a" show HEAD:told
echo changed 2>/dev/null >"$ROOT/a/told"
touch "$ROOT/a/made" "$ROOT/made" 2>/dev/null
echo tried
`

// remoteRepository serves a repository with the file name over HTTP and returns its URL.
func remoteRepository(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) {
		cmd := exec.CommandContext(
			t.Context(),
			"git",
			append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "x")
	git("update-server-info")
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server.URL + "/.git"
}

// TestTenantsCannotReadEachOther: with --isolation sandbox, neither the commands nor the file
// tools of one tenant reach the files of another, in directories and in workspaces.
func TestTenantsCannotReadEachOther(t *testing.T) {
	if err := proc.Confines(); err != nil {
		t.Fatalf("nothing can be confined here: %v", err)
	}
	home(t)
	const tenantText = "tenant-a-keeps-this"
	root := t.TempDir()
	for _, dir := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "a", "told"), []byte(tenantText), 0o644); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(root, "b", "intrude.sh")
	if err := os.WriteFile(script, []byte("ROOT='"+root+"'\n"+intrusion), 0o600); err != nil {
		t.Fatal(err)
	}
	asB := func(command string) modeltest.Turn {
		return modeltest.Reply(modeltest.Call("shell", `{"command":"`+command+`"}`))
	}
	model := modeltest.NewServer(t, modeltest.Script(
		modeltest.Reply(modeltest.Call("shell", `{"command":"cat told"}`)),
		modeltest.Say("a has it"),
		asB("bash ./intrude.sh"),
		modeltest.Reply(
			modeltest.Call("read", `{"path":"../a/told"}`),
			modeltest.Call("read", `{"path":"`+root+`/a/told"}`),
			modeltest.Call("read", `{"path":"link/told"}`),
		),
		modeltest.Say("b has not"),
		modeltest.Reply(modeltest.Call("shell", `{"command":"cat told"}`)),
		modeltest.Say("a has it"),
		asB("bash ./intrude.sh"),
		modeltest.Say("b has not"),
	))
	w := startWorkerProcess(
		t,
		"--isolation",
		"sandbox",
		"--tenant-dirs",
		root,
		"--slots",
		"1",
		"-m",
		"openai/gpt-5.2",
		"--base-url",
		model.OpenAI(),
	)
	run := func(session string, args ...string) string {
		must(t, "", append(append([]string{"submit", "--session", session}, args...), "work")...)
		if _, out, _ := command(t, "", "results", "--wait"); strings.Contains(out, `"outcome":"failed"`) {
			t.Errorf("%s: %s", session, out)
		}
		return strings.Join(outputs(t, os.Getenv(databaseVar), session), "")
	}
	for _, of := range []struct{ owner, intruder []string }{
		{
			[]string{"--tenant", "a", "-C", filepath.Join(root, "a")},
			[]string{"--tenant", "b", "-C", filepath.Join(root, "b")},
		},
		{
			[]string{"--tenant", "a", "--repo", remoteRepository(t, "told", tenantText)},
			[]string{"--tenant", "b", "--repo", remoteRepository(t, "intrude.sh", "ROOT='"+root+"'\n"+intrusion)},
		},
	} {
		suffix := strings.TrimLeft(of.owner[2], "-")
		if out := run("a-"+suffix, of.owner...); !strings.Contains(out, tenantText) {
			t.Errorf("tenant a does not read its own file: %s", out)
		}
		if out := run(
			"b-"+suffix,
			of.intruder...); strings.Contains(out, tenantText) || strings.Contains(out, "REACHED") ||
			!strings.Contains(out, "tried") {
			t.Errorf("tenant b has reached tenant a: %s", out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "a", "told")); err != nil || string(text) != tenantText {
		t.Errorf("the file of tenant a: %q, %v", text, err)
	}
	intruded(t, script)
	w.stop(t)
}

// intruded checks the intrusion: outside of the sandbox, it does reach what it tries.
func intruded(t *testing.T, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", script)
	cmd.Dir = filepath.Dir(script)
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"a relative path", "an absolute path", "all directories", "a link"} {
		if err != nil || !strings.Contains(string(out), "REACHED "+want+"\n") {
			t.Errorf("the intrusion does not even reach %s outside of the sandbox: %v, %s", want, err, out)
		}
	}
}

// workerProcess is settle-fleet worker as a process.
type workerProcess struct{ cmd *exec.Cmd }

func startWorkerProcess(t *testing.T, args ...string) workerProcess {
	t.Helper()
	must(t, "", "migrate")
	w := workerProcess{exec.Command(os.Args[0])}
	w.cmd.Env = append(
		os.Environ(),
		roleVar+"="+roleCommand,
		argsVar+"="+strings.Join(append([]string{"worker"}, args...), "\t"),
	)
	w.cmd.Stderr = t.Output()
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.stop(t) })
	return w
}

func (w workerProcess) stop(t *testing.T) {
	t.Helper()
	_ = w.cmd.Process.Signal(syscall.SIGTERM)
	_ = w.cmd.Wait()
}

// TestWorkerServesOneTenant: without isolation, a worker gives the tasks of other tenants back, for a worker of theirs.
func TestWorkerServesOneTenant(t *testing.T) {
	home(t)
	model := modeltest.NewServer(t, modeltest.Script(modeltest.Say("done"), modeltest.Say("done")))
	w := startWorkerProcess(t, "-m", "openai/gpt-5.2", "--base-url", model.OpenAI())
	must(t, "", "submit", "--session", "mine", "-C", t.TempDir(), "work")
	must(t, "", "submit", "--session", "other", "--tenant", "research", "-C", t.TempDir(), "work")
	for state := ""; !strings.Contains(state, `"attempts":2`); { // it has been given back
		state = must(t, "", "status", "other/1")
		if strings.Contains(state, `"outcome"`) {
			t.Fatal(state)
		}
	}
	of := startWorkerProcess(t, "-m", "openai/gpt-5.2", "--base-url", model.OpenAI(), "--tenant", "research")
	_, out, _ := command(t, "", "results", "--wait")
	if strings.Count(out, `"outcome":"completed"`) != 2 || strings.Count(out, "\n") != 2 {
		t.Errorf("%s", out)
	}
	w.stop(t)
	of.stop(t)
}
