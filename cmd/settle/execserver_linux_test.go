package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/settle-agent/settle/internal/frontend/compat/execserver/execservertest"
)

// execServer starts settle exec-server and returns it with its address.
func execServer(t testing.TB, args ...string) (cmd *exec.Cmd, url string) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), "settle", append([]string{"exec-server"}, args...)...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "SETTLE_DATA_DIR=" + t.TempDir()}
	cmd.Stderr, cmd.WaitDelay = os.Stderr, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

// C7: no process is left, by any escape, when its client terminates it, is gone or is killed, or
// when the server is killed.
func TestExecServerLeavesNothing(t *testing.T) {
	matrix := execservertest.Matrix{
		Server: func(t testing.TB) execservertest.Server {
			cmd, url := execServer(t, "--resume-timeout", "0")
			return execservertest.Server{URL: url, Kill: func() { _ = cmd.Process.Kill() }}
		},
		KillClient: killClient,
		Left: func(t testing.TB, ending, mark string) []string {
			if ending == "terminate" { // the answer comes after the end
				return execservertest.Survivors(mark)
			}
			return execservertest.AwaitNone(mark, execservertest.Patience)
		},
	}
	for ending, escapes := range matrix.Survivors(t) {
		if len(escapes) != 14 {
			t.Errorf("%s: %d escapes", ending, len(escapes))
		}
		for escape, left := range escapes {
			if left > 0 {
				t.Errorf("%s, %s: %d survive", ending, escape, left)
			}
		}
	}
}

func killClient(t testing.TB, env ...string) {
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^$")
	cmd.Env, cmd.Stderr = env, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Error(err)
		return
	}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil ||
		strings.TrimSpace(line) != execservertest.Ready {
		t.Errorf("the client said %q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// Each end of the server ends everything, with exit code 0.
func TestExecServerEnds(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd, url := execServer(t)
			c := execservertest.Dial(t, url, http.Header{})
			c.Hello("")
			mark := fmt.Sprint("end-", int(sig), "-", os.Getpid())
			c.Call(
				"process/start",
				execservertest.Start(
					"p", "trap '' TERM; setsid sleep 1000 &"+execservertest.Foreground, t.TempDir(), mark,
				),
				nil,
			)
			c.Until("p", "a word", func(d execservertest.Done) bool { return strings.Contains(d.Text, "ready") })
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			if left := execservertest.Survivors(mark); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// The server refuses options that would admit clients other than this user's programs.
func TestExecServerRefuses(t *testing.T) {
	p := newPlace(t)
	shared := t.TempDir()
	if err := os.Chmod(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--listen", "ws://0.0.0.0:0"}, "without TLS"},
		{[]string{"--listen", "ws://127.0.0.1:0", "--no-token"}, "unknown flag"},
		{[]string{"--listen", "unix:" + shared + "/socket"}, "chmod go-rwx"},
		{[]string{"--listen", "unix:" + p.work + "/private/socket", "--token-file", "x"}, "takes no --token-file"},
		{[]string{"--listen", "http://127.0.0.1:0"}, "write ws://"},
		{[]string{"--listen", "ws://127.0.0.1"}, "write ws://"},
		{[]string{"--connect", "http://x"}, "write ws://"},
		{[]string{"--connect", "ws://x", "--listen", "stdio"}, "listen"},
		{[]string{"--resume-timeout", "-1s"}, "negative"},
	} {
		out, err := p.command(append([]string{"exec-server"}, test.args...)...).CombinedOutput()
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 2 ||
			!strings.Contains(string(out), test.want) {
			t.Errorf("%v: %v, %s", test.args, err, out)
		}
	}
}

// upgrade asks for a WebSocket at a path, as any user of the machine can, and returns
// the status.
func upgrade(t *testing.T, network, addr, path string) int {
	t.Helper()
	conn, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", path); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}

// Another user of the machine can connect to the loopback interface, but does not know
// the token that is in the address.
func TestExecServerNeedsTokenOnLoopback(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, fresh := execServer(t)
	_, kept := execServer(t, "--token-file", token)
	for printed, want := range map[string]string{fresh: "", kept: "/0123456789abcdef"} {
		address, err := url.Parse(printed)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = address.Path
		}
		for path, code := range map[string]int{"/": 401, "/0123456789abcdee": 401, want: 101} {
			if got := upgrade(t, "tcp", address.Host, path); got != code {
				t.Errorf("%s at %s: status %d, want %d", path, printed, got, code)
			}
		}
	}
	if strings.Contains(kept, "0123456789abcdef") {
		t.Errorf("the token of the file is printed: %s", kept)
	}
}

// A Unix socket is for the user alone, who needs no token; one that a killed server left
// is replaced.
func TestExecServerOnUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "private", "socket")
	cmd, printed := execServer(t, "--listen", "unix:"+path)
	if printed != "unix:"+path {
		t.Errorf("printed %q", printed)
	}
	for at, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %v", at, info, err, want)
		}
	}
	if got := upgrade(t, "unix", path, "/"); got != 101 {
		t.Errorf("status %d", got)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	execServer(t, "--listen", "unix:"+path)
	if got := upgrade(t, "unix", path, "/"); got != 101 {
		t.Errorf("at the second server: status %d", got)
	}
}

// With --connect, the client listens; the server reconnects after the connection is lost, and its
// processes still run.
func TestExecServerConnects(t *testing.T) {
	conns := make(chan *websocket.Conn)
	over := make(chan struct{})
	l := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer 0123456789abcdef" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		select {
		case conns <- conn:
			<-over
		case <-over:
		}
		_ = conn.CloseNow()
	}))
	defer l.Close()
	defer close(over)
	p := newPlace(t)
	token := filepath.Join(p.work, "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := p.command("exec-server", "--connect", strings.Replace(l.URL, "http", "ws", 1), "--token-file", token)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	c := execservertest.New(t, t.Context(), <-conns)
	session := c.Hello("")
	c.Call("process/start", execservertest.Start("p", execservertest.Foreground, p.work, "none"), nil)
	c.Cut()
	c = execservertest.New(t, t.Context(), <-conns)
	defer c.Cut()
	if again := c.Hello(session); again != session {
		t.Errorf("session %s, want %s", again, session)
	}
	var ended struct{ Running bool }
	c.Call("process/terminate", map[string]any{"processId": "p"}, &ended)
	if !ended.Running {
		t.Error("the process is gone")
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}
