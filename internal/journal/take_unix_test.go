//go:build unix

package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/hostsocket"
	"github.com/settle-agent/settle/internal/proc"
)

// lives checks that the actor was not signalled: it goes on to its own end.
func (a *actor) lives(t *testing.T) {
	t.Helper()
	_ = a.stdin.Close()
	a.expect(t, "done")
	if err := a.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A host that has other sessions releases the one, and goes on with the others.
func TestTakeOneSessionOfAHost(t *testing.T) {
	dir := t.TempDir()
	host := start(t, "serve", dir, "s1")
	host.expect(t, "held")
	l, opened := open(t, Options{Dir: dir, Take: true, TakeGrace: time.Minute, TakeTimeout: time.Minute})
	if !opened.Existing {
		t.Error("it is another session")
	}
	closeLog(t, l)
	if free, err := Free(dir, "s2"); free || err != nil {
		t.Errorf("the other session is free: %v, %v", free, err)
	}
	host.lives(t)
	if left, err := os.ReadDir(filepath.Join(dir, "hosts")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// C23: settle does not end a process that holds other sessions too, that embeds settle, or that it
// cannot identify as the session's host. The error has the command that ends the process.
func TestTakeSignalsNobodyElse(t *testing.T) {
	for role, want := range map[string]string{
		"crowd":     `would end with session "s2"; nothing was signalled`,
		"embeds":    "it is a program that embeds settle, and nothing was signalled",
		"reused":    "it cannot be proved that pid PID is the settle that holds it, and nothing was signalled",
		"elsewhere": "it cannot be proved that pid PID is the settle that holds it, and nothing was signalled",
	} {
		t.Run(role, func(t *testing.T) {
			dir := t.TempDir()
			other := start(t, role, dir, "s1")
			other.expect(t, "held")
			_, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1", Take: true, TakeGrace: time.Millisecond})
			pid := strconv.Itoa(other.Process.Pid)
			wantHeld(t, err)
			if want = strings.ReplaceAll(want, "PID", pid); !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), "kill "+pid) {
				t.Errorf("got %v", err)
			}
			other.lives(t)
		})
	}
}

// A host in another container that answers releases the session.
func TestTakeFromAnotherContainerThatAnswers(t *testing.T) {
	dir := t.TempDir()
	other := start(t, "elsewhere", dir, "s1")
	other.expect(t, "held")
	id := proc.Identify(other.Process.Pid)
	id.Namespace += "x"
	server := hostsocket.NewServer(dir, hostsocket.Service{Release: func(context.Context, string) error {
		other.lives(t) // it releases the session by itself
		return nil
	}})
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	// The socket gets a name of the other container until the server is closed.
	hosts := filepath.Join(dir, "hosts")
	sockets, err := os.ReadDir(hosts)
	if err != nil || len(sockets) != 1 {
		t.Fatalf("%v, %v", sockets, err)
	}
	here := filepath.Join(hosts, sockets[0].Name())
	there := filepath.Join(hosts, fmt.Sprintf("%s-%d-%d-1.sock", proc.Place(id), id.PID, id.Started))
	if err := os.Rename(here, there); err != nil {
		t.Fatal(err)
	}
	l, _ := open(t, Options{Dir: dir, Take: true, TakeGrace: time.Minute, TakeTimeout: time.Minute})
	closeLog(t, l)
	if err := errors.Join(os.Rename(there, here), server.Close()); err != nil {
		t.Error(err)
	}
}

// A host in another container is not looked for among the processes here.
func TestTakeFromAnotherContainer(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, Options{Dir: dir})
	id := proc.Self()
	id.Namespace, id.PID = "pid:[1]", 1
	if err := identify(l, id); err != nil {
		t.Fatal(err)
	}
	closeLog(t, l)
	f, _, err := openToRead(dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	taker := taking{
		path:    f.Name(),
		began:   time.Now(),
		options: Options{Dir: dir, Session: "s1", Take: true, TakeTimeout: time.Minute},
	}
	h := findHolder(f, f.Name()) // nobody holds the lock whom the kernel would show
	held := &HeldError{Session: "s1", RemotePID: h.process.PID}
	if err := taker.end(h, held); !h.remote || h.pid != 0 || err == nil ||
		!strings.Contains(
			err.Error(), "open in pid 1 in another container or on another machine",
		) || !strings.Contains(err.Error(), "end it there") {
		t.Errorf("%+v: %v", h, err)
	}
}

// A process that was asked to end gets the whole grace for it.
func TestTakeGrace(t *testing.T) {
	dir := t.TempDir()
	other := start(t, "linger", dir, "s1")
	other.expect(t, "held")
	f, err := os.OpenFile(sessionsDir(dir)+"/s1.log", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	taker := taking{
		path:    f.Name(),
		began:   time.Now(),
		options: Options{Dir: dir, Session: "s1", Take: true, TakeGrace: time.Hour, TakeTimeout: time.Hour},
	}
	push := func(times int) {
		t.Helper()
		for range times {
			if err := taker.push(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
	}
	push(2) // asks it to release the session, then to end
	other.expect(t, "asked")
	push(3)
	other.lives(t)
}

// Looking whether a session is free does not keep its next host from opening it,
// nor is who looks taken for a holder.
func TestLookingDisturbsNobody(t *testing.T) {
	dir := t.TempDir()
	l, _ := open(t, Options{Dir: dir})
	closeLog(t, l)
	f, _, err := openToRead(dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if held, err := isHeld(f); held || err != nil { // and shares the lock from now on
		t.Fatalf("%v, %v", held, err)
	}
	opened := make(chan error, 1)
	looked := make(chan struct{})
	go func() { // ends with the opening
		close(looked)
		l, _, err := Open(t.Context(), Options{Dir: dir, Session: "s1", Take: true})
		if err == nil {
			err = l.Close(t.Context())
		}
		opened <- err
	}()
	<-looked
	taker := taking{path: f.Name(), began: time.Now(), options: Options{Dir: dir, Session: "s1"}.withDefaults()}
	other, err := os.OpenFile(f.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := taker.push(t.Context(), other); err != nil {
		t.Errorf("who looks counts as the holder: %v", err)
	}
	if err := errors.Join(other.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// A process that was killed leaves its socket behind; the next host removes it.
func TestStaleSockets(t *testing.T) {
	dir := t.TempDir()
	host := start(t, "serve", dir, "s1")
	host.expect(t, "held")
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	if left, err := os.ReadDir(filepath.Join(dir, "hosts")); err != nil || len(left) != 1 {
		t.Fatalf("%v, %v", left, err)
	}
	server := hostsocket.NewServer(dir, hostsocket.Service{})
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "hosts")); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}
