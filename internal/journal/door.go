package journal

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/internal/proc"
	"github.com/settle-agent/settle/internal/scope"
)

// A host that holds sessions listens at a socket in the data directory. Another
// process of the same user asks there for one of them: to release it, so that who
// takes it over need not end the host with all the others, or to let it take part.
// A request and its answer are a line of JSON each. What follows on the connection
// of those who take part is theirs.

// doorRequest asks for one session.
type doorRequest struct {
	Release string `json:"release,omitempty"`
	Join    string `json:"join,omitempty"`
}

// doorAnswer says what became of it. Both empty: it is not this host's.
type doorAnswer struct {
	Released bool   `json:"released,omitempty"`
	Error    string `json:"error,omitempty"`
}

// ErrNotHeld is what a release function returns for a session that it does not
// hold.
var ErrNotHeld = errors.New("the session is not held here")

const (
	socketSuffix = ".sock"
	// requestTimeout bounds the wait for a request, and releaseTimeout a host's work
	// for one; whoever asks has less patience.
	requestTimeout = 10 * time.Second
	releaseTimeout = 30 * time.Second
	// maxRequest bounds a line in bytes, maxVisitors those who are served at once.
	maxRequest  = 4 << 10
	maxVisitors = 128
)

func hostsDir(dir string) string { return filepath.Join(dir, "hosts") }

// Service is what a host does for those who ask. Its functions may be called by
// several goroutines.
type Service struct {
	// Release closes a session that somebody else wants to take over.
	Release func(ctx context.Context, session string) error
	// Join, if set, serves a process that takes part in a session, until that leaves or
	// ctx ends. request is the line that asked for it. Join answers it, and with
	// "{}" if the session is not held.
	Join func(ctx context.Context, session string, request json.RawMessage, conn net.Conn)
}

// Door is where a host is asked for its sessions. It is shut at first.
type Door struct {
	dir     string
	service Service
	life    context.Context //nolint:containedctx // it is the door's own, no request's
	end     context.CancelFunc
	serving sync.WaitGroup

	mu       sync.Mutex // guards what follows
	listener net.Listener
	path     string // of the socket
	visitors int
}

// NewDoor returns the door of a host in the data directory. The caller closes it.
func NewDoor(dir string, service Service) *Door {
	d := &Door{dir: dir, service: service}
	d.life, d.end = context.WithCancel(context.Background())
	return d
}

// Open begins to listen, unless the door is open.
func (d *Door) Open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener != nil {
		return nil
	}
	if d.life.Err() != nil {
		return ErrClosed
	}
	listener, path, err := listen(d.dir)
	if err != nil {
		return fmt.Errorf("cannot listen for requests: %w", err)
	}
	d.listener, d.path = listener, path
	d.serving.Add(1)
	go d.serve(listener) // ends with Shut; Close waits for it
	return nil
}

// listen makes a socket that only the user can reach.
func listen(dir string) (listener net.Listener, path string, err error) {
	self := proc.Self()
	if self == nil {
		return nil, "", errors.ErrUnsupported
	}
	if err := makePrivate(hostsDir(dir)); err != nil {
		return nil, "", err
	}
	removeStale(dir, self)
	name := socketPrefix(self) + uuid.NewString()[:8] + socketSuffix
	err = at(hostsDir(dir), name, func(path string) (err error) {
		if listener, err = net.Listen("unix", path); err != nil {
			return err
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false) // the path that it knows may be a passing one
		return os.Chmod(path, 0o600)
	})
	path = filepath.Join(hostsDir(dir), name)
	if err != nil && listener != nil {
		err = errors.Join(err, os.Remove(path), listener.Close())
	}
	return listener, path, err
}

// makePrivate makes a directory that nobody else can look into.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &ForeignError{Path: dir, What: "not a directory"}
	case info.Mode().Perm()&0o077 != 0:
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// Shut stops listening and removes the socket. Those who are being served stay.
func (d *Door) Shut() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener == nil {
		return nil
	}
	err := errors.Join(os.Remove(d.path), d.listener.Close())
	d.listener = nil
	return err
}

// Close shuts the door for good and waits for those who are being served, whose
// contexts and connections end.
func (d *Door) Close() error {
	d.end()
	err := d.Shut()
	d.serving.Wait()
	return err
}

func (d *Door) serve(listener net.Listener) {
	defer d.serving.Done()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		d.serving.Add(1)
		go func() { // ends with the connection, or with Close, which waits for it
			defer d.serving.Done()
			defer conn.Close()
			defer context.AfterFunc(d.life, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
			if isOurs(conn) && d.admit() {
				defer d.dismiss()
				_ = scope.Guard(func() error { d.answer(conn); return nil }) // Service reports its own; the connection ends
			}
		}()
	}
}

// admit reports whether there is room for one more.
func (d *Door) admit() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.visitors == maxVisitors {
		return false
	}
	d.visitors++
	return true
}

func (d *Door) dismiss() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.visitors--
}

// answer reads one request, and does what it asks for.
func (d *Door) answer(conn net.Conn) {
	line, err := d.request(conn)
	var request doorRequest
	if err != nil || json.Unmarshal(line, &request) != nil {
		return
	}
	switch {
	case request.Release != "":
		d.release(conn, request.Release)
	case request.Join != "" && d.service.Join != nil:
		d.service.Join(d.life, request.Join, line, conn)
	}
}

// request reads a line. Nothing may follow it before it is answered.
func (d *Door) request(conn net.Conn) ([]byte, error) {
	ctx, cancel := context.WithTimeout(d.life, requestTimeout)
	defer cancel()
	interrupted := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	if !interrupted() && err == nil {
		err = context.Cause(ctx)
	}
	return line, err
}

func (d *Door) release(conn net.Conn, session string) {
	ctx, cancel := context.WithTimeout(d.life, releaseTimeout)
	defer cancel()
	var answer doorAnswer
	switch err := d.service.Release(ctx, session); {
	case errors.Is(err, ErrNotHeld):
	case err != nil:
		answer.Error = err.Error()
	default:
		answer.Released = true
	}
	_ = json.NewEncoder(conn).Encode(answer) // who asked may be gone
}
