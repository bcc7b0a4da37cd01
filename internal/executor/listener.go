package executor

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/settle-agent/settle/internal/scope"
)

// Listener is the process of settle executor: it works for the host at the other end of its
// standard streams. The first process for a session is the executor. Later ones relay to it: the
// host has lost its stream, or another host has the session now.
type Listener struct {
	// Settle is this program's version.
	Settle  string
	Machine Machine
	// Dir is a directory for sockets and locks, which is created; see [MaxDir]. Without it,
	// other processes cannot find the executor, which then ends with its stream.
	Dir string
	// Local creates the executor of this machine, with the session's lock, which can be nil, and
	// its marker.
	Local func(lock *os.File, marker string) *Local
	// Keep is as in [Server].
	Keep time.Duration
}

// MaxDir bounds the path of Dir in bytes: systems bound the paths of sockets to about 100.
const MaxDir = 80

// lockTimeout bounds the wait for the processes of a dead executor.
const lockTimeout = 20 * time.Second

// Run works until the session needs no executor any more, or ctx ends.
func (s *Listener) Run(ctx context.Context, stream io.ReadWriteCloser) error {
	g, err := AcceptClient(stream, s.Settle, s.Machine)
	if err != nil {
		_ = stream.Close()
		return err
	}
	if g.Session() == "" || s.Dir == "" {
		return s.serve(ctx, g, nil, nil)
	}
	p, err := newSessionSocket(s.Dir, g.Session())
	if err != nil {
		return s.refuse(g, err)
	}
	for deadline := time.Now().Add(lockTimeout); ; {
		lock, err := p.lock()
		if err != nil {
			return s.refuse(g, err)
		}
		if lock != nil {
			err := s.serve(ctx, g, p, lock)
			p.leave(lock)
			return err
		}
		if conn, err := p.dial(); err == nil {
			return g.Relay(conn, s.Settle)
		}
		if time.Now().After(deadline) {
			return s.refuse(g, errors.New("the executor of this session does not answer, or its commands do not end"))
		}
		if err := scope.Sleep(ctx, firstDelay); err != nil {
			return err
		}
	}
}

func (s *Listener) refuse(g *Client, err error) error {
	_, _ = g.stream.Write(appendFrame(nil, frameRefused, []byte(err.Error())))
	_ = g.stream.Close()
	return err
}

// serve works for a session, for this client and later ones.
func (s *Listener) serve(ctx context.Context, g *Client, p *sessionSocket, lock *os.File) error {
	local := s.Local(lock, g.Marker())
	server := &Server{
		Settle: s.Settle,
		Local:  local,
		Keep:   s.Keep,
		Spool:  func() (*os.File, error) { return unlinkedFile(s.Dir) },
	}
	defer server.Close()
	if p == nil { // the client cannot reconnect
		err := server.Serve(g)
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return err
	}
	sweepMarked(g.Marker())
	listener, err := p.listen()
	if err != nil {
		return s.refuse(g, err)
	}
	defer listener.Close()
	go func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the stream
				client, err := AcceptClient(conn, s.Settle, s.Machine)
				switch {
				case err != nil:
					_ = conn.Close()
				case client.Session() != g.Session():
					_ = s.refuse(client, errors.New("this is the executor of another session"))
				default:
					_ = server.Serve(client) // the end of a client is no error here
				}
			}()
		}
	}()
	go func() { _ = server.Serve(g) }() // ends with the stream
	select {
	case <-server.Done():
		return nil
	case <-ctx.Done():
		return nil
	}
}

// unlinkedFile opens a temporary file that is removed when it is closed.
func unlinkedFile(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "output-")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file.Name()) // on Windows the file stays until a clean-up
	return file, nil
}
