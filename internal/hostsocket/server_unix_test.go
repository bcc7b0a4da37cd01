//go:build unix

package hostsocket

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

// shortDir returns a directory in which the address of a socket is short enough for a
// client that dials its path.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// startServer returns a listening server that greets the clients of session s1 and serves
// them until they disconnect.
func startServer(t *testing.T, dir string) *Server {
	t.Helper()
	s := NewServer(dir, Service{
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
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(hostsDir(dir)); err == nil && len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	return s
}

// dialSession joins a session, as an attached client does.
func dialSession(ctx context.Context, dir, session string) (net.Conn, error) {
	return Dial(ctx, dir, proc.Self(), func(conn net.Conn) error {
		var answer struct{ Hello bool }
		if err := Ask(conn, request{Join: session}, &answer, maxRequest); err != nil {
			return err
		}
		if !answer.Hello {
			return ErrNoAnswer
		}
		return nil
	})
}

// The mode of an existing directory is corrected.
func TestServerSocketIsPrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(hostsDir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(hostsDir(dir), 0o755); err != nil { // independent of the umask
		t.Fatal(err)
	}
	s := startServer(t, dir)
	for path, want := range map[string]fs.FileMode{hostsDir(dir): fs.ModeDir | 0o700, s.path: fs.ModeSocket | 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	for _, tt := range []struct {
		peer, self int
		want       bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1000, 0, false}, {1001, 1000, false}, {65534, 1000, false}, {-1, 1000, false}} {
		if got := isTrusted(tt.peer, tt.self); got != tt.want {
			t.Errorf("isTrusted(%d, %d) = %v", tt.peer, tt.self, got)
		}
	}
}

func TestListenRejectsLinkAsDirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(t.TempDir(), hostsDir(dir)); err != nil {
		t.Fatal(err)
	}
	if err := NewServer(dir, Service{}).Listen(); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("Listen: %v", err)
	}
}

// A data directory can be longer than the address of a socket, on any system.
func TestServerInLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	startServer(t, dir)
	conn, err := dialSession(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	short := ""
	err = withLink(hostsDir(dir), "other", func(path string) error {
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
		t.Errorf("the directory of the link remains: %v", err)
	}
}

// A client that sends garbage does not affect the next client.
func TestServerIgnoresInvalidRequests(t *testing.T) {
	dir := shortDir(t)
	s := startServer(t, dir)
	for name, sent := range map[string]string{
		"nothing":    "",
		"garbage":    "\x00\xff\n",
		"no request": "{}\n",
		"a list":     "[1,2]\n",
		"no line":    `{"join":"s1"`,
		"a long one": strings.Repeat("x", 2*maxRequest) + "\n",
		"deep":       strings.Repeat("[", maxRequest-1) + "\n",
	} {
		conn, err := net.Dial("unix", s.path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, sent) // the server may close first
		if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if answer, _ := io.ReadAll(conn); len(answer) > 0 {
			t.Errorf("%s: the server answered %s", name, answer)
		}
		_ = conn.Close()
	}
	if conn, err := dialSession(t.Context(), dir, "s2"); !errors.Is(err, ErrNoAnswer) || conn != nil {
		t.Errorf("unknown session: %v", err)
	}
	conn, err := dialSession(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

// Links, files and directories in the place of a socket are ignored, and a socket that does
// not answer, or not in time, is no host.
func TestDialIgnoresFalseSockets(t *testing.T) {
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
	if _, err := dialSession(t.Context(), dir, "s1"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("dial through a link: %v", err)
	}
	mute, err := net.Listen("unix", name+"mute.sock") // its backlog accepts connections
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := dialSession(ctx, dir, "s1"); !errors.Is(err, ErrNoAnswer) ||
		!errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial at a mute socket: %v", err)
	}
	if err := mute.Close(); err != nil {
		t.Error(err)
	}
	chatter, err := net.Listen("unix", name+"chatter.sock")
	if err != nil {
		t.Fatal(err)
	}
	disconnected := make(chan struct{})
	go func() { // ends with the client
		defer close(disconnected)
		conn, err := chatter.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = conn.Write(make([]byte, 16*maxRequest)) // the client reads a part
	}()
	if _, err := dialSession(t.Context(), dir, "s1"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("answer without a line end: %v", err)
	}
	<-disconnected
	if err := chatter.Close(); err != nil {
		t.Error(err)
	}
}

// StopListening refuses new connections, keeps the served ones until Close, and can be
// followed by Listen.
func TestStopListeningKeepsConnections(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir)
	client, err := dialSession(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := errors.Join(s.StopListening(), s.StopListening()); err != nil {
		t.Error(err)
	}
	if _, err := dialSession(t.Context(), dir, "s1"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("dial after StopListening: %v", err)
	}
	if err := errors.Join(s.Listen(), s.Listen()); err != nil {
		t.Fatal(err)
	}
	second, err := dialSession(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, conn := range []net.Conn{client, second} {
		if line, err := bufio.NewReader(conn).ReadString('\n'); !errors.Is(err, io.EOF) {
			t.Errorf("connected after Close: %q, %v", line, err)
		}
	}
	if err := s.Listen(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Listen after Close: %v", err)
	}
}

func TestServerBoundsConnections(t *testing.T) {
	dir := t.TempDir()
	s := startServer(t, dir)
	s.mu.Lock()
	s.connections = maxConnections - 1
	s.mu.Unlock()
	client, err := dialSession(t.Context(), dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dialSession(t.Context(), dir, "s1"); !errors.Is(err, ErrNoAnswer) {
		t.Errorf("dial above the bound: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}
