package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/settle-agent/settle/event"
)

// A record is a line: the length of the JSON and the CRC-32C of the rest, in eight hex digits
// each, a letter for its class, and the event's JSON. For example, shortened:
//
//	0000008f 1c5b20a4 d {"v":1,"session":"s1","seq":6,…}
//
// Records have the sequence numbers 1, 2, 3, …, so that a reader counts records that it does not
// decode.

// class is the kind of a record. The opening needs it for records that it does not decode.
type class byte

const (
	classDelta     class = 'd'
	classTurnStart class = 't'
	classTurnEnd   class = 'e'
	classOther     class = '-'
)

const (
	// headLen is the length of the part before the JSON, and sumFrom the start of the
	// checksummed part.
	headLen = 20
	sumFrom = 18
	// maxJSON bounds the JSON of one event.
	maxJSON = 256 << 20
)

// checksum is the CRC-32C. The library caches the table.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// bodySum is the checksum of a record's class and event. It copies neither, since an event can
// have megabytes.
func bodySum(c class, json []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum([]byte{byte(c), ' '}, table), table, json)
}

func classOf(e event.Event) class {
	switch e.Data.(type) {
	case event.ItemDelta:
		return classDelta
	case event.TurnStarted:
		return classTurnStart
	}
	if e.Terminal() {
		return classTurnEnd
	}
	return classOther
}

// appendRecord appends the event's record.
func appendRecord(b []byte, e event.Event) ([]byte, error) {
	start := len(b)
	b = append(b, "00000000 00000000 - "...)
	b[start+sumFrom] = byte(classOf(e))
	b, err := e.AppendJSON(b)
	if err != nil {
		return b[:start], err
	}
	size := len(b) - start - headLen
	if size > maxJSON {
		return b[:start], fmt.Errorf("cannot write a %s event of %d bytes: the limit is %d", e.Kind(), size, maxJSON)
	}
	putHex(b[start:], uint32(size))
	putHex(b[start+9:], checksum(b[start+sumFrom:]))
	return append(b, '\n'), nil
}

// encodable returns an error for an event that no record can hold. It runs before the event is
// accepted.
func encodable(e *event.Event) error {
	var raw json.RawMessage
	switch d := e.Data.(type) {
	case event.InputAccepted:
		raw = d.Schema
	case event.ItemEnded:
		raw = d.Detail
	}
	if len(raw) > 0 && !json.Valid(raw) {
		return fmt.Errorf("cannot write a %s event: it has JSON that is not valid", e.Kind())
	}
	if weigh(e)+len(raw) < maxJSON/maxEscape {
		return nil
	}
	_, err := appendRecord(nil, *e)
	return err
}

// maxEscape is the largest growth factor of a text in JSON.
const maxEscape = 6

func putHex(b []byte, n uint32) {
	for i := 7; i >= 0; i-- {
		b[i] = "0123456789abcdef"[n&0xf]
		n >>= 4
	}
}

// parseHex reads eight lower-case hex digits.
func parseHex(b []byte) (n uint32, ok bool) {
	for _, c := range b[:8] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint32(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint32(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

// record is the result of a scanner; its JSON is valid until the next one.
type record struct {
	class class
	json  []byte
	off   int64
}

// decode returns the record's event.
func (r record) decode() (event.Event, error) {
	var e event.Event
	err := e.UnmarshalJSON(r.json) // json.Unmarshal would validate it again
	return e, err
}

// DamageError reports the offset from which a log is unreadable.
type DamageError struct {
	Offset int64
	Why    string
	// torn reports that an incomplete write explains the damage.
	torn bool
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("the log is damaged at offset %d: %s", e.Offset, e.Why)
}

// scanner reads consecutive records.
type scanner struct {
	src  *bufio.Reader
	off  int64 // of the next record
	end  int64
	last int64 // length of the returned record in src's buffer, discarded later
	big  []byte
}

// scan returns a scanner of the records between off, where a record begins, and end.
func scan(r io.ReaderAt, off, end int64, buffer int) *scanner {
	section := io.NewSectionReader(r, off, end-off)
	buffer = int(min(int64(buffer), end-off)) // the log of a new session is empty
	return &scanner{src: bufio.NewReaderSize(section, buffer), off: off, end: end}
}

// next returns the next record. The error is io.EOF at the end, a *DamageError without a
// complete record, or the reader's.
func (s *scanner) next() (record, error) {
	if s.last > 0 {
		if _, err := s.src.Discard(int(s.last)); err != nil {
			return record{}, err
		}
		s.last = 0
	}
	left := s.end - s.off
	if left == 0 {
		return record{}, io.EOF
	}
	head, err := s.src.Peek(int(min(headLen, left)))
	if err != nil {
		return record{}, err
	}
	size, sum, why := parseHead(head)
	switch {
	case why != "":
		return record{}, s.damage(why, allZero(head))
	case left < headLen || left < headLen+int64(size)+1:
		return record{}, s.damage("the last record is not whole", true)
	}
	line, err := s.take(headLen + int64(size) + 1)
	if err != nil {
		return record{}, err
	}
	body := line[sumFrom : len(line)-1]
	if line[len(line)-1] != '\n' || checksum(body) != sum {
		return record{}, s.damage("a record's checksum differs", false)
	}
	r := record{class: class(body[0]), json: body[2:], off: s.off}
	s.off += int64(len(line))
	return r, nil
}

// parseHead parses the first 20 bytes of a record, or fewer. why describes a defect.
func parseHead(head []byte) (size, sum uint32, why string) {
	const shape = "00000000 00000000 - "
	for i, c := range head {
		if (shape[i] == ' ') != (c == ' ') {
			return 0, 0, "there is no record"
		}
	}
	if len(head) < headLen {
		return 0, 0, ""
	}
	size, sizeOK := parseHex(head)
	sum, sumOK := parseHex(head[9:])
	if !sizeOK || !sumOK || size > maxJSON {
		return 0, 0, "there is no record"
	}
	return size, sum, ""
}

// take returns the next n bytes, from the buffer if they fit.
func (s *scanner) take(n int64) ([]byte, error) {
	if n <= int64(s.src.Size()) {
		s.last = n
		return s.src.Peek(int(n))
	}
	if int64(cap(s.big)) < n {
		s.big = make([]byte, n)
	}
	_, err := io.ReadFull(s.src, s.big[:n])
	return s.big[:n], err
}

func (s *scanner) damage(why string, torn bool) error {
	return &DamageError{Offset: s.off, Why: why, torn: torn}
}

// The first line of a log: the magic, the version of the framing, and the CRC-32C of both.
const (
	magic         = "settle-log"
	formatVersion = 1
)

func header(version int) []byte {
	b := fmt.Appendf(nil, "%s %d ", magic, version)
	return fmt.Appendf(b, "%08x\n", checksum(b))
}

// headerState describes the start of a file.
type headerState string

const (
	headerGood    headerState = "good"
	headerNewer   headerState = "newer"   // a later version of the format
	headerNone    headerState = "none"    // empty, zeros, or a part of a header
	headerDamaged headerState = "damaged" // a few wrong bits
	headerForeign headerState = "foreign" // another kind of file
)

// inspectHeader classifies the file's first bytes and returns their version.
func inspectHeader(first []byte) (headerState, int) {
	want := header(formatVersion)
	var version int
	if _, err := fmt.Sscanf(string(first), magic+" %d ", &version); err == nil &&
		bytes.HasPrefix(first, header(version)) {
		if version > formatVersion {
			return headerNewer, version
		}
		return headerGood, version
	}
	first = first[:min(len(first), len(want))]
	switch {
	case bytes.HasPrefix(want, first), allZero(first):
		return headerNone, 0
	case len(first) == len(want) && differing(first, want) <= 2:
		return headerDamaged, 0
	}
	return headerForeign, 0
}

func allZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

func differing(a, b []byte) int {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
