//go:build machine && linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/settle-agent/settle/internal/test/setsid"
)

// land is a place with an executor.
type land struct {
	// way is the command that leads to a script, which is in place of "%s".
	way string
	// root is the path of the land's root directory on this machine.
	root string
	// cuts counts how often streams were cut; nil where they are not.
	cuts *atomic.Int64
}

// programs builds settle, and a program that reaps orphans, so that they run anywhere.
func programs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, pkg := range map[string]string{"settle": ".", setsid.Subreaper: "../../internal/test/setsid/program"} {
		cmd := exec.CommandContext(
			t.Context(),
			"go",
			"build",
			"-trimpath",
			"-buildvcs=false",
			"-ldflags=-s -w",
			"-o",
			filepath.Join(dir, name),
			pkg,
		)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// lands are all ways to an executor.
func lands(t *testing.T, programs string) map[string]land {
	t.Helper()
	cuts := &atomic.Int64{}
	return map[string]land{
		"pipe":      {way: "sh -c '%s'"},
		"unshare":   {way: "unshare -Urpmf --mount-proc sh -c '%s'"},
		"proxy":     {way: dialTo(listenEach(t, misbehaving(t, cuts))), cuts: cuts},
		"ssh":       {way: secureShell(t)},
		"container": container(t, programs),
	}
}

// listenEach starts a program for each connection, as sshd and dockerd do: it does not
// descend from who asks. handle wires the program to the connection.
func listenEach(t *testing.T, handle func(conn *net.TCPConn) *exec.Cmd) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	var group sync.WaitGroup
	group.Go(func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if cmd := handle(conn.(*net.TCPConn)); cmd != nil {
				all = append(all, cmd)
			}
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		group.Wait()
		for _, cmd := range all {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return l
}

// dialTo is the command that asks a daemon to run a script.
func dialTo(l net.Listener) string { return "dial " + l.Addr().String() + " '%s'" }

// wanted reads the command that a daemon must run, and no byte more.
func wanted(conn net.Conn) string {
	var script []byte
	for b := make([]byte, 1); ; {
		if _, err := conn.Read(b); err != nil || b[0] == '\n' {
			return string(script)
		}
		script = append(script, b[0])
	}
}

// plugged starts a program whose standard streams are the connection.
func plugged(t *testing.T, conn *net.TCPConn, cmd *exec.Cmd) *exec.Cmd {
	defer conn.Close()
	file, err := conn.File()
	if err != nil {
		t.Error(err)
		return nil
	}
	defer file.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Error(err)
		return nil
	}
	return cmd
}

// misbehaving wires a program through a proxy that delays the data, cuts the connection at any
// byte, and then drops the data that it had received.
func misbehaving(t *testing.T, cuts *atomic.Int64) func(*net.TCPConn) *exec.Cmd {
	draw := rand.New(rand.NewPCG(1, 2))
	return func(conn *net.TCPConn) *exec.Cmd {
		cmd := exec.Command("sh", "-c", wanted(conn))
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		to, err1 := cmd.StdinPipe()
		from, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2, cmd.Start()); err != nil {
			t.Error(err)
			return nil
		}
		left := &atomic.Int64{}
		left.Store(1500 + draw.Int64N(6000)) // the greeting is shorter
		cut := func() {
			_, _, _ = conn.Close(), to.Close(), from.Close()
		}
		carry := func(to io.Writer, from io.Reader) {
			defer cut()
			data := make([]byte, 700)
			for {
				n, err := from.Read(data)
				if err != nil {
					return
				}
				if left.Add(int64(-n)) < 0 {
					cuts.Add(1)
					return
				}
				<-time.After(time.Duration(n) * time.Microsecond) // it is slow
				if _, err := to.Write(data[:n]); err != nil {
					return
				}
			}
		}
		go carry(to, conn) // both end with the connection
		go carry(conn, from)
		return cmd
	}
}

// secureShell leads to an sshd of this machine with keys of its own.
func secureShell(t *testing.T) (way string) {
	t.Helper()
	s := newSSHServer(t)
	return fmt.Sprintf(
		"ssh -F none -T -o BatchMode=yes -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "+
			"-i %s/user -p %s %s@%s '%%s'",
		s.dir,
		s.port,
		s.user,
		s.host,
	)
}

// sshServer is an sshd of this machine, on its loopback interface.
type sshServer struct {
	dir              string // with its key, "host", and the user's, "user"
	user, host, port string
	conns            atomic.Int64 // that it had
}

func newSSHServer(t *testing.T) *sshServer {
	t.Helper()
	const sshd = "/usr/sbin/sshd"
	if _, err := os.Stat(sshd); err != nil {
		t.Fatal("this needs Debian's openssh-server: ", err)
	}
	s := &sshServer{dir: t.TempDir()}
	for _, name := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(s.dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	me, err := user.Current()
	if err == nil && os.Geteuid() == 0 {
		err = os.MkdirAll("/run/sshd", 0o755) // its service makes that
	}
	if err != nil {
		t.Fatal(err)
	}
	s.user = me.Username
	config := "HostKey " + s.dir + "/host\nAuthorizedKeysFile " + s.dir + "/user.pub\nStrictModes no\nUsePAM no\nPidFile none\nLogLevel ERROR\nPasswordAuthentication no\n"
	if err := os.WriteFile(filepath.Join(s.dir, "sshd_config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l := listenEach(t, func(conn *net.TCPConn) *exec.Cmd {
		s.conns.Add(1)
		return plugged(t, conn, exec.Command(sshd, "-i", "-e", "-f", filepath.Join(s.dir, "sshd_config")))
	})
	if s.host, s.port, err = net.SplitHostPort(l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	return s
}

// container is a chroot in namespaces of its own, with busybox only, whose first process collects
// no orphans. Programs enter it as with docker exec.
func container(t *testing.T, programs string) land {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"bin", "proc", "dev", "etc", "tmp", "root"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	prepare := `set -e
cp "$PROGRAMS"/* "$ROOT/bin/"
cp "$(command -v busybox)" "$ROOT/bin/busybox"
ldd "$ROOT/bin/busybox" 2>/dev/null | grep -o '/[^ ]*' | while read -r library; do mkdir -p "$ROOT/$(dirname "$library")"; cp "$library" "$ROOT/$library"; done || true
for name in $("$ROOT/bin/busybox" --list); do [ -e "$ROOT/bin/$name" ] || ln -s busybox "$ROOT/bin/$name"; done`
	cmd := exec.Command("sh", "-c", prepare)
	cmd.Env = append(os.Environ(), "ROOT="+root, "PROGRAMS="+programs)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	begin := []string{"-mpf", "--kill-child"}
	enter := []string{"-m", "-p", "-r", "-w"}
	if os.Geteuid() != 0 {
		begin, enter = append(begin, "-Ur"), append(enter, "-U", "--preserve-credentials")
	}
	first := exec.Command("unshare", append(
		begin, "sh", "-c",
		`mount -t proc proc "$ROOT/proc" && mount --rbind /dev "$ROOT/dev" && echo up && exec chroot "$ROOT" /bin/sleep 3000`,
	)...)
	first.Env, first.Stderr = append(os.Environ(), "ROOT="+root), os.Stderr
	out, err := first.StdoutPipe()
	if err == nil {
		err = first.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = first.Process.Kill()
		_ = first.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", first.Process.Pid))
	if err != nil || len(strings.Fields(string(raw))) != 1 {
		t.Fatalf("the container's first process is %q, %v", raw, err)
	}
	enter = append(enter, "-t", strings.TrimSpace(string(raw)), "/bin/sh", "-c")
	l := listenEach(t, func(conn *net.TCPConn) *exec.Cmd {
		cmd := exec.Command("nsenter", append(enter, wanted(conn))...)
		cmd.Env = []string{"PATH=/bin", "HOME=/root"}
		return plugged(t, conn, cmd)
	})
	return land{way: dialTo(l), root: root}
}
