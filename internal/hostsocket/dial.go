package hostsocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// RefusedError reports that the host answered and did not release the session.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "the host could not release the session: " + e.Why }

// ErrNoAnswer reports that no socket of the host answered for the session.
var ErrNoAnswer = errors.New("the host does not answer")

// Dial connects to the sockets of a host in turn until handshake succeeds at one of them,
// and returns that connection without the deadline of ctx. An error of handshake ends the
// search, unless it is [ErrNoAnswer].
func Dial(
	ctx context.Context, dir string, host *event.Identity, handshake func(conn net.Conn) error,
) (net.Conn, error) {
	entries, err := os.ReadDir(hostsDir(dir))
	if err != nil || host == nil {
		return nil, ErrNoAnswer
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), socketPrefix(host)) || e.Type()&os.ModeSymlink != 0 {
			continue
		}
		conn, err := dialSocket(ctx, dir, e.Name(), handshake)
		if !errors.Is(err, ErrNoAnswer) {
			return conn, err
		}
	}
	if proc.Find(host) == proc.Absent {
		removeStale(dir, host)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return nil, ErrNoAnswer
}

// Exists reports whether the host has a control socket.
func Exists(dir string, host *event.Identity) bool {
	entries, _ := os.ReadDir(hostsDir(dir))
	return host != nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return strings.HasPrefix(e.Name(), socketPrefix(host))
	})
}

// dialSocket connects to one socket.
func dialSocket(
	ctx context.Context, dir, name string, handshake func(conn net.Conn) error,
) (conn net.Conn, err error) {
	err = withShortPath(hostsDir(dir), name, func(path string) (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
		return err
	})
	if err != nil {
		return nil, ErrNoAnswer
	}
	if !IsTrustedPeer(conn) { // another user's socket in its place
		return nil, errors.Join(ErrNoAnswer, conn.Close())
	}
	cut := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = handshake(conn)
	if !cut() && err == nil {
		err = ErrNoAnswer
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Ask sends a line of JSON and reads the answer, a line of at most maxAnswer bytes. It
// returns [ErrNoAnswer] if the answer is missing or invalid.
func Ask(conn net.Conn, request, answer any, maxAnswer int64) error {
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return ErrNoAnswer
	}
	line, err := ReadLine(conn, maxAnswer)
	if err != nil || json.Unmarshal(line, answer) != nil {
		return ErrNoAnswer
	}
	return nil
}

// ReadLine reads a line byte for byte, so that the bytes after it stay in the connection.
func ReadLine(in io.Reader, maxLine int64) (line []byte, err error) {
	next := make([]byte, 1)
	for int64(len(line)) < maxLine {
		if _, err := io.ReadFull(in, next); err != nil {
			return nil, err
		}
		if next[0] == '\n' {
			return line, nil
		}
		line = append(line, next[0])
	}
	return nil, fmt.Errorf("a line has more than %d bytes", maxLine)
}

// RequestRelease asks a host to release a session. It returns a [RefusedError] if the
// host could not, and [ErrNoAnswer] if no socket of the host knows the session.
func RequestRelease(ctx context.Context, dir string, host *event.Identity, session string) error {
	conn, err := Dial(ctx, dir, host, func(conn net.Conn) error {
		var a answer
		err := Ask(conn, request{Release: session}, &a, maxRequest)
		switch {
		case err != nil:
			return err
		case a.Error != "":
			return &RefusedError{a.Error}
		case !a.Released:
			return ErrNoAnswer
		}
		return nil
	})
	if err != nil {
		return err
	}
	return conn.Close()
}
