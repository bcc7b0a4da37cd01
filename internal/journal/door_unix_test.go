//go:build unix

package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/proc"
)

// openDoor opens a door whose guests are greeted and stay until they leave.
func openDoor(t *testing.T, dir string) *Door {
	t.Helper()
	d := NewDoor(dir, Service{
		Release: func(context.Context, string) error { return ErrNotHeld },
		Join: func(_ context.Context, session string, _ json.RawMessage, conn net.Conn) {
			if session != "s1" {
				_, _ = io.WriteString(conn, "{}\n")
				return
			}
			_, _ = io.WriteString(conn, `{"hello":true}`+"\n")
			_, _ = io.Copy(io.Discard, conn)
		},
	})
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(hostsDir(dir)); err == nil && len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	return d
}

// enter joins a session, as a guest does.
func enter(ctx context.Context, dir, session string) (net.Conn, error) {
	return Knock(ctx, dir, proc.Self(), func(conn net.Conn) error {
		var answer struct{ Hello bool }
		if err := Ask(conn, doorRequest{Join: session}, &answer, maxRequest); err != nil {
			return err
		}
		if !answer.Hello {
			return ErrNoAnswer
		}
		return nil
	})
}

// Only the user gets at the socket, also where the directory was there before.
func TestTheDoorIsPrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(hostsDir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(hostsDir(dir), 0o755); err != nil { // whatever the mask is
		t.Fatal(err)
	}
	d := openDoor(t, dir)
	for path, want := range map[string]fs.FileMode{hostsDir(dir): fs.ModeDir | 0o700, d.path: fs.ModeSocket | 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	for _, tt := range []struct {
		peer, self int
		want       bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1000, 0, false}, {1001, 1000, false}, {65534, 1000, false}, {-1, 1000, false}} {
		if got := isTrusted(tt.peer, tt.self); got != tt.want {
			t.Errorf("user %d and process of %d: %v", tt.peer, tt.self, got)
		}
	}
}

// Where the directory is a link, or no directory, nobody listens.
func TestNoDoorBehindALink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(t.TempDir(), hostsDir(dir)); err != nil {
		t.Fatal(err)
	}
	var foreign *ForeignError
	if err := NewDoor(dir, Service{}).Open(); !errors.As(err, &foreign) {
		t.Errorf("it listens: %v", err)
	}
}

// A path that is too long for a socket's address is none for the door, on any
// system.
func TestALongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	openDoor(t, dir)
	conn, err := enter(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	short := ""
	err = atLink(hostsDir(dir), "other", func(path string) error {
		short = path
		l, err := net.Listen("unix", path)
		if err != nil {
			return err
		}
		return l.Close()
	})
	if err != nil || len(short) > maxSocketPath {
		t.Errorf("through %q: %v", short, err)
	}
	if _, err := os.Lstat(filepath.Dir(filepath.Dir(short))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link's directory is left: %v", err)
	}
}

// Whatever somebody says at the door, the next one is heard.
func TestGarbageAtTheDoor(t *testing.T) {
	dir := t.TempDir()
	d := openDoor(t, dir)
	for name, says := range map[string]string{
		"nothing":    "",
		"garbage":    "\x00\xff\n",
		"no request": "{}\n",
		"a list":     "[1,2]\n",
		"no line":    `{"join":"s1"`,
		"a long one": strings.Repeat("x", 2*maxRequest) + "\n",
		"deep":       strings.Repeat("[", maxRequest-1) + "\n",
	} {
		conn, err := net.Dial("unix", d.path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, says) // it may be cut off
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if answer, _ := io.ReadAll(conn); len(answer) > 0 {
			t.Errorf("%s: it answered %s", name, answer)
		}
		_ = conn.Close()
	}
	if conn, err := enter(t.Context(), dir, "s2"); !errors.Is(err, ErrNoAnswer) || conn != nil {
		t.Errorf("a session that is not there: %v", err)
	}
	conn, err := enter(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

// What stands in the place of a socket is not talked to, or says nothing of use;
// nobody waits for it longer than they may.
func TestNoSocketInItsPlace(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(hostsDir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "s")
	trap, err := net.Listen("unix", elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer trap.Close()
	name := filepath.Join(hostsDir(dir), socketPrefix(proc.Self()))
	if err := errors.Join(os.Symlink(elsewhere, name+"link.sock"), os.WriteFile(name+"file.sock", nil, 0o600), os.Mkdir(name+"dir.sock", 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := enter(t.Context(), dir, "s1"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("it went through: %v", err)
	}
	mute, err := net.Listen("unix", name+"mute.sock") // its backlog takes those who come
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := enter(ctx, dir, "s1"); !errors.Is(err, ErrNoAnswer) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it waits: %v", err)
	}
	if err := mute.Close(); err != nil {
		t.Error(err)
	}
	chatter, err := net.Listen("unix", name+"chatter.sock")
	if err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { // ends with the guest
		defer close(gone)
		conn, err := chatter.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = conn.Write(make([]byte, 16*maxRequest)) // as far as anybody reads it
	}()
	if _, err := enter(t.Context(), dir, "s1"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("a line without an end: %v", err)
	}
	<-gone
	if err := chatter.Close(); err != nil {
		t.Error(err)
	}
}

// A door that is shut lets nobody in; those who are in stay until it is closed, and
// it can be opened again.
func TestShut(t *testing.T) {
	dir := t.TempDir()
	d := openDoor(t, dir)
	guest, err := enter(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if err := errors.Join(d.Shut(), d.Shut()); err != nil {
		t.Error(err)
	}
	if _, err := enter(t.Context(), dir, "s1"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("it is open: %v", err)
	}
	if err := errors.Join(d.Open(), d.Open()); err != nil {
		t.Fatal(err)
	}
	other, err := enter(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, conn := range []net.Conn{guest, other} {
		if line, err := bufio.NewReader(conn).ReadString('\n'); !errors.Is(err, io.EOF) {
			t.Errorf("it is in: %q, %v", line, err)
		}
	}
	if err := d.Open(); !errors.Is(err, ErrClosed) {
		t.Errorf("a door that is closed: %v", err)
	}
}

// A crowd at the door does not fill the host.
func TestACrowdAtTheDoor(t *testing.T) {
	dir := t.TempDir()
	d := openDoor(t, dir)
	d.mu.Lock()
	d.visitors = maxVisitors - 1
	d.mu.Unlock()
	guest, err := enter(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enter(t.Context(), dir, "s1"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("one more came in: %v", err)
	}
	if err := guest.Close(); err != nil {
		t.Error(err)
	}
}
