package image

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/test/swap"
)

// readPatience bounds the wait for a read that hangs.
const readPatience = 20 * time.Second

// A command in the background exchanges a picture for a FIFO: attaching it never waits.
func TestReadNeverWaitsForFIFOUnderSwaps(t *testing.T) {
	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "a.png"), filepath.Join(dir, "fifo")
	if err := os.WriteFile(file, []byte("\x89PNG\r\n\x1a\nx"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	s := swap.Start(t, file, fifo)
	done := make(chan struct{})
	go func() { // ends with the loop, or with the FIFO's other end below
		defer close(done)
		for range swap.Calls(2000) {
			_, _ = Read(file) // half of them fail
		}
	}()
	select {
	case <-done:
	case <-time.After(readPatience):
		t.Error("a read waits for a FIFO")
		s.Stop()
		if f, err := os.OpenFile(fifo, os.O_RDWR, 0); err == nil {
			defer f.Close()
		}
		return
	}
	s.Stop()
	if _, err := Read(file); err != nil {
		t.Error(err)
	}
}
