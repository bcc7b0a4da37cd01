package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// capture receives a command's output. It keeps at most the model's limit in memory; a
// longer output goes to a file as a whole, up to the file's limit. Secrets are masked on
// arrival, before any use of the text (C15).
type capture struct {
	dir      string
	name     string
	capBytes int64
	progress *progress

	mu      sync.Mutex
	mask    Masker // nil masks nothing
	folder  folder
	shown   excerpt
	pending []byte   // all output, before the file exists
	file    *os.File // nil until it is needed
	path    string
	failure error // of the file; the command continues without it
	raw     int64 // received bytes, after masking
	stored  int64 // bytes of the output that are in the file
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

// Write never fails: it drops and reports output that it cannot store.
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

// add receives masked output.
func (c *capture) add(data []byte) {
	c.raw += int64(len(data))
	c.store(data)
	text := c.folder.add(data)
	c.shown.add(text)
	c.progress.add(text)
	close(c.changed)
	c.changed = make(chan struct{})
}

// flush receives the end that could have begun a secret.
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
		if len(c.pending)+len(data) <= c.shown.limit {
			c.pending = append(c.pending, data...)
			return
		}
		c.openFile()
	}
	c.append(data)
}

func (c *capture) openFile() {
	pending := c.pending
	c.pending = nil
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
		c.append(pending)
	}
}

func (c *capture) append(data []byte) {
	if c.file == nil || c.failure != nil {
		return
	}
	n, err := c.file.WriteAt(data[:min(int64(len(data)), max(c.capBytes-c.stored, 0))], c.stored)
	c.stored += int64(n)
	if err != nil {
		c.failure = err // for example a full disk; stored output stays
	}
}

// spill creates the file, if necessary, for a job, whose output is read from it, and
// returns its path.
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

// since reads stored output from an offset, at most len(buf); changed is closed when more
// arrives.
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

// readStored reads the file, also after it was closed, because an ended job can still be
// read.
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

// account is a call's report about its output.
type account struct {
	text    string
	bytes   int64
	file    string // empty if text is the whole output
	partial bool   // the file is incomplete
	failure error
	binary  bool
}

// take returns the output so far; more can follow if the process becomes a job.
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

// drain releases the rest of the output after its end.
func (c *capture) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	c.progress.flush()
}

// close closes the file, which stays on disk.
func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil && c.failure == nil {
		// A supervisor can have written to a released job's log since.
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
