package journal

import (
	"encoding/binary"
	"errors"
	"io"
	"os"

	"github.com/settle-agent/settle/event"
)

// quietly is called by the log's writer when it is idle.
func (s *fileStore) quietly() { s.snapshotAfter(s.snapshotEvery) }

// snapshotAfter extends the snapshot if no turn runs and the log has grown by so many bytes. On
// failure it removes the snapshot, which is optional and may be too large for the disk.
func (s *fileStore) snapshotAfter(bytes int64) {
	if s.reserve.turn || s.failed || s.size-s.covered.off < bytes {
		return
	}
	if err := s.addSnapshot(); err != nil {
		s.failed = true
		_ = os.Remove(snapshotPath(s.path))
	}
}

// addSnapshot writes chunks for the new part of the log.
func (s *fileStore) addSnapshot() error {
	f, err := openSnapshot(s.path, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.covered.size == 0 { // the existing file does not match
		if _, err := f.WriteAt([]byte(snapshotHeader()), 0); err != nil {
			return err
		}
		s.covered.size = int64(len(snapshotHeader()))
	}
	if err := f.Truncate(s.covered.size); err != nil {
		return err
	}
	b := newChunk(s.covered.mark)
	r := scan(s.file, s.covered.off, s.size, scanBuffer)
	for {
		record, err := r.next()
		if errors.Is(err, io.EOF) {
			return s.addChunk(f, b)
		}
		if err != nil {
			return err
		}
		if err := b.add(record, r.off); err != nil {
			return err
		}
		if record.class == classTurnEnd && len(b.events.out) > chunkBytes {
			if err := s.addChunk(f, b); err != nil {
				return err
			}
			b = newChunk(s.covered.mark)
		}
	}
}

func (s *fileStore) addChunk(f *os.File, b *chunkBuilder) error {
	raw := b.bytes()
	if raw == nil {
		return nil
	}
	if _, err := f.WriteAt(raw, s.covered.size); err != nil {
		return err
	}
	s.covered = covered{b.to, s.covered.size + int64(len(raw))}
	return nil
}

// chunkBuilder collects the records of a chunk.
type chunkBuilder struct {
	from, to mark
	last     int64
	sum      uint32
	marks    []mark
	decoder  event.Decoder
	events   compactWriter
}

func newChunk(from mark) *chunkBuilder {
	b := &chunkBuilder{from: from, to: from, marks: []mark{from}}
	b.events.reset(from.seq)
	return b
}

// add adds the record, which ends at the offset.
func (b *chunkBuilder) add(r record, end int64) error {
	b.to = mark{b.to.seq + 1, end}
	b.last, b.sum = r.off, bodySum(r.class, r.json)
	b.marks = addMark(b.marks, b.to.seq, end)
	if r.class == classDelta {
		return nil
	}
	e, err := b.decoder.Decode(r.json)
	if err != nil {
		return err
	}
	if e.Seq != b.to.seq {
		return errors.New("the log's numbers have a gap")
	}
	return b.events.add(e, r.json)
}

// bytes returns the encoded chunk, nil if it is empty.
func (b *chunkBuilder) bytes() []byte {
	if b.to == b.from {
		return nil
	}
	out := make([]byte, chunkHead, chunkHead+64+len(b.events.out)+16*len(b.marks))
	for _, n := range []uint64{b.from.seq, uint64(b.from.off), b.to.seq, uint64(b.to.off), uint64(b.last), uint64(b.sum), uint64(len(b.marks) - 1)} {
		out = binary.AppendUvarint(out, n)
	}
	for _, m := range b.marks[1:] {
		out = binary.AppendUvarint(binary.AppendUvarint(out, m.seq), uint64(m.off))
	}
	out = append(out, b.events.out...)
	binary.LittleEndian.PutUint32(out, uint32(len(out)-chunkHead))
	binary.LittleEndian.PutUint32(out[4:], checksum(out[chunkHead:]))
	return out
}
