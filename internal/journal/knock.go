package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// refusedError says that the host answered, and did not release the session.
type refusedError struct{ why string }

func (e *refusedError) Error() string { return "it could not release the session: " + e.why }

// ErrNoAnswer says that no socket of the process knows of the session.
var ErrNoAnswer = errors.New("the host does not answer")

// socketPrefix begins the names of a process's sockets.
func socketPrefix(p *event.Identity) string {
	return fmt.Sprintf("%s-%d-%d-", proc.Place(p), p.PID, p.Started)
}

// Knock connects to the sockets of a host, one after the other, until ask has
// got what it wants from one of them: that connection is returned, with the deadline
// of ctx taken off. An error of ask ends the search, unless it is [ErrNoAnswer].
func Knock(ctx context.Context, dir string, host *event.Identity, ask func(conn net.Conn) error) (net.Conn, error) {
	entries, err := os.ReadDir(hostsDir(dir))
	if err != nil || host == nil {
		return nil, ErrNoAnswer
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), socketPrefix(host)) || e.Type()&os.ModeSymlink != 0 {
			continue
		}
		conn, err := knock(ctx, dir, e.Name(), ask)
		if !errors.Is(err, ErrNoAnswer) {
			return conn, err
		}
	}
	if proc.Find(host) == proc.Gone {
		removeStale(dir, host)
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return nil, ErrNoAnswer
}

// hasDoor reports whether the host listens.
func hasDoor(dir string, host *event.Identity) bool {
	entries, _ := os.ReadDir(hostsDir(dir))
	return host != nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), socketPrefix(host)) })
}

// knock asks at one socket.
func knock(ctx context.Context, dir, name string, ask func(conn net.Conn) error) (conn net.Conn, err error) {
	err = at(hostsDir(dir), name, func(path string) (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
		return err
	})
	if err != nil {
		return nil, ErrNoAnswer
	}
	if !isOurs(conn) { // somebody else's socket in its place
		return nil, errors.Join(ErrNoAnswer, conn.Close())
	}
	cut := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = ask(conn)
	if !cut() && err == nil {
		err = ErrNoAnswer
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// Ask sends a line of JSON, and reads another one of at most so many bytes.
// Where there is none, it is [ErrNoAnswer].
func Ask(conn net.Conn, request, answer any, most int64) error {
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return ErrNoAnswer
	}
	line, err := readLine(conn, most)
	if err != nil || json.Unmarshal(line, answer) != nil {
		return ErrNoAnswer
	}
	return nil
}

// readLine reads a line byte for byte: what follows it is not ours.
func readLine(in io.Reader, most int64) (line []byte, err error) {
	next := make([]byte, 1)
	for int64(len(line)) < most {
		if _, err := io.ReadFull(in, next); err != nil {
			return nil, err
		}
		if next[0] == '\n' {
			return line, nil
		}
		line = append(line, next[0])
	}
	return nil, fmt.Errorf("a line has more than %d bytes", most)
}

// requestRelease asks a process to release a session.
func requestRelease(ctx context.Context, dir string, p *event.Identity, session string) error {
	conn, err := Knock(ctx, dir, p, func(conn net.Conn) error {
		var answer doorAnswer
		err := Ask(conn, doorRequest{Release: session}, &answer, maxRequest)
		switch {
		case err != nil:
			return err
		case answer.Error != "":
			return &refusedError{answer.Error}
		case !answer.Released:
			return ErrNoAnswer
		}
		return nil
	})
	if err != nil {
		return err
	}
	return conn.Close()
}

// removeStale removes the sockets of processes that were killed.
func removeStale(dir string, self *event.Identity) {
	entries, _ := os.ReadDir(hostsDir(dir))
	for _, e := range entries {
		parts := strings.Split(strings.TrimSuffix(e.Name(), socketSuffix), "-")
		if len(parts) != 4 || parts[0] != proc.Place(self) {
			continue // of another container or machine, which it may be alive on
		}
		owner := *self
		var errPID, errStarted error
		owner.PID, errPID = strconv.Atoi(parts[1])
		owner.Started, errStarted = strconv.ParseUint(parts[2], 10, 64)
		if errPID == nil && errStarted == nil && proc.Find(&owner) == proc.Gone {
			_ = os.Remove(filepath.Join(hostsDir(dir), e.Name()))
		}
	}
}
