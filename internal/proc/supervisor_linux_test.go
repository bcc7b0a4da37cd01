package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
)

func TestTrackingInfo(t *testing.T) {
	if got := Tracking(); got.Kind != Supervisor || len(got.Weaker) > 0 {
		t.Errorf("process tracking %+v, want supervisors", got)
	}
}

// A command gets its three standard files and nothing else: not the session's lock, not the
// supervisor's socket, and no descriptor that settle inherited from its own parent.
func TestDescriptors(t *testing.T) {
	lock := locked(t)
	leaked, err := unix.Open("/dev/null", unix.O_RDONLY, 0) // without O_CLOEXEC, as from a careless parent
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leaked)
	spec := sh("echo ready; sleep 1000")
	spec.Lock = lock
	p, out := begin(t, spec)
	out.await(t, "ready")
	entries, err := os.ReadDir("/proc/" + strconv.Itoa(p.PID()) + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, entry := range entries {
		listed = append(listed, entry.Name())
	}
	if want := []string{"0", "1", "2"}; !slices.Equal(listed, want) {
		t.Errorf("the command has %v, want %v", listed, want)
	}
	if !held(t, lock) {
		t.Error("the supervisor does not hold the lock")
	}
}

// locked makes the file that a session's lock is.
func locked(t *testing.T) *os.File {
	t.Helper()
	lock, err := os.Create(filepath.Join(t.TempDir(), "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return lock
}

// held releases the lock here and reports whether another process keeps it. A supervisor's
// descriptors cannot be inspected.
func held(t *testing.T, lock *os.File) bool {
	t.Helper()
	_ = lock.Close()
	other, err := os.Open(lock.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	return unix.Flock(int(other.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OUTER", "secret")
	t.Setenv(MarkerName, "outer")
	spec := sh("env")
	spec.Marker = "mine"
	spec.Env = append(spec.Env, "INNER=1", MarkerName+"=forged")
	p, out := begin(t, spec)
	wait(t, p)
	got := out.String()
	if strings.Contains(got, "OUTER") || !strings.Contains(got, "INNER=1\n") ||
		strings.Count(got, MarkerName+"=mine/") != 1 ||
		strings.Count(got, MarkerName) != 1 {
		t.Errorf("environment %q", got)
	}
}

// A command can stop its supervisor. That one goes on for the end.
func TestStoppedSupervisor(t *testing.T) {
	p, out := begin(t, sh("trap '' TERM; (setsid sleep 1000 &); kill -STOP $PPID; echo ready; sleep 1000"))
	out.await(t, "ready\n")
	if left := p.End(t.Context(), 0); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if exit := wait(t, p); exit.Lost || exit.Signal != 9 {
		t.Errorf("exit %+v, want killed", exit)
	}
}

// A supervisor that does nothing is killed, and its work is done by the host.
func TestSupervisorThatIsKeptStopped(t *testing.T) {
	p, out := begin(t, sh("trap '' TERM; (setsid sleep 1000 &); echo ready; sleep 1000"))
	out.await(t, "ready\n")
	supervisor := parentOf(t, p.PID())
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() { // ends with the process
		defer close(stopped)
		for once := true; ; once = false {
			select {
			case <-p.Done():
				return
			default:
			}
			_ = unix.Kill(supervisor, unix.SIGSTOP)
			if once {
				close(stopping)
			}
		}
	}()
	<-stopping
	if left := p.End(t.Context(), 0); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	wait(t, p)
	<-stopped
}

// C8: a call ends when its command exits, also where that has stopped the supervisor.
func TestReaperWakesSupervisors(t *testing.T) {
	stop, err := BecomeReaper()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	p, _ := begin(t, sh("kill -STOP $PPID; exit 3"))
	if exit := wait(t, p); exit.Code != 3 {
		t.Errorf("exit %+v", exit)
	}
}

// The second request counts if it is the more urgent one.
func TestHurry(t *testing.T) {
	p, out := begin(t, sh("trap '' TERM; echo ready; while :; do sleep 1000; done"))
	out.await(t, "ready\n")
	patient, cancel := context.WithCancel(t.Context())
	cancel()
	if left := p.End(patient, time.Hour); len(left) == 0 {
		t.Error("a context that has ended is waited for")
	}
	if left := p.End(t.Context(), 0); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if exit := wait(t, p); exit.Signal != 9 {
		t.Errorf("exit %+v, want killed", exit)
	}
}

// A process that can end well gets the chance, also when it is stopped.
func TestGrace(t *testing.T) {
	p, out := begin(t, sh("trap 'echo bye; exit 5' TERM; echo ready; kill -STOP $$; while :; do :; done"))
	out.await(t, "ready\n")
	if left := p.End(t.Context(), time.Hour); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if exit := wait(t, p); exit.Code != 5 || !strings.HasSuffix(out.String(), "bye\n") {
		t.Errorf("exit %+v, output %q", exit, out.String())
	}
}

func TestRelease(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	gates := []string{filepath.Join(t.TempDir(), "gate"), filepath.Join(t.TempDir(), "gate")}
	for _, gate := range gates {
		if err := unix.Mkfifo(gate, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock := locked(t)
	spec := sh("echo one; read x <" + gates[0] + "; echo got $x; echo dropped; read x <" + gates[1])
	spec.Lock, spec.Marker = lock, "release-"+strconv.Itoa(os.Getpid())
	p, out := begin(t, spec)
	out.await(t, "one\n")
	supervisor := parentOf(t, p.PID())
	if err := p.Release(Log{Path: log, MaxBytes: 8}); err != nil {
		t.Fatal(err)
	}
	done(t, p)
	if left := p.End(t.Context(), 0); len(left) > 0 {
		t.Errorf("the released process is ended: %v", left)
	}
	if held(t, lock) {
		t.Error("the released process keeps the session's lock")
	}
	for _, gate := range gates { // each lets it go on; who reads the second has written before
		if err := os.WriteFile(gate, []byte("two\n"), 0); err != nil {
			t.Fatal(err)
		}
	}
	awaitGone(t, supervisor)
	if got, _ := os.ReadFile(log); string(got) != "got two\n" {
		t.Errorf("log %q", got)
	}
	if got := out.String(); got != "one\n" {
		t.Errorf("output %q", got)
	}
}

// awaitGone waits for a process that is not this one's child to end.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // the process is gone
	}
	defer unix.Close(fd)
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(poll, int(patience.Milliseconds()))
	for errors.Is(err, unix.EINTR) { // by a signal, such as a child's death
		n, err = unix.Poll(poll, int(patience.Milliseconds()))
	}
	if n != 1 {
		t.Fatalf("process %d does not end: %v", pid, err)
	}
}

func TestSweep(t *testing.T) {
	marker := "sweep-" + strconv.Itoa(os.Getpid())
	mine, out := begin(t, withMark(sh("trap '' TERM; (setsid sleep 1000 &); echo ready; sleep 1000"), marker))
	other, _ := begin(t, withMark(sh("sleep 1000"), marker+"0"))
	out.await(t, "ready\n")
	pids, err := Sweep(marker)
	if err != nil || len(pids) != 3 || !slices.Contains(pids, mine.PID()) {
		t.Errorf("swept %v, %v; want three with %d", pids, err, mine.PID())
	}
	done(t, mine)
	if len(other.Remains()) == 0 {
		t.Error("another marker's process was swept")
	}
	if _, err := Sweep(""); err == nil {
		t.Error("an empty marker sweeps everything")
	}
}

// TestSweepSparesWhatIsNotItsOwn: a sweep spares released commands. It also spares processes whose
// marker is from before the last boot or from another container, for example if an environment was
// copied from a file (C23).
func TestSweepSparesWhatIsNotItsOwn(t *testing.T) {
	marker := "spare-" + strconv.Itoa(os.Getpid())
	released, _ := begin(t, withMark(sh("exec sleep 1000"), marker))
	mine, _ := begin(t, withMark(sh("exec sleep 1000"), marker))
	copied := exec.Command("sleep", "1000")
	copied.Env = []string{MarkerName + "=" + marker + "/" + strings.Repeat("A", 26) + ".elsewhere"}
	if err := copied.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = copied.Process.Kill()
		_ = copied.Wait()
	}()
	if pids, err := Sweep(marker, released.mark); err != nil || !slices.Equal(pids, []int{mine.PID()}) {
		t.Errorf("swept %v, %v; want only %d", pids, err, mine.PID())
	}
	if len(released.Remains()) == 0 {
		t.Error("the released command was ended")
	}
	if n, ok := readProcess(copied.Process.Pid); !ok || n.zombie() {
		t.Error("a process with a marker from elsewhere was ended")
	}
	done(t, mine)
}

// A process is identified by its number, its start, the boot and the container; if one of them
// differs, it is another process, or that is unknown (C23).
func TestIdentity(t *testing.T) {
	p, _ := begin(t, sh("sleep 1000"))
	id := Identify(p.PID())
	for name, c := range map[string]struct {
		change func(*event.Identity)
		want   Presence
	}{
		"itself":                  {func(*event.Identity) {}, Present},
		"another start":           {func(id *event.Identity) { id.Started++ }, Absent},
		"no such process":         {func(id *event.Identity) { id.PID = 1 << 30 }, Absent},
		"another boot or machine": {func(id *event.Identity) { id.Boot = "another" }, Unknown},
		"another container":       {func(id *event.Identity) { id.Namespace = "pid:[1]" }, Unknown},
		"nothing":                 {func(id *event.Identity) { *id = event.Identity{} }, Unknown},
	} {
		changed := *id
		c.change(&changed)
		if got := Find(&changed); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if err := Signal(&changed, unix.SIGTERM); (err == nil) != (c.want == Present) {
			t.Errorf("%s: signalled: %v", name, err)
		}
	}
	if exit := wait(t, p); exit.Signal != int(unix.SIGTERM) {
		t.Errorf("exit %+v", exit)
	}
	if Find(id) == Present || Find(nil) != Unknown || Find(Self()) != Present {
		t.Error("gone, none, or this process")
	}
}

func withMark(spec Spec, marker string) Spec {
	spec.Marker = marker
	return spec
}

// The output of a command takes only the memory of the pump, regardless of its length.
func TestMuchOutput(t *testing.T) {
	spec := sh("head -c 300000000 /dev/zero; echo end")
	counted := &counter{}
	spec.Stdout = counted
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	done(t, p)
	if counted.n != 300_000_004 {
		t.Errorf("%d bytes arrived", counted.n)
	}
}

type counter struct{ n int64 }

func (c *counter) Write(data []byte) (int, error) {
	c.n += int64(len(data))
	return len(data), nil
}

// C9: a flood does not keep an interrupt waiting.
func TestEndOfAFlood(t *testing.T) {
	p, out := begin(t, sh("trap '' TERM; yes & yes"))
	out.await(t, "y\n")
	if left := p.End(t.Context(), time.Millisecond); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Without supervisors, groups and markers do it.
func TestGroups(t *testing.T) {
	for _, script := range []string{
		"sleep 1000", "sleep 1000 & sleep 1000", "setsid sleep 1000 & sleep 1000",
		"(setsid sh -c '(sleep 1000 &)' &); sleep 1000", "trap '' TERM INT HUP; sleep 1000 & sleep 1000",
	} {
		t.Run(script, func(t *testing.T) {
			out := newSink()
			spec := sh("echo ready; " + script)
			spec.Stdout, spec.Marker = out, fmt.Sprint("group-", os.Getpid())
			p, err := startGroup(spec)
			if err != nil {
				t.Fatal(err)
			}
			out.await(t, "ready\n")
			if left := p.End(t.Context(), DefaultGrace); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
			if left, err := Sweep(spec.Marker); len(left) > 0 || err != nil {
				t.Errorf("survivors: %v, %v", left, err)
			}
		})
	}
}

func TestGroupExit(t *testing.T) {
	for _, rest := range []Rest{KeepRest, EndRest} {
		spec := sh("sleep 1000 & echo out; exit 3")
		out := newSink()
		spec.Stdout, spec.Rest = out, rest
		p, err := startGroup(spec)
		if err != nil {
			t.Fatal(err)
		}
		if exit := wait(t, p); exit.Code != 3 || out.String() != "out\n" {
			t.Errorf("exit %+v, output %q", exit, out.String())
		}
		if kept := len(p.Rest()) == 1; kept != (rest == KeepRest) {
			t.Errorf("%q leaves %v", rest, p.Rest())
		}
		if rest == KeepRest {
			p.End(t.Context(), 0)
		}
		done(t, p)
	}
}
