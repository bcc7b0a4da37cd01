package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/settle-agent/settle/internal/disk"
	"github.com/settle-agent/settle/internal/hostsocket"
)

// ListenUnix listens on a Unix socket that only the user can reach: its mode is 0600, in a
// directory that only the user can enter. ListenUnix creates a missing directory and
// replaces a socket without a listener.
func ListenUnix(ctx context.Context, path string) (*Place, error) {
	dir := filepath.Dir(path)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("cannot listen on %q: %w", path, err)
	}
	if err := disk.CheckPrivate(dir); err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", path, err)
	}
	if err := removeStale(ctx, path); err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", path, err)
	}
	var config net.ListenConfig
	l, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot listen on %q: %w", path, err), l.Close())
	}
	l = trusting{l}
	return &Place{Listener: &bounded{Listener: l, limit: MaxConnections}, scheme: "http", host: "localhost"}, nil
}

// trusting accepts connections of the same user and of root only, and of no sandboxed
// command: with a network, such a command reaches every socket of its user.
type trusting struct{ net.Listener }

func (t trusting) Accept() (net.Conn, error) {
	for {
		conn, err := t.Listener.Accept()
		if err != nil || hostsocket.IsTrustedPeer(conn) {
			return conn, err
		}
		_ = conn.Close() // it gets no answer
	}
}

// removeStale removes a socket whose server is gone.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSocket == 0 {
		return nil // Listening reports the error
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return errors.New("another program listens there")
	}
	return os.Remove(path)
}
