//go:build unix

package sandbox

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// connectTimeout bounds the answer of a proxy, in seconds; the proxy itself has a shorter bound.
const connectTimeout = 90

// RunConnect carries standard input and output to a host through the proxy, see [ConnectName],
// until the host closes the connection. It returns the exit code. It uses as little of package
// net as possible, so that supervisors start fast.
func RunConnect(proxy, host, port string) int {
	if err := connect(proxy, host+":"+port, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "settle:", err)
		return 1
	}
	return 0
}

func connect(proxy, target string, in io.Reader, out io.Writer) error {
	conn, err := reach(proxy, target)
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() { // ends with the program
		_, _ = io.Copy(conn, in)
		if raw, err := conn.SyscallConn(); err == nil { // otherwise closed
			_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
		}
	}()
	if _, err := io.Copy(out, conn); err != nil {
		return fmt.Errorf("the connection to %s broke: %w", target, err)
	}
	return nil
}

// reach asks the proxy at http://NAME:SECRET@127.0.0.1:PORT to connect to "host:port".
func reach(proxy, target string) (*os.File, error) {
	who, at, _ := strings.Cut(strings.TrimPrefix(proxy, "http://"), "@")
	port, err := strconv.ParseUint(strings.TrimPrefix(at, "127.0.0.1:"), 10, 16)
	if err != nil {
		return nil, errors.New("there is no proxy of a sandbox in ALL_PROXY")
	}
	if strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, fmt.Errorf("%q is no host", target)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the sandbox's proxy: %w", err)
	}
	unix.CloseOnExec(fd)
	for _, direction := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, direction, &unix.Timeval{Sec: connectTimeout})
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("cannot reach the sandbox's proxy: %w", err)
	}
	conn := os.NewFile(uintptr(fd), "proxy")
	if err := ask(conn, who, target); err != nil {
		_ = conn.Close()
		return nil, err
	}
	for _, direction := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		_ = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, direction, &unix.Timeval{})
	}
	return conn, nil
}

// ask sends a CONNECT request. It reads the head of the answer, and no byte after it.
func ask(conn io.ReadWriter, who, target string) error {
	code := base64.StdEncoding.EncodeToString([]byte(who))
	if _, err := fmt.Fprintf(
		conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", target, target, code,
	); err != nil {
		return fmt.Errorf("cannot ask the sandbox's proxy: %w", err)
	}
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); {
		if _, err := io.ReadFull(conn, one); err != nil {
			return fmt.Errorf("cannot ask the sandbox's proxy: %w", err)
		}
		if head = append(head, one[0]); len(head) > 16<<10 {
			return errors.New("cannot ask the sandbox's proxy: its answer is too long")
		}
	}
	line, _, _ := strings.Cut(string(head), "\r\n")
	if fields := strings.Fields(line); len(fields) < 2 || fields[1] != "200" {
		why, _ := io.ReadAll(io.LimitReader(conn, 1<<10))
		return errors.New(strings.TrimSpace(string(why) + " (" + strings.TrimSpace(line) + ")"))
	}
	return nil
}
