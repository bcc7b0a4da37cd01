//go:build unix

package disk_test

import (
	"path/filepath"
	"syscall"
	"testing"
)

func TestOpenRefusesWhatCouldBlock(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, fifo, "a FIFO")
	wantRefused(t, "/dev/zero", "a device")
}
