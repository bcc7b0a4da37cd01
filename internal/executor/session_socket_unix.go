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

// place is where the hands of a session are found.
type sessionSocket struct{ lockFile, socket string }

func newSessionSocket(dir, session string) (*sessionSocket, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make a directory for the hands: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot use a directory for the hands: %w", err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("cannot use %q for the hands: it must be a directory that only you can open", dir)
	}
	sum := sha256.Sum256([]byte(session))
	name := filepath.Join(dir, hex.EncodeToString(sum[:8])) // a socket's path is short
	return &sessionSocket{lockFile: name + ".lock", socket: name + ".sock"}, nil
}

// lock returns the session's lock; nil if somebody has it: the hands, or what dead
// ones had started.
func (p *sessionSocket) lock() (*os.File, error) {
	file, err := os.OpenFile(p.lockFile, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the hands' lock: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && p.names(file) {
		return file, nil
	}
	_ = file.Close()
	if err == nil || errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil //nolint:nilnil // somebody has it, or has just removed it
	}
	return nil, fmt.Errorf("cannot lock the hands: %w", err)
}

// names reports whether the lock's file is still the one by that name.
func (p *sessionSocket) names(file *os.File) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(p.lockFile)
	return err == nil && os.SameFile(ours, there)
}

// leave is called by who has the lock and lets go of it.
func (p *sessionSocket) leave(lock *os.File) {
	_ = os.Remove(p.lockFile) // who finds it later locks it in vain; see names
	_ = lock.Close()
}

func (p *sessionSocket) dial() (net.Conn, error) {
	return net.DialTimeout("unix", p.socket, handshakeTimeout)
}

// listen is called with the lock held: whoever listened before is dead.
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

// sweep ends what hands had started that were killed with their wardens.
func sweepMarked(marker string) {
	if marker != "" {
		_, _ = proc.Sweep(marker) // what it cannot end, nobody can
	}
}
