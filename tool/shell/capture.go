package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// capture takes what a command puts out. Whatever comes, it holds no more in
// memory than the limit of what the model is told; the whole goes to a file
// once there is more than that, up to the file's cap. Secrets are masked at the
// entry, whatever becomes of the text (C15).
type capture struct {
	dir      string
	name     string
	capBytes int64
	progress *progress

	mu      sync.Mutex
	mask    Masker // nil masks nothing
	folder  folder
	shown   excerpt
	whole   []byte   // all that came, until there is a file
	file    *os.File // nil until it is needed
	path    string
	failure error // of the file; the command goes on without it
	raw     int64 // bytes that came, as they are masked
	stored  int64 // of those, bytes in the file
	changed chan struct{}
}

func newCapture(c Config, call string, tty bool, p *progress) *capture {
	var mask Masker
	if c.Mask != nil {
		mask = c.Mask()
	}
	return &capture{
		mask: mask, dir: c.SpoolDir, name: call, capBytes: c.SpoolBytes, progress: p,
		folder: folder{escapes: tty}, shown: excerpt{limit: c.OutputBytes},
		changed: make(chan struct{}),
	}
}

// Write never fails: what cannot be kept is dropped and told.
func (c *capture) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mask == nil {
		c.add(data)
	} else {
		c.add([]byte(c.mask.Write(string(data))))
	}
	return len(data), nil
}

// add takes what has been masked.
func (c *capture) add(data []byte) {
	c.raw += int64(len(data))
	c.store(data)
	text := c.folder.add(data)
	c.shown.add(text)
	c.progress.add(text)
	close(c.changed)
	c.changed = make(chan struct{})
}

// flush takes what may have been the beginning of a secret.
func (c *capture) flush() {
	if c.mask == nil {
		return
	}
	if rest := c.mask.Flush(); rest != "" {
		c.add([]byte(rest))
	}
}

func (c *capture) store(data []byte) {
	if c.file == nil && c.failure == nil {
		if len(c.whole)+len(data) <= c.shown.limit {
			c.whole = append(c.whole, data...)
			return
		}
		c.openFile()
	}
	c.append(data)
}

func (c *capture) openFile() {
	whole := c.whole
	c.whole = nil
	if c.dir == "" {
		c.failure = fmt.Errorf("there is no directory for it")
		return
	}
	if c.failure = os.MkdirAll(c.dir, 0o700); c.failure != nil {
		return
	}
	c.path = filepath.Join(c.dir, c.name+".log")
	c.file, c.failure = os.OpenFile(c.path, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if c.failure == nil {
		c.append(whole)
	}
}

func (c *capture) append(data []byte) {
	if c.file == nil || c.failure != nil {
		return
	}
	n, err := c.file.WriteAt(data[:min(int64(len(data)), max(c.capBytes-c.stored, 0))], c.stored)
	c.stored += int64(n)
	if err != nil {
		c.failure = err // the disk is full, say; what is stored stays
	}
}

// spill makes sure that there is a file, for a job, whose output is read from
// it, and returns its path.
func (c *capture) spill() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil && c.failure == nil {
		c.openFile()
	}
	if c.failure != nil {
		return "", fmt.Errorf("cannot keep the output: %w", c.failure)
	}
	return c.path, nil
}

// since reads what is stored from an offset on, at most len(buf); changed is
// closed when there is more.
func (c *capture) since(offset int64, buf []byte) (n int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil || offset >= c.stored {
		return 0, c.changed
	}
	return c.readStored(buf[:min(int64(len(buf)), c.stored-offset)], offset), c.changed
}

func (c *capture) readAt(buf []byte, offset int64) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.readStored(buf, offset)
}

// readStored reads the file, also one that has been closed: a job that has
// ended can still be read.
func (c *capture) readStored(buf []byte, offset int64) int {
	if c.file == nil || len(buf) == 0 {
		return 0
	}
	n, err := c.file.ReadAt(buf, offset)
	if !errors.Is(err, os.ErrClosed) {
		return n
	}
	file, err := os.Open(c.path)
	if err != nil {
		return 0
	}
	defer file.Close()
	n, _ = file.ReadAt(buf, offset)
	return n
}

func (c *capture) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stored
}

// account is what a call can say of its output.
type account struct {
	text    string
	bytes   int64
	file    string // empty if text is the whole
	partial bool   // the file has not all of it either
	failure error
	binary  bool
}

// take returns the output so far; more may come, if it becomes a job's.
func (c *capture) take() account {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	rest := c.folder.end()
	c.shown.add(rest)
	c.progress.add(rest)
	c.progress.flush()
	a := account{text: c.shown.text(), bytes: c.raw, binary: c.folder.binary() && c.raw > 0}
	if c.shown.omitted() > 0 || a.binary && c.file != nil {
		a.file, a.failure = c.path, c.failure
		a.partial = c.stored < c.raw
	}
	return a
}

// drain puts out what was held back; the output has ended.
func (c *capture) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	c.progress.flush()
}

// close lets go of the file; it stays on disk.
func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil && c.failure == nil {
		// A warden may have written to a released job's log since.
		if stat, err := c.file.Stat(); err == nil {
			c.stored = max(c.stored, stat.Size())
		}
	}
	c.flush()
	c.progress.flush()
	if c.file != nil {
		_ = c.file.Close()
	}
}
