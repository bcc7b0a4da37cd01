//go:build unix

package disk_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/settle-agent/settle/internal/disk"
)

func TestRegularRefusesSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(fifo, link); err != nil {
		t.Fatal(err)
	}
	wantNotRegular(t, fifo, "a FIFO")
	wantNotRegular(t, link, "a FIFO")
	wantNotRegular(t, filepath.Join(dir, "socket"), "a socket")
	wantNotRegular(t, "/dev/zero", "a device")
}

// A FIFO that takes the file's place between the look and the opening must not block
// the reader; the kernel shows no other difference, so the test only repeats the swap.
func TestRegularDoesNotBlockOnSwappedFIFO(t *testing.T) {
	dir := t.TempDir()
	path, fifo, spare := filepath.Join(dir, "file"), filepath.Join(dir, "fifo"), filepath.Join(dir, "spare")
	if err := errors.Join(os.WriteFile(path, []byte("x"), 0o600), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // ends when stop is closed; the test waits for it
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(path, spare)
			_ = os.Rename(fifo, path)
			_ = os.Rename(path, fifo)
			_ = os.Rename(spare, path)
		}
	}()
	for range 2000 {
		data, err := disk.ReadRegular(path, 10)
		special := (*disk.NotRegularError)(nil)
		if err != nil && !errors.As(err, &special) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("read: %v", err)
			break
		}
		if err == nil && string(data) != "x" {
			t.Errorf("read %q", data)
			break
		}
	}
	close(stop)
	<-stopped
}

// A file of /proc has no size; the bound must hold all the same.
func TestReadRegularBoundsFileWithoutSize(t *testing.T) {
	if _, err := os.Stat("/proc/self/maps"); err != nil {
		return // only Linux has it
	}
	if _, err := disk.ReadRegular("/proc/self/maps", 16); err == nil {
		t.Error("a file larger than the limit was read")
	}
}
