package changes

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/settle-agent/settle/internal/disk"
)

// base has the copies of a tree in one file, and a log from which the tree can be read after
// settle was killed. Nothing is flushed to the disk: contents are compared with their hashes
// when they are read. Recorder.mu guards it.
type base struct {
	dir    string
	max    int64 // bytes of contents in use
	number int   // of the files; each rewriting begins new ones
	pack   *os.File
	size   int64 // of pack
	log    *os.File
	out    *bufio.Writer // to log
	at     map[string]span
	inUse  int64             // bytes of the contents in at
	logged map[string]*entry // the tree according to the log
	skips  map[string]bool   // its skipped entries; nil if the log is new
	ended  []endedCall       // the last calls that ended, which a new log repeats
	stale  []string          // earlier files, which are complete until the new log is
}

// span is the place of a content in the pack.
type span struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

const (
	packName = "contents-"
	logName  = "tree-"
)

// newBase creates an empty base in a directory, which must not exist.
func newBase(dir string, limit int64) (*base, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	b := &base{dir: dir, max: limit, at: map[string]span{}}
	if err := b.open(); err != nil {
		return nil, err
	}
	return b, nil
}

// open creates the files of the next number.
func (b *base) open() error {
	b.number++
	create := func(name string) (*os.File, error) {
		return os.OpenFile(b.path(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	pack, err := create(packName)
	if err != nil {
		return err
	}
	log, err := create(logName)
	if err != nil {
		return errors.Join(err, pack.Close())
	}
	b.pack, b.size, b.log, b.out = pack, 0, log, bufio.NewWriterSize(log, 64<<10)
	b.logged, b.skips = map[string]*entry{}, nil
	return nil
}

func (b *base) path(name string) string {
	return filepath.Join(b.dir, fmt.Sprintf("%s%d", name, b.number))
}

// close closes the files and leaves them.
func (b *base) close() error { return errors.Join(b.pack.Close(), b.log.Close()) }

// hasRoom reports whether a content of that size fits.
func (b *base) hasRoom(size int64) bool { return b.inUse+size <= b.max }

// put keeps a content.
func (b *base) put(sum string, content []byte) error {
	if _, ok := b.at[sum]; ok {
		return nil
	}
	if _, err := b.pack.WriteAt(content, b.size); err != nil {
		return err
	}
	b.at[sum] = span{b.size, int64(len(content))}
	b.size += int64(len(content))
	b.inUse += int64(len(content))
	return nil
}

// get returns a content; a damaged one is missing.
func (b *base) get(sum string) ([]byte, error) {
	at, ok := b.at[sum]
	if !ok {
		return nil, &disk.MissingError{SHA256: sum}
	}
	return readSpan(b.pack, at, sum)
}

func readSpan(pack io.ReaderAt, at span, sum string) ([]byte, error) {
	content := make([]byte, at.Length)
	if _, err := pack.ReadAt(content, at.Offset); err != nil {
		return nil, fmt.Errorf("cannot read the copy %.12s: %w", sum, err)
	}
	if disk.Sum(content) != sum {
		return nil, &disk.MissingError{SHA256: sum}
	}
	return content, nil
}

// keepOnly forgets the contents that the tree does not use, and writes the files anew when more
// than half of the pack is unused.
func (b *base) keepOnly(t *tree) error {
	used := t.sums()
	for sum, at := range b.at {
		if !used[sum] {
			delete(b.at, sum)
			b.inUse -= at.Length
		}
	}
	if b.size-b.inUse <= max(b.inUse, b.max/4) {
		return nil
	}
	return b.rewrite()
}

// rewrite copies the contents in use to new files. The log of the new files is written by the
// next record, which removes the earlier files.
func (b *base) rewrite() error {
	old, oldLog, oldNames := b.pack, b.log, []string{b.path(packName), b.path(logName)}
	places := b.at
	if err := b.open(); err != nil {
		b.number--
		return err
	}
	b.at, b.inUse = map[string]span{}, 0
	var failed error
	for sum, at := range places {
		content, err := readSpan(old, at, sum)
		if err == nil {
			err = b.put(sum, content)
		}
		failed = errors.Join(failed, err)
	}
	b.stale = append(b.stale, oldNames...)
	return errors.Join(failed, old.Close(), oldLog.Close())
}

// touch sets the time of the log, as a sign that settle was alive.
func (b *base) touch() {
	now := time.Now()
	_ = os.Chtimes(b.path(logName), now, now) // without it, changes of a killed host are only reported
}

// line is a line of the log.
type line struct {
	Path    string     `json:"path,omitempty"`
	Entry   *entry     `json:"entry,omitempty"` // nil if the entry is gone
	At      *span      `json:"at,omitempty"`    // its content
	Skipped []string   `json:"skipped"`
	Begin   *opened    `json:"begin,omitempty"`
	End     string     `json:"end,omitempty"`
	Ended   *endedCall `json:"ended,omitempty"` // with End, if the call has a record
}

// maxEnded bounds the calls that have returned a record whose result is perhaps not yet in the
// session's log.
const maxEnded = 16

// endedCall is a call that returned a record. If the host is killed before the session's log has the
// call's result, the record is only here.
type endedCall struct {
	opened
	Record Record `json:"record"`
}

// end logs the end of a call, without a flush; record is nil if it has an intent.
func (b *base) end(c opened, record *Record) {
	l := line{End: c.Call}
	if record != nil {
		l.Ended = &endedCall{c, *record}
		b.ended = append(b.ended[max(0, len(b.ended)+1-maxEnded):], *l.Ended)
	}
	b.write(l)
}

// opened is a call that began. Arguments is the hash of its arguments.
type opened struct {
	Call      string    `json:"call"`
	Arguments string    `json:"arguments"`
	At        time.Time `json:"at"`
	place
}

// place identifies the directory of a recorder: another directory can have the same path later.
// Inode and Device are 0 on systems without them.
type place struct {
	Dir    string `json:"dir"` // canonical path
	Inode  uint64 `json:"inode,omitempty"`
	Device uint64 `json:"device,omitempty"`
}

func placeOf(root *disk.Dir) (place, error) {
	info, err := root.Stat()
	if err != nil {
		return place{}, err
	}
	n := nodeOf(info)
	return place{root.Path(), n.Inode, n.Device}, nil
}

func (b *base) write(l line) {
	raw, err := json.Marshal(l)
	if err == nil {
		_, _ = b.out.Write(append(raw, '\n')) // flush reports it
	}
}
