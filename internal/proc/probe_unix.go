//go:build linux || darwin

package proc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/sandbox"
)

// probeTimeout bounds a probe.
const probeTimeout = 10 * time.Second

// writeProbeFiles creates the files that a probe tries to reach.
func writeProbeFiles(b sandbox.ProbeTarget) error {
	files := map[string]string{
		filepath.Join(b.Dir, "target"):          "target",
		filepath.Join(b.Room, "file"):           "",
		filepath.Join(b.Room, "keeper", "kept"): "",
	}
	for _, name := range []string{"hidden", "closed/hidden", "above/hidden"} {
		files[filepath.Join(b.Room, name)] = "hidden"
	}
	for path, content := range files {
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600),
		); err != nil {
			return fmt.Errorf("cannot try out the sandbox: %w", err)
		}
	}
	return nil
}

// listenHere lets a socket listen on the loopback, and returns the port.
func listenHere(socket int) (port int, err error) {
	if err := unix.Bind(socket, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	if err := unix.Listen(socket, 1); err != nil {
		return 0, err
	}
	at, err := unix.Getsockname(socket)
	if in, ok := at.(*unix.SockaddrInet4); ok {
		return in.Port, nil
	}
	return 0, err
}
