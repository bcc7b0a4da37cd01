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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/proc"
)

// A host that holds sessions listens at a socket in the data directory, so that
// whoever takes one of them over need not end the host with all the others. A
// request and its answer are a line of JSON each.

// releaseRequest asks for one session.
type releaseRequest struct {
	Release string `json:"release"`
}

// releaseAnswer says what became of it. Both empty: it is not this host's.
type releaseAnswer struct {
	Released bool   `json:"released,omitempty"`
	Error    string `json:"error,omitempty"`
}

// ErrNotHeld is what a release function returns for a session that it does not
// hold.
var ErrNotHeld = errors.New("the session is not held here")

// refusedError says that the host answered, and did not release the session.
type refusedError struct{ why string }

func (e *refusedError) Error() string { return "it could not release the session: " + e.why }

const (
	socketSuffix = ".sock"
	// releaseTimeout bounds a host's work for one request; whoever asks has
	// less patience.
	releaseTimeout = 30 * time.Second
	// maxRequest bounds a line in bytes.
	maxRequest = 4 << 10
)

func hostsDir(dir string) string { return filepath.Join(dir, "hosts") }

// socketPrefix begins the names of a process's sockets.
func socketPrefix(p *event.Identity) string {
	return fmt.Sprintf("%s-%d-%d-", proc.Place(p), p.PID, p.Started)
}

// Releases answers requests to release sessions.
type Releases struct {
	release  func(ctx context.Context, session string) error
	listener net.Listener
	path     string
	life     context.Context //nolint:containedctx // it is the listener's own, no request's
	end      context.CancelFunc
	serving  sync.WaitGroup
}

// ListenForReleases calls release, which may be called by several goroutines,
// for each session that somebody else wants to take over, until Close.
func ListenForReleases(dir string, release func(ctx context.Context, session string) error) (*Releases, error) {
	self := proc.Self()
	if self == nil {
		return nil, errors.ErrUnsupported
	}
	if err := os.MkdirAll(hostsDir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("cannot listen for requests: %w", err)
	}
	removeStale(dir, self)
	name := socketPrefix(self) + uuid.NewString()[:8] + socketSuffix
	var l net.Listener
	err := at(hostsDir(dir), name, func(path string) (err error) {
		l, err = net.Listen("unix", path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot listen for requests: %w", err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // the path that it knows may be a passing one
	r := &Releases{release: release, listener: l, path: filepath.Join(hostsDir(dir), name)}
	r.life, r.end = context.WithCancel(context.Background())
	r.serving.Add(1)
	go r.serve() // ends with Close, which waits for it
	return r, nil
}

// Close stops listening and waits for the requests that are being answered, whose
// contexts end.
func (r *Releases) Close() error {
	r.end()
	err := errors.Join(os.Remove(r.path), r.listener.Close())
	r.serving.Wait()
	return err
}

func (r *Releases) serve() {
	defer r.serving.Done()
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.serving.Add(1)
		go func() { // ends with the request, which has a deadline; Close waits for it
			defer r.serving.Done()
			r.answer(conn)
		}()
	}
}

func (r *Releases) answer(conn net.Conn) {
	ctx, cancel := context.WithTimeout(r.life, releaseTimeout)
	defer cancel()
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	var request releaseRequest
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &request) != nil || request.Release == "" {
		return
	}
	var answer releaseAnswer
	switch err := r.release(ctx, request.Release); {
	case errors.Is(err, ErrNotHeld):
	case err != nil:
		answer.Error = err.Error()
	default:
		answer.Released = true
	}
	_ = json.NewEncoder(conn).Encode(answer) // who asked may be gone
}

// errNoAnswer says that no socket of the process knows of the session.
var errNoAnswer = errors.New("the host does not answer")

// requestRelease asks a process to release a session.
func requestRelease(ctx context.Context, dir string, p *event.Identity, session string) error {
	entries, err := os.ReadDir(hostsDir(dir))
	if err != nil {
		return errNoAnswer
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), socketPrefix(p)) {
			continue
		}
		var answer releaseAnswer
		err := at(hostsDir(dir), e.Name(), func(path string) (err error) {
			answer, err = exchange(ctx, path, releaseRequest{session})
			return err
		})
		switch {
		case err != nil:
		case answer.Released:
			return nil
		case answer.Error != "":
			return &refusedError{answer.Error}
		}
	}
	return errNoAnswer
}

func exchange(ctx context.Context, path string, request releaseRequest) (answer releaseAnswer, err error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return answer, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return answer, err
	}
	err = json.NewDecoder(io.LimitReader(conn, maxRequest)).Decode(&answer)
	return answer, err
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
