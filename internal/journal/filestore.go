package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"sort"
	"sync"

	"github.com/settle-agent/settle/event"
)

const (
	// markEvery is the distance of marks in the file, in bytes.
	markEvery = 256 << 10
	// keptBuffer is the size of the encoding buffer of an idle store.
	keptBuffer = 4 << 10
	// scanBuffer is the read size of a scan of a whole log, readBuffer of a subscriber.
	scanBuffer = 256 << 10
	readBuffer = 32 << 10
)

// mark is the offset of the record after event seq.
type mark struct {
	seq uint64
	off int64
}

// fileStore is the Store of a session's locked file.
type fileStore struct {
	path    string
	file    File
	lock    *os.File // the same file; it holds the lock
	buf     []byte   // for encoding
	lengths []int    // of the records in buf
	reserve reserve
	newborn bool // the file's name is not durable yet
	info    os.FileInfo
	wrap    func(File) File // as in Options

	covered                      covered // by the snapshot; only the writer uses it
	snapshotEvery, snapshotLeast int64   // see the constants
	failed                       bool    // the snapshot cannot be written

	mu     sync.Mutex
	synced int64  // durable size; only the writer uses it
	size   int64  // size of the complete records
	seq    uint64 // of the last record
	marks  []mark
}

// Append implements [Store].
func (s *fileStore) Append(batch []event.Event, sync Sync) error {
	defer s.rest()
	if err := s.encode(batch); err != nil {
		return err
	}
	if sync != Last {
		// Without reserved space, the batch waits for the reserve, unless it ends the turn.
		if err := s.secure(batch); err != nil {
			return err
		}
	}
	if err := s.write(sync); err != nil {
		return err
	}
	s.reserve.note(batch, s.lengths)
	s.advance(s.lengths)
	if sync != Lazily {
		if err := s.sync(); err != nil {
			return err
		}
	}
	s.reserve.release(s.file, s.size)
	return nil
}

// secure makes sure that the endings of the open turn have space after buf is written.
func (s *fileStore) secure(batch []event.Event) error {
	want := s.reserve.want(batch, s.lengths)
	if want == 0 {
		return nil
	}
	err := s.reserve.extend(s.file, s.size, int64(len(s.buf))+want)
	if isFull(err) {
		return &SpaceError{Err: err}
	}
	if err != nil {
		return fmt.Errorf("cannot reserve room for endings: %w", err)
	}
	return nil
}

// rest frees resources that an idle store does not need.
func (s *fileStore) rest() {
	if cap(s.buf) > keptBuffer {
		s.buf, s.lengths = nil, nil
	}
}

// encode encodes the batch's records into buf, and their lengths into lengths.
func (s *fileStore) encode(batch []event.Event) error {
	s.buf, s.lengths = s.buf[:0], s.lengths[:0]
	for _, e := range batch {
		start := len(s.buf)
		var err error
		if s.buf, err = appendRecord(s.buf, e); err != nil {
			return err
		}
		s.lengths = append(s.lengths, len(s.buf)-start)
	}
	return nil
}

// write appends buf to the file, completely or not at all.
func (s *fileStore) write(sync Sync) error {
	n, err := s.file.WriteAt(s.buf, s.size)
	if err == nil && n < len(s.buf) {
		err = io.ErrShortWrite
	}
	if err == nil {
		return nil
	}
	if n > 0 {
		// If this fails too, the next opening cuts the torn record.
		s.reserve.allocated = 0
		err = errors.Join(err, s.file.Truncate(s.size))
	}
	if isFull(err) && sync != Last {
		return &SpaceError{Err: err}
	}
	return err
}

// sync makes the file durable, and the first time its name too.
func (s *fileStore) sync() error {
	if err := s.file.Sync(); err != nil {
		return err
	}
	s.synced = s.size
	if s.newborn {
		s.newborn = false
		if err := s.file.SyncName(); err != nil {
			return err
		}
	}
	return s.there()
}

// there returns an error if the path is no longer the file: data written to it would be lost.
// Where the system cannot tell, it returns nil. The written events are saved next to a file that
// replaced the log.
func (s *fileStore) there() error {
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("somebody deleted or moved it while it was in use: %w", err)
	case err != nil || os.SameFile(info, s.info):
		return nil
	}
	kept, err := keepBeside(s.path, s.wrap, s.file, 0, s.size)
	if err != nil {
		return fmt.Errorf("%w, and what it had could not be kept beside: %w", ErrReplaced, err)
	}
	return fmt.Errorf("%w; all that it had is kept in %q: put that in its place if you want it back", ErrReplaced, kept)
}

// ErrReplaced reports that another file has the log's name.
var ErrReplaced = errors.New("somebody put another file in its place while it was in use, such as a restored one")

// advance counts the written records.
func (s *fileStore) advance(lengths []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range lengths {
		s.size += int64(n)
		s.seq++
		s.marks = addMark(s.marks, s.seq, s.size)
	}
}

// addMark records the offset of the record after event seq, if the last mark is far enough away.
func addMark(marks []mark, seq uint64, off int64) []mark {
	last := int64(0)
	if n := len(marks); n > 0 {
		last = marks[n-1].off
	}
	if off-last < markEvery {
		return marks
	}
	return append(marks, mark{seq, off})
}

// Read implements [Store]. It has its own descriptor, so that it works after Close and does not
// affect the writer.
func (s *fileStore) Read(ctx context.Context, after uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		from, end := s.find(after)
		f, err := os.Open(s.path)
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		defer f.Close()
		for e, err := range decodeFrom(ctx, scan(f, from.off, end, readBuffer), from.seq, after) {
			if errors.As(err, new(*DamageError)) {
				_ = os.Remove(snapshotPath(s.path)) // the next opening then finds, cuts and reports the damage
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// find returns the last mark before the cursor, and the end.
func (s *fileStore) find(after uint64) (mark, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := mark{0, int64(len(header(formatVersion)))}
	if i := sort.Search(len(s.marks), func(i int) bool { return s.marks[i].seq > after }); i > 0 {
		from = s.marks[i-1]
	}
	return from, s.size
}

// decodeFrom yields the scanner's events after the cursor; seq is the number of the event before
// the scanner's first. An error ends it.
func decodeFrom(ctx context.Context, s *scanner, seq, after uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		var decoder event.Decoder
		for ctx.Err() == nil {
			r, err := s.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			if seq++; seq <= after {
				continue
			}
			e, err := decoder.Decode(r.json)
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Close implements [Store]. The lock is released when all processes that inherited it have ended
// too.
func (s *fileStore) Close() error {
	s.snapshotAfter(s.snapshotLeast)
	s.reserve.turn = false
	s.reserve.release(s.file, s.size)
	return s.file.Close()
}
