package proc

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestJobsWithoutSupervisors: the remaining processes of a command end by themselves, one after the
// other; settle notices each end, and does not poll /proc for it.
func TestJobsWithoutSupervisors(t *testing.T) {
	spec := sh("(read line < fifo; exec sleep 0.05) & exit 0")
	spec.Dir, spec.Rest = t.TempDir(), KeepRest
	if err := unix.Mkfifo(spec.Dir+"/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := startGroup(spec)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, p)
	if n := len(p.Rest()); n != 1 {
		t.Fatalf("%d processes are left, want 1", n)
	}
	k := p.keep.(*groupProcess)
	if k.pause(false) != nil {
		t.Error("it looks again, though it will be told")
	}
	f, err := os.OpenFile(spec.Dir+"/fifo", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("go\n"); err != nil {
		t.Fatal(err)
	}
	done(t, p)
}

func TestPIDWatcher(t *testing.T) {
	p, err := startGroup(sh("sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	v := watchPID(p.PID())
	if v == nil {
		t.Fatal("this kernel does not tell of the end of others")
	}
	select {
	case <-v.died():
		t.Error("it is said to have ended")
	default:
	}
	v.end() // which ends the wait
	if v = watchPID(p.PID()); v == nil {
		t.Fatal("no second vigil")
	}
	p.End(t.Context(), 0)
	select {
	case <-v.died():
	case <-time.After(time.Minute):
		t.Error("nobody tells of its end")
	}
	v.end()
	done(t, p)
}
