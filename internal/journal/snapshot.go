package journal

import (
	"encoding/binary"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"strings"

	"github.com/settle-agent/settle/event"
)

// A snapshot is a file beside a log that makes opening faster: the events without the deltas, in
// a form that is quick to read, up to a place without an open turn. It is optional: the same
// events are folded from it as from the log, and the log is read without it, or if it does not
// match. A snapshot is private, never larger than its log, and removed with it.
//
// After its first line it has chunks, which are added when the log is idle:
//
//	length, checksum | range of the log, its last record's place and checksum, marks | events
//
// A chunk is valid if its checksum holds, it continues the previous chunk, and the log has the
// named record, with its number and time. Invalid data, such as an incomplete chunk, is
// overwritten.

const (
	snapshotSuffix  = ".snap"
	snapshotVersion = 1
	// snapshotEvery is the growth of the log, in bytes, after which the end of a turn adds a
	// chunk; snapshotLeast is the growth for the closing of the log.
	snapshotEvery, snapshotLeast = 1 << 20, 128 << 10
	// chunkBytes is the size after which a chunk ends with the next turn.
	chunkBytes = 4 << 20
	// chunkHead is the length of the part before a chunk.
	chunkHead = 8
)

func snapshotHeader() string {
	return fmt.Sprintf("settle-snapshot %d %d\n", snapshotVersion, event.Version)
}

func snapshotPath(log string) string { return strings.TrimSuffix(log, logSuffix) + snapshotSuffix }

// covered is the range of a snapshot.
type covered struct {
	mark       // in the log
	size int64 // of the snapshot's file
}

func uncovered() covered { return covered{mark: mark{0, int64(len(header(formatVersion)))}} }

// openSnapshot opens the log's snapshot, if it is a regular file.
func openSnapshot(log string, flags int) (*os.File, error) {
	path := snapshotPath(log)
	info, err := os.Lstat(path)
	switch { // checked first, since opening a pipe can have effects
	case err == nil && !info.Mode().IsRegular():
		return nil, &ForeignError{Path: path, What: "not a file"}
	case err != nil && (!os.IsNotExist(err) || flags&os.O_CREATE == 0):
		return nil, err
	}
	return os.OpenFile(path, flags, 0o600)
}

// readSnapshot returns the state at which reading the log continues, and the valid range of the
// snapshot. Defects are no error: the log has all events.
func readSnapshot(path string, log io.ReaderAt, size int64) (*reading, covered) {
	f, err := openSnapshot(path, os.O_RDONLY)
	if err != nil {
		return newReading(), uncovered()
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return newReading(), uncovered()
	}
	first := make([]byte, len(snapshotHeader()))
	if _, err := io.ReadFull(f, first); err != nil || string(first) != snapshotHeader() {
		return newReading(), uncovered()
	}
	x, good := newReading(), uncovered()
	good.size = int64(len(first))
	for {
		text, ok := nextChunk(f, info.Size()-good.size)
		if !ok {
			return x, good
		}
		c, ok := parseChunk(text)
		if !ok || c.from != good.mark || !c.fits(log, size) {
			return x, good
		}
		if !c.fold(x) { // the state is unusable
			return newReading(), uncovered()
		}
		good.mark, good.size = c.to, good.size+chunkHead+int64(len(text))
	}
}

// nextChunk reads a chunk; all strings of its events share it.
func nextChunk(f io.Reader, left int64) (string, bool) {
	var head [chunkHead]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return "", false
	}
	n := int64(binary.LittleEndian.Uint32(head[:]))
	if n > left-chunkHead {
		return "", false
	}
	sum := summing{sum: crc32.New(crc32.MakeTable(crc32.Castagnoli))}
	sum.text.Grow(int(n))
	if _, err := io.CopyBuffer(&sum, io.LimitReader(f, n), make([]byte, min(n+1, scanBuffer))); err != nil {
		return "", false
	}
	return sum.text.String(), sum.sum.Sum32() == binary.LittleEndian.Uint32(head[4:])
}

// summing collects written data and its checksum.
type summing struct {
	text strings.Builder
	sum  hash.Hash32
}

func (s *summing) Write(b []byte) (int, error) {
	_, _ = s.sum.Write(b)
	return s.text.Write(b)
}

// snapshotChunk is a parsed chunk.
type snapshotChunk struct {
	from, to mark
	last     int64 // offset of the last record of the range
	sum      uint32
	marks    []mark
	events   *compactReader
}

func parseChunk(text string) (c snapshotChunk, ok bool) {
	r := &compactReader{text: text}
	c.from = mark{r.uint(), int64(r.uint())}
	c.to = mark{r.uint(), int64(r.uint())}
	c.last, c.sum = int64(r.uint()), uint32(r.uint())
	for n := r.uint(); n > 0 && !r.failed; n-- {
		c.marks = append(c.marks, mark{r.uint(), int64(r.uint())})
	}
	r.seq = c.from.seq
	c.events = r
	return c, !r.failed
}

// fits reports whether the log has the last record of the range.
func (c snapshotChunk) fits(log io.ReaderAt, size int64) bool {
	if c.to.off > size || c.last < c.from.off || c.last >= c.to.off {
		return false
	}
	s := scan(log, c.last, c.to.off, readBuffer)
	r, err := s.next()
	return err == nil && s.off == c.to.off && bodySum(r.class, r.json) == c.sum
}

// fold folds the chunk's events.
func (c snapshotChunk) fold(x *reading) bool {
	for c.events.at < len(c.events.text) {
		e, ok := c.events.event()
		if !ok || e.Seq <= x.state.Seq || e.Seq > c.to.seq {
			return false
		}
		x.state.Seq = e.Seq - 1 // skips the deltas
		var err error
		if x.state, err = event.Fold(x.state, e); err != nil {
			return false
		}
	}
	x.state.Seq, x.end = c.to.seq, c.to.off
	x.marks = append(x.marks, c.marks...)
	return x.state.Running() == nil
}
