//go:build unix

package executor

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/proc"
)

// sessionSocket is the lock and the socket of a session's executor.
type sessionSocket struct{ lockFile, socket string }

func newSessionSocket(dir, session string) (*sessionSocket, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot create a directory for the executor: %w", err)
	}
	if !IsPrivate(dir) {
		return nil, fmt.Errorf("cannot use %q for the executor: it must be a directory that only you can open", dir)
	}
	sum := sha256.Sum256([]byte(session))
	name := filepath.Join(dir, hex.EncodeToString(sum[:8])) // keeps the socket's path short
	return &sessionSocket{lockFile: name + ".lock", socket: name + ".sock"}, nil
}

// IsPrivate reports whether a path is a directory that only this user can open. It follows no
// link, which another user may have made.
func IsPrivate(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}

// lock returns the session's lock; nil if it is held by an executor, or by processes of a dead
// one.
func (p *sessionSocket) lock() (*os.File, error) {
	file, err := os.OpenFile(p.lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the executor's lock: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && p.names(file) {
		return file, nil
	}
	_ = file.Close()
	if err == nil || errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil // held, or just removed
	}
	return nil, fmt.Errorf("cannot lock the executor: %w", err)
}

// names reports whether the lock file still has its name.
func (p *sessionSocket) names(file *os.File) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(p.lockFile)
	return err == nil && os.SameFile(ours, there)
}

// leave removes and releases the lock.
func (p *sessionSocket) leave(lock *os.File) {
	_ = os.Remove(p.lockFile) // a process that locks it later fails; see names
	_ = lock.Close()
}

func (p *sessionSocket) dial() (net.Conn, error) {
	return net.DialTimeout("unix", p.socket, handshakeTimeout)
}

// listen creates the socket. The caller holds the lock, so that a previous listener is dead.
func (p *sessionSocket) listen() (net.Listener, error) {
	if err := os.Remove(p.socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot listen for those who come back: %w", err)
	}
	listener, err := net.Listen("unix", p.socket)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for those who come back: %w", err)
	}
	return listener, nil
}

// sweepMarked ends the processes of an executor that was killed with its supervisors.
func sweepMarked(marker string) {
	if marker != "" {
		_, _ = proc.Sweep(marker) // no other process can end the rest
	}
}
