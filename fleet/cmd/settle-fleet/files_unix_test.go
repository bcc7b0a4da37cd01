//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A file of tasks is a regular file: nobody waits for the writer of a FIFO, or reads a
// device.
func TestSubmitRefusesSpecialFiles(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{fifo, "/dev/zero", t.TempDir()} {
		f := submitFlags{file: file}
		if _, err := f.tasks(strings.NewReader(""), nil); err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: %v", file, err)
		}
	}
}
