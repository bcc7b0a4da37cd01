//go:build unix

package disk_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/disk"
)

// A pipe that nobody writes to must not hold up a session.
func TestReadDoesNotWaitForAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := disk.Read(path, 4); err == nil || !strings.Contains(err.Error(), "a FIFO") {
		t.Errorf("of a pipe: %v", err)
	}
	link := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink(link, link); err != nil {
		t.Fatal(err)
	}
	if _, _, err := disk.Read(link, 4); err == nil {
		t.Error("a link to itself was read")
	}
}
