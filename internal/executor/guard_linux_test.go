package executor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/settle-agent/settle/internal/test/swap"
)

// guardPatience bounds the wait for a look that hangs.
const guardPatience = 20 * time.Second

// A job exchanges a protected file for a FIFO while a guard looks at it: the look ends,
// and reads no more than its bound.
func TestGuardNeverWaitsForFIFOUnderSwaps(t *testing.T) {
	work := t.TempDir()
	file, fifo := filepath.Join(work, ".settle", "config.toml"), filepath.Join(work, "fifo")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	s := swap.Start(t, file, fifo)
	looked := make(chan error, 1)
	go func() { // ends with the loop, or with the FIFO's other end below
		var err error
		for range swap.Calls(2000) {
			if _, err = readProtected(work, ".settle", new(int)); err != nil {
				break
			}
		}
		looked <- err
	}()
	select {
	case err := <-looked:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(guardPatience):
		t.Error("a look at protected files waits for a FIFO")
		s.Stop()
		if f, err := os.OpenFile(fifo, os.O_RDWR, 0); err == nil {
			defer f.Close()
		}
	}
}
