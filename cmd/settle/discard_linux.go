package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// discardInput discards what was typed at a terminal and not read yet.
func discardInput(f *os.File) {
	_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // else it is shown, and answers nothing but y, s and n
}
