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

// A snapshot is a file beside a log that spares opening most of it: the events
// without the deltas, in a form that is quick to read, up to a place where no turn
// ran. It is only ever a shorter way to the same state: events are folded from it as
// from the log, and without it, or with one that does not fit, the log is read. It
// is private, never larger than its log, and goes with it.
//
// Behind its first line it has chunks, which are added in quiet moments:
//
//	length, checksum | range of the log, its last record's place and checksum, marks | events
//
// A chunk fits if its checksum holds, it goes on where the chunk before it ends, and
// the log has that very record there, whose JSON has its number and its time. What
// does not fit, such as a chunk that was not written whole, is written over.

const (
	snapshotSuffix  = ".snap"
	snapshotVersion = 1
	// snapshotEvery is after how many bytes of log a chunk is added when a turn has
	// ended, and snapshotLeast when the log is closed.
	snapshotEvery, snapshotLeast = 1 << 20, 128 << 10
	// chunkBytes is after how many bytes a chunk ends with the next turn.
	chunkBytes = 4 << 20
	// chunkHead is the length of what stands before a chunk.
	chunkHead = 8
)

func snapshotHeader() string {
	return fmt.Sprintf("settle-snapshot %d %d\n", snapshotVersion, event.Version)
}

func snapshotPath(log string) string { return strings.TrimSuffix(log, logSuffix) + snapshotSuffix }

// covered is how far a snapshot goes.
type covered struct {
	mark       // in the log
	size int64 // of the snapshot's file
}

func uncovered() covered { return covered{mark: mark{0, int64(len(header(formatVersion)))}} }

// openSnapshot opens the log's snapshot, if it is a file of ours.
func openSnapshot(log string, flags int) (*os.File, error) {
	path := snapshotPath(log)
	info, err := os.Lstat(path)
	switch { // looked at first, since opening a pipe may have effects
	case err == nil && !info.Mode().IsRegular():
		return nil, &ForeignError{Path: path, What: "not a file"}
	case err != nil && (!os.IsNotExist(err) || flags&os.O_CREATE == 0):
		return nil, err
	}
	return os.OpenFile(path, flags, 0o600)
}

// readSnapshot returns where the reading of the log may go on, and how far the
// snapshot fits. Whatever is wrong with it, the log has it all.
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
		if !c.fold(x) { // the state is of no use any more
			return newReading(), uncovered()
		}
		good.mark, good.size = c.to, good.size+chunkHead+int64(len(text))
	}
}

// nextChunk reads a chunk, which all strings of its events are parts of.
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

// summing keeps what it is written, and its checksum.
type summing struct {
	text strings.Builder
	sum  hash.Hash32
}

func (s *summing) Write(b []byte) (int, error) {
	_, _ = s.sum.Write(b)
	return s.text.Write(b)
}

// snapshotChunk is a chunk as it was read.
type snapshotChunk struct {
	from, to mark
	last     int64 // where the last record of the range begins
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

// fits reports whether the log has the record that the range ends with.
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
		x.state.Seq = e.Seq - 1 // over the deltas
		var err error
		if x.state, err = event.Fold(x.state, e); err != nil {
			return false
		}
	}
	x.state.Seq, x.end = c.to.seq, c.to.off
	x.marks = append(x.marks, c.marks...)
	return x.state.Running() == nil
}
