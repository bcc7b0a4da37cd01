package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Device is a terminal in raw mode. The caller that opens a Device must restore it.
type Device struct {
	in, out *os.File
	// wake has who reads look again: the terminal was given back.
	wake, waker *os.File

	mu     sync.Mutex // guards state, closed and reports
	state  *term.State
	closed bool
	// reports: the terminal is asked for its background.
	reports bool
	taken   *sync.Cond // it is ours again, or closed
}

// Modes of the open terminal: bracketed paste, focus reports, and the keyboard protocol of
// kitty, which distinguishes similar keys and which other terminals ignore.
const (
	modesOn  = "\x1b[?2004h\x1b[?1004h\x1b[>1u"
	modesOff = "\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[0m"
)

// Reports of the background: the request of its color (OSC 11), and of reports of each later change between
// light and dark (DEC mode 2031). Terminals that do not know them are silent.
const (
	reportsOn  = "\x1b]11;?\x1b\\\x1b[?2031h"
	reportsOff = "\x1b[?2031l"
)

// ReportBackground asks the terminal for its background, now and after each Take: Read returns the answers as
// [Background] events. A terminal can be silent.
func (d *Device) ReportBackground() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reports = true
	if d.state == nil {
		return nil
	}
	_, err := io.WriteString(d.out, reportsOn)
	return err
}

// Open takes the terminal over.
func Open(in, out *os.File) (*Device, error) {
	d := &Device{in: in, out: out}
	d.taken = sync.NewCond(&d.mu)
	var err error
	if d.wake, d.waker, err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("cannot use the terminal: %w", err)
	}
	if err := d.Take(); err != nil {
		_, _ = d.wake.Close(), d.waker.Close() // the reader has ended
		return nil, err
	}
	return d, nil
}

// Take takes the terminal over again after Restore.
func (d *Device) Take() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state != nil {
		return nil
	}
	state, err := term.MakeRaw(int(d.in.Fd()))
	if err != nil {
		return fmt.Errorf("cannot use the terminal: %w", err)
	}
	d.state = state
	d.taken.Broadcast()
	on := modesOn
	if d.reports {
		on += reportsOn
	}
	_, err = io.WriteString(d.out, on)
	return err
}

// Restore returns the terminal to its earlier mode. Any goroutine can call it at any time,
// and more than once.
func (d *Device) Restore() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == nil {
		return
	}
	off := modesOff
	if d.reports {
		off = reportsOff + off
	}
	_, _ = io.WriteString(d.out, off) // a terminal that is gone needs none of this
	_ = term.Restore(int(d.in.Fd()), d.state)
	d.state = nil
	_, _ = d.waker.Write([]byte{0}) // the pipe has room for every call
}

// Close restores the terminal for good, and ends Read, so that another Device can read later keys.
// On Windows, a Read that waits ends with the next key.
func (d *Device) Close() {
	d.Restore()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.taken.Broadcast()
}

// Size returns the columns and rows of the terminal; 80 and 24 where it does not
// say.
func (d *Device) Size() (width, height int) { return Size(d.out) }

// Size returns the columns and rows of a terminal; 80 and 24 where it does not
// say.
func Size(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Write implements [io.Writer].
func (d *Device) Write(data []byte) (int, error) { return d.out.Write(data) }

// Read implements [io.Reader]. While the terminal is restored, its input belongs to another
// program: Read waits until Take.
func (d *Device) Read(data []byte) (int, error) {
	for {
		d.mu.Lock()
		for d.state == nil && !d.closed {
			d.taken.Wait() // until Take, Close, or the end of the process
		}
		closed := d.closed
		d.mu.Unlock()
		if closed {
			return 0, io.EOF
		}
		ready, err := await(d.in, d.wake)
		if err != nil {
			return 0, err
		}
		if ready {
			return d.in.Read(data)
		}
	}
}
