package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput discards the unread input of a terminal.
func discardInput(f *os.File) {
	_ = unix.IoctlSetInt(
		int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH,
	) // otherwise the terminal echoes it, and a question receives it
}
