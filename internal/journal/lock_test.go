//go:build unix

package journal

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/event"
)

func wantHeld(t *testing.T, err error) *HeldError {
	t.Helper()
	var held *HeldError
	if !errors.As(err, &held) {
		t.Fatalf("got %v, want a HeldError", err)
	}
	return held
}

func TestHeldByThisProcess(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, Options{Dir: dir})
	for _, take := range []bool{false, true} {
		_, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1", Take: take})
		if held := wantHeld(t, err); held.PID != os.Getpid() || held.Stopped {
			t.Fatalf("got %+v", held)
		}
	}
	closeLog(t, l)
	l, _ = open(t, Options{Dir: dir})
	closeLog(t, l)
}

func TestHeldByAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	other := start(t, "hold", dir, "s1")
	other.expect(t, "held")
	_, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1"})
	if held := wantHeld(t, err); held.PID != other.Process.Pid || held.Stopped {
		t.Fatalf("got %+v", held)
	}
	// Reading needs no lock.
	diff(t, "events", []string{"session.opened"}, texts(collect(t, Read(t.Context(), dir, "s1", 0))))
	_ = other.stdin.Close()
	other.expect(t, "done")
	_ = other.Wait()
	l, _ := open(t, Options{Dir: dir})
	closeLog(t, l)
}

// stop stops the process and waits until it is.
func stop(t *testing.T, p *os.Process) {
	t.Helper()
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(p.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it is not stopped: %v, %v", status, err)
	}
}

func TestStoppedHolder(t *testing.T) {
	dir := t.TempDir()
	other := start(t, "hold", dir, "s1")
	other.expect(t, "held")
	stop(t, other.Process)
	_, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1"})
	held := wantHeld(t, err)
	if !held.Stopped || !strings.Contains(err.Error(), "open in pid "+strconv.Itoa(other.Process.Pid)+", stopped;") ||
		!strings.Contains(
			err.Error(), `"settle run --session s1 --take"`,
		) { // a flag alone would not be one of every command
		t.Fatalf("got %v", err)
	}
	l, opened := open(t, Options{Dir: dir, Take: true})
	if !opened.Existing || l.Seq() != 1 {
		t.Fatalf("took over %+v with %d events", opened, l.Seq())
	}
	closeLog(t, l)
	// It was let go on to end by itself.
	if err := other.Wait(); err == nil || other.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Fatalf("the holder ended with %v", err)
	}
}

// A holder that does not end when asked is killed.
func TestTakeFromAHolderThatIgnoresTerm(t *testing.T) {
	dir := t.TempDir()
	other := start(t, "ignore", dir, "s1")
	other.expect(t, "held")
	l, _ := open(t, Options{Dir: dir, Take: true, TakeGrace: 50 * time.Millisecond})
	closeLog(t, l)
	if err := other.Wait(); err == nil || other.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the holder ended with %v", err)
	}
}

// A log that was deleted while a process waited for its lock is not written to.
func TestLockOfADeletedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s1.log")
	o := Options{Dir: t.TempDir(), Session: "s1"}
	f, err := o.openFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if c, err := claim(f, path); c != claimed || err != nil {
		t.Fatalf("it is %s, %v", c, err)
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if c, err := claim(f, path); c != replaced || err != nil {
		t.Fatalf("the new file counts as the old one: %s, %v", c, err)
	}
}

// A dead host's session opens only after the processes that inherited its lock have ended.
func TestSurvivingSupervisorsOfADeadHost(t *testing.T) {
	dir := t.TempDir()
	other := start(t, "bequeath", dir, "s1")
	inheritor, err := strconv.Atoi(other.expect(t, "bequeathed"))
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Process.Wait(); err != nil { // Wait would wait for the inheritor's end as well
		t.Fatal(err)
	}
	_, _, err = Open(t.Context(), Options{Dir: dir, Session: "s1", ReleaseTimeout: time.Millisecond})
	checkInherited(t, wantHeld(t, err), inheritor, other.Process.Pid)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err = Open(ctx, Options{Dir: dir, Session: "s1"}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the end of the context", err)
	}

	done := make(chan error, 1)
	go func() { // ends when the inheritor has
		l, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1", ReleaseTimeout: time.Minute})
		if err == nil {
			err = l.Close(t.Context())
		}
		done <- err
	}()
	if err := syscall.Kill(inheritor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// C4: events that were shown before a kill -9 are in the log, to the byte, and the log continues.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	total := 0
	for range 25 {
		writer := start(t, "write", dir, "s1")
		var shown []string
		stopAt := 1 + rand.IntN(300)
		for len(shown) < stopAt && writer.lines.Scan() {
			shown = append(shown, writer.lines.Text())
		}
		if err := writer.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for writer.lines.Scan() { // the events that it had shown before its death
			if line := writer.lines.Text(); json.Valid([]byte(line)) {
				shown = append(shown, line)
			}
		}
		_ = writer.Wait()
		if len(shown) < stopAt {
			t.Fatalf("the writer ended by itself: %q", shown)
		}
		checkShown(t, dir, shown)
		total += len(shown)
	}
	if total < 25 {
		t.Fatalf("only %d events were shown", total)
	}
}

func checkShown(t *testing.T, dir string, shown []string) {
	t.Helper()
	l, _ := open(t, Options{Dir: dir})
	stored := map[uint64]string{}
	for _, e := range collectUntil(t, l, l.Seq()) {
		line, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		stored[e.Seq] = string(line)
	}
	for _, line := range shown {
		var e event.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		diff(t, "event "+strconv.FormatUint(e.Seq, 10), line, stored[e.Seq])
	}
	closeLog(t, l)
}

// A directory that an ordinary user may not write to is named, with a way out.
func TestUnwritableDirectory(t *testing.T) {
	dir := t.TempDir()
	l, opened := open(t, Options{Dir: dir})
	closeLog(t, l)
	mode := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	mode(filepath.Dir(dir), 0o755)
	mode(dir, 0o755)
	mode(opened.Path, 0o444)
	mode(sessionsDir(dir), 0o555)
	t.Cleanup(func() { mode(sessionsDir(dir), 0o700) })
	for _, session := range []string{"s1", "s2"} {
		cmd := exec.Command(os.Args[0], dir, session)
		if os.Geteuid() == 0 { // root may write everywhere, and nobody may not see the test binary
			cmd.Path = "/proc/self/exe"
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		got := startCommand(t, cmd, "open").expect(t, "error:")
		if !strings.Contains(got, "permission denied") || !strings.Contains(got, "SETTLE_DATA_DIR") {
			t.Errorf("%s: it said %q", session, got)
		}
	}
}
