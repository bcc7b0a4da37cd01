package hostsocket

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

// request asks for one session: to release it, or to join it.
type request struct {
	Release string `json:"release,omitempty"`
	Join    string `json:"join,omitempty"`
}

// answer reports the result of a release. Both fields are empty if this host does not
// hold the session.
type answer struct {
	Released bool   `json:"released,omitempty"`
	Error    string `json:"error,omitempty"`
}

// ErrNotHeld is the error of [Service.Release] for a session that the host does not hold.
var ErrNotHeld = errors.New("this host does not hold the session")

const (
	// requestTimeout bounds the wait for a request, and releaseTimeout a host's work for a
	// release; the processes that ask have shorter timeouts.
	requestTimeout = 10 * time.Second
	releaseTimeout = 30 * time.Second
	// maxRequest bounds a line in bytes, and maxConnections the served connections.
	maxRequest     = 4 << 10
	maxConnections = 128
)

// Service handles the requests for a host's sessions. Several goroutines call its
// functions at once.
type Service struct {
	// Release closes a session that another process takes over.
	Release func(ctx context.Context, session string) error
	// Join, if set, serves an attached client of a session until the client disconnects or
	// ctx ends. request is the line that the client sent. Join answers the request, with
	// "{}" if the host does not hold the session.
	Join func(ctx context.Context, session string, request json.RawMessage, conn net.Conn)
}

// Server is the control socket of a host. It does not listen until Listen is called.
type Server struct {
	dir     string
	service Service
	life    context.Context // the server's own context, not a request's
	end     context.CancelFunc
	serving sync.WaitGroup

	mu          sync.Mutex // guards the fields below
	listener    net.Listener
	path        string // of the socket
	connections int
}

// NewServer returns the control socket of a host in the data directory. The caller closes
// it.
func NewServer(dir string, service Service) *Server {
	s := &Server{dir: dir, service: service}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Listen creates the socket, unless the server listens already. After Close, it returns
// [net.ErrClosed].
func (s *Server) Listen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener != nil {
		return nil
	}
	if s.life.Err() != nil {
		return net.ErrClosed
	}
	listener, path, err := listen(s.dir)
	if err != nil {
		return fmt.Errorf("cannot listen for requests: %w", err)
	}
	s.listener, s.path = listener, path
	s.serving.Add(1)
	go s.serve(listener) // ends with StopListening; Close waits for it
	return nil
}

// listen creates a socket that only the user can reach.
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
	err = withShortPath(hostsDir(dir), name, func(path string) (err error) {
		if listener, err = net.Listen("unix", path); err != nil {
			return err
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false) // path can be temporary
		return os.Chmod(path, 0o600)
	})
	path = filepath.Join(hostsDir(dir), name)
	if err != nil && listener != nil {
		err = errors.Join(err, os.Remove(path), listener.Close())
	}
	return listener, path, err
}

// makePrivate creates a directory that only the user can enter.
func makePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%q is not a directory; move it away", dir)
	case info.Mode().Perm()&0o077 != 0:
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// StopListening closes and removes the socket. Served connections stay open.
func (s *Server) StopListening() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return nil
	}
	err := errors.Join(os.Remove(s.path), s.listener.Close())
	s.listener = nil
	return err
}

// Close stops listening for good, ends the contexts and deadlines of all connections, and
// waits until they are closed.
func (s *Server) Close() error {
	s.end()
	err := s.StopListening()
	s.serving.Wait()
	return err
}

func (s *Server) serve(listener net.Listener) {
	defer s.serving.Done()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.serving.Add(1)
		go func() { // ends with the connection, or with Close, which waits for it
			defer s.serving.Done()
			defer conn.Close()
			defer context.AfterFunc(s.life, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
			if IsTrustedPeer(conn) && s.admit() {
				defer s.leave()
				// Service reports its own errors; the connection ends.
				_ = scope.Guard(func() error { s.answer(conn); return nil })
			}
		}()
	}
}

// admit counts a connection, unless maxConnections are open.
func (s *Server) admit() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connections == maxConnections {
		return false
	}
	s.connections++
	return true
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections--
}

// answer reads one request and passes it to the service.
func (s *Server) answer(conn net.Conn) {
	line, err := s.readRequest(conn)
	var r request
	if err != nil || json.Unmarshal(line, &r) != nil {
		return
	}
	switch {
	case r.Release != "":
		s.release(conn, r.Release)
	case r.Join != "" && s.service.Join != nil:
		s.service.Join(s.life, r.Join, line, conn)
	}
}

// readRequest reads a line. The client sends nothing else before the answer.
func (s *Server) readRequest(conn net.Conn) ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.life, requestTimeout)
	defer cancel()
	interrupted := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	if !interrupted() && err == nil {
		err = context.Cause(ctx)
	}
	return line, err
}

func (s *Server) release(conn net.Conn, session string) {
	ctx, cancel := context.WithTimeout(s.life, releaseTimeout)
	defer cancel()
	var a answer
	switch err := s.service.Release(ctx, session); {
	case errors.Is(err, ErrNotHeld):
	case err != nil:
		a.Error = err.Error()
	default:
		a.Released = true
	}
	_ = json.NewEncoder(conn).Encode(a) // the process that asked may have ended
}
