package shell

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// soakCalls is a short form of the soak; SETTLE_SOAK_CALLS=2000 is the full form.
const soakCalls = 300

// Many concurrent calls leave nothing behind: no process, descriptor, goroutine, or memory.
func TestSoak(t *testing.T) {
	calls := soakCalls
	if more, err := strconv.Atoi(os.Getenv("SETTLE_SOAK_CALLS")); err == nil {
		calls = more
	}
	marker := "soak-" + strconv.Itoa(os.Getpid())
	r := newRoom(t, func(c *Config) { c.Marker = marker; c.Grace = 50e6 })
	r.silent = true
	r.soak(50) // one-time allocations exist after that
	files, routines, memory := openFiles(t), runtime.NumGoroutine(), residentKiB(t)
	r.soak(calls)
	r.close()
	if left := marked(marker); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if now := openFiles(t); now > files+2 {
		t.Errorf("%d files are open, and were %d", now, files)
	}
	if now := runtime.NumGoroutine(); now > routines+2 {
		t.Errorf("%d goroutines, and were %d", now, routines)
	}
	if now := residentKiB(t); now > memory+32<<10 {
		t.Errorf("%d KiB resident, and were %d", now, memory)
	}
}

// soak runs calls of all kinds, 50 at a time.
func (r *room) soak(calls int) {
	var wg sync.WaitGroup
	gate := make(chan struct{}, 50)
	for i := range calls {
		gate <- struct{}{}
		wg.Go(func() { // ends with its call
			defer func() { <-gate }()
			r.soakOne(i)
		})
	}
	wg.Wait()
}

func (r *room) soakOne(i int) {
	switch i % 5 {
	case 0:
		if got := r.sh("echo " + strconv.Itoa(i)); got.Output != strconv.Itoa(i)+"\n" {
			r.t.Errorf("got %+v", got)
		}
	case 1:
		r.run(
			r.t.Context(),
			"shell",
			object{"command": "(setsid sleep 1000 &); trap '' TERM; sleep 1000", "timeout_ms": 100},
		)
	case 2:
		ctx, cancel := context.WithCancelCause(r.t.Context())
		call := r.call("shell", object{"command": "yes"})
		call.Progress = func(string) { cancel(errors.New("seen enough")) }
		if got, err := r.tools["shell"].Run(ctx, call); err != nil || !got.Aborted {
			r.t.Errorf("got %+v, %v", got, err)
		}
	case 3:
		got := r.run(
			r.t.Context(),
			"shell",
			object{"command": "read x; seq 1 20000", "tty": i%2 == 0, "timeout_ms": 100},
		)
		if got.Aborted {
			r.t.Errorf("got %+v", got)
		}
	case 4:
		got := r.sh("sleep 1000 & true")
		if len(got.Jobs) != 1 {
			r.t.Errorf("got %+v", got)
			return
		}
		if _, err := r.jobs.Kill(r.t.Context(), got.Jobs[0]); err != nil {
			r.t.Error(err)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func residentKiB(t *testing.T) int {
	t.Helper()
	runtime.GC()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(raw), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A released process outlives the session and is known by its pid and log.
func TestReleased(t *testing.T) {
	marker := "released-" + strconv.Itoa(os.Getpid())
	r := newRoom(t, func(c *Config) {
		c.Marker = marker
		c.Release = func(context.Context, string) error { return nil }
	})
	got := r.background("echo up; sleep 1000", object{"release": true})
	wantOutput(t, got, "up\n[job job1 was released", r.started[0].Log)
	r.close()
	if len(r.ended) != 1 || r.ended[0].How != event.JobReleased {
		t.Errorf("ended %+v", r.ended)
	}
	if len(marked(marker)) == 0 {
		t.Error("it is gone")
	}
	if err := unix.Kill(r.started[0].PID, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	if _, err := proc.Sweep(marker); err != nil {
		t.Error(err)
	}
}
