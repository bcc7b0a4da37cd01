package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/proc"
)

// escapes are shell commands whose processes try to outlive the foreground process.
var escapes = []struct{ name, command string }{
	{"plain", ":"},
	{"ampersand", "sleep 1000 &"},
	{"nohup", "nohup sleep 1000 >/dev/null 2>&1 &"},
	{"setsid", "setsid sleep 1000 &"},
	{"double fork", "(setsid sh -c '(setsid sleep 1000 &)' &)"},
	{"ignores signals", "(trap '' TERM INT HUP; sleep 1000 & sleep 1000) &"},
	{"fork chain", `chain() { if [ "$1" -gt 0 ]; then chain $(($1-1)) & else sleep 1000; fi; }; chain 300 &`},
	{
		"fork chain of sessions",
		`echo 'if [ "$1" -gt 0 ]; then setsid sh "$0" $(($1-1)) & else exec sleep 1000; fi' >"$DIR/chain"; sh "$DIR/chain" 200 &`,
	},
	{"nested subreaper", roleVariable + "=subreaper $SELF &"},
	{"holds stdout", "sh -c 'sleep 1000 & exec sleep 1000' &"},
	{"closes everything", "sh -c 'exec <&- >&- 2>&-; sleep 1000' &"},
	{"stopped", "sleep 1000 & kill -STOP $!"},
	{"tree 50 deep", `echo '[ "$1" -gt 0 ] && sh "$0" $(($1-1)); sleep 1000' >"$DIR/deep"; sh "$DIR/deep" 50 &`},
	{"zombies", "sh -c 'true & true & true & exec sleep 1000' &"},
}

// endings are the ends of a call or its host.
var endings = []struct {
	name string
	test func(t *testing.T, escape, marker string)
}{
	{"exit 0", func(t *testing.T, escape, marker string) { testExit(t, escape, marker, 0) }},
	{"exit 3", func(t *testing.T, escape, marker string) { testExit(t, escape, marker, 3) }},
	{"timeout", testMatrixTimeout},
	{"interrupt", testMatrixInterrupt},
	{"one of two cancelled", testCancelOne},
	{"session closed", testSessionClosed},
	{"SIGTERM to the host", testHostTerm},
	{"SIGKILL to the host", testHostKilled},
	{"SIGKILL to the host of a job", testJobHostKilled},
	{"SIGKILL to the supervisor", testSupervisorKilled},
	{"SIGKILL to both", testBothKilled},
}

// C7: for every escape and every ending, only listed processes survive.
func TestNothingSurvives(t *testing.T) {
	for _, escape := range escapes {
		for _, ending := range endings {
			t.Run(escape.name+"/"+ending.name, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				marker := "matrix-" + filepath.Base(filepath.Dir(dir)) + filepath.Base(dir) + fmt.Sprint(os.Getpid())
				ending.test(t, "DIR="+dir+"\n"+escape.command, marker)
				if left := marked(marker); len(left) > 0 {
					t.Errorf("%d processes survive: %v", len(left), left)
				}
			})
		}
	}
}

func matrixRoom(t *testing.T, marker string) *room {
	return newRoom(t, func(c *Config) {
		c.Marker = marker
		c.Env = append(c.Env, "SELF=/proc/"+fmt.Sprint(os.Getpid())+"/exe")
	})
}

func testExit(t *testing.T, escape, marker string, code int) {
	r := matrixRoom(t, marker)
	got := r.sh(escape + "\necho ready; exit " + fmt.Sprint(code))
	if got.ExitCode == nil || *got.ExitCode != code || !strings.HasPrefix(got.Output, "ready\n") {
		t.Errorf("got %+v", got)
	}
	left := marked(marker)
	for range 1000 { // one look can miss processes that fork and exit continuously
		if len(got.Jobs) == 0 || len(left) > 0 {
			break
		}
		left = marked(marker)
	}
	if len(left) > 0 != (len(got.Jobs) == 1) || len(got.Jobs) > 1 {
		t.Errorf("jobs %v, and running: %v", got.Jobs, left)
	}
	r.close()
	if len(r.started) != len(got.Jobs) || len(r.ended) != len(r.started) {
		t.Errorf("jobs %v, told of %v and %v", got.Jobs, r.started, r.ended)
	}
}

const foreground = "\necho ready; while :; do sleep 1000; done"

func testMatrixTimeout(t *testing.T, escape, marker string) {
	r := matrixRoom(t, marker)
	got := r.run(t.Context(), "shell", object{"command": escape + foreground, "timeout_ms": 500})
	if !got.Failed || got.Aborted || !strings.Contains(got.Output, "timed out after 500ms") || len(got.Survivors) > 0 {
		t.Errorf("got %+v", got)
	}
}

// interruptible returns a context that is cancelled when the command is ready.
func interruptible(t *testing.T, r *room) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { // ends when the command is ready, or with the test's timeout
		r.awaitProgress("ready")
		cancel(errors.New("interrupted"))
	}()
	return ctx
}

func testMatrixInterrupt(t *testing.T, escape, marker string) {
	r := matrixRoom(t, marker)
	got := r.run(interruptible(t, r), "shell", object{"command": escape + foreground})
	if !got.Aborted || !strings.HasPrefix(got.Output, "ready\n") || len(got.Survivors) > 0 {
		t.Errorf("got %+v", got)
	}
}

func testCancelOne(t *testing.T, escape, marker string) {
	r := matrixRoom(t, marker)
	other := make(chan string, 1)
	gate := filepath.Join(r.dir, "gate")
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with its command, which the line below releases
		got, err := r.tools["shell"].Run(
			t.Context(),
			r.call("shell", object{"command": "read x < gate; echo other $x"}),
		)
		other <- fmt.Sprint(got.Output, err)
	}()
	got := r.run(interruptible(t, r), "shell", object{"command": escape + foreground})
	if !got.Aborted || len(got.Survivors) > 0 {
		t.Errorf("got %+v", got)
	}
	if err := os.WriteFile(gate, []byte("goes on\n"), 0); err != nil {
		t.Fatal(err)
	}
	if got := <-other; got != "other goes on\n<nil>" {
		t.Errorf("the other call gave %q", got)
	}
}

func testSessionClosed(t *testing.T, escape, marker string) {
	r := matrixRoom(t, marker)
	got := r.run(t.Context(), "shell", object{"command": escape + foreground, "background": true})
	if len(got.Jobs) != 1 {
		t.Fatalf("got %+v", got)
	}
	r.close()
	if len(r.ended) != 1 || r.ended[0].How != "killed" {
		t.Errorf("ended %+v", r.ended)
	}
}

func testHostTerm(t *testing.T, escape, marker string) {
	h := startHost(t, escape+foreground, marker)
	h.awaitReady()
	if err := h.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if text := h.rest(); !strings.Contains(text, "Aborted:true") || !strings.Contains(text, "[] <nil>") {
		t.Errorf("the host says %q", text)
	}
}

func testHostKilled(t *testing.T, escape, marker string) {
	h := startHost(t, escape+foreground, marker)
	h.awaitReady()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	h.awaitUnlocked()
}

// No job outlives the session's host.
func testJobHostKilled(t *testing.T, escape, marker string) {
	h := startHost(t, escape+"\nexit 0", marker, "TEST_LINGER=1")
	h.await("lingering\n")
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	h.awaitUnlocked()
}

func testSupervisorKilled(t *testing.T, escape, marker string) {
	h := startHost(t, escape+foreground, marker)
	h.awaitReady()
	if err := unix.Kill(h.supervisor(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if text := h.rest(); !strings.Contains(text, "the command was lost") || !strings.Contains(text, "[] <nil>") {
		t.Errorf("the host says %q", text)
	}
}

// The host's death resumes a stopped supervisor, even one that its command stopped.
func TestStoppedSupervisorEndsWithItsHost(t *testing.T) {
	marker := fmt.Sprint("stopped-", os.Getpid())
	h := startHost(t, "setsid sleep 1000 &"+foreground, marker)
	h.awaitReady()
	if err := errors.Join(unix.Kill(h.supervisor(), unix.SIGSTOP), h.cmd.Process.Kill()); err != nil {
		t.Fatal(err)
	}
	h.awaitUnlocked()
	if left := marked(marker); len(left) > 0 {
		t.Errorf("%d processes survive: %v", len(left), left)
	}
}

func testBothKilled(t *testing.T, escape, marker string) {
	h := startHost(t, escape+foreground, marker)
	h.awaitReady()
	supervisor := h.supervisor()
	if err := errors.Join(unix.Kill(supervisor, unix.SIGSTOP), h.cmd.Process.Kill(), unix.Kill(supervisor, unix.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	h.awaitUnlocked()
	if _, err := proc.Sweep(marker); err != nil {
		t.Error(err)
	}
}

// Every escape again, as a user without privileges, with the endings that the host does not
// survive. As an ordinary user, CI runs the whole matrix.
func TestNothingSurvivesAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // the matrix itself ran as an ordinary user
	}
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(
		"/proc/self/exe", "-test.run=^TestNothingSurvives$//^SIGKILL|^(TestInterrupt|TestSetuid)$",
		"-test.timeout=5m", "-test.v",
	)
	cmd.SysProcAttr = unprivilegedUser()
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME=/", "SETUID_SELF="+setuidSelf(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := bytes.Count(out, []byte("=== RUN   TestNothingSurvives/")); n < 3*len(escapes) {
		t.Errorf("%d cases of the matrix ran", n)
	}
}

// setuidSelf is this test binary with the setuid bit. Its processes end with the test.
func setuidSelf(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "setuid")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.RemoveAll(dir)
		if _, err := proc.Sweep(setuidMarker); err != nil {
			t.Error(err)
		}
	})
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "unmanaged")
	if err := errors.Join(os.WriteFile(path, program, 0o755), os.Chmod(path, 0o755|os.ModeSetuid), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

const setuidMarker = "test-unmanaged"

// A process that settle has no right to signal is named, and not waited for.
func TestSetuid(t *testing.T) {
	program := os.Getenv("SETUID_SELF")
	if program == "" {
		return // root can signal every process: see TestNothingSurvivesAsOrdinaryUser
	}
	r := newRoom(t, func(c *Config) { c.Marker = setuidMarker })
	got := r.run(interruptible(t, r), "shell", object{"command": roleVariable + "=setuid " + program + " & sleep 1000"})
	if !got.Aborted || len(got.Survivors) != 1 {
		t.Fatalf("got %+v", got)
	}
	if left := got.Survivors[0]; !strings.Contains(left.Command, "unmanaged") ||
		!strings.Contains(left.Why, "may not signal") {
		t.Errorf("left: %+v", left)
	}
}
