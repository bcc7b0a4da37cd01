package execserver

import "slices"

// stream is the source of an output.
type stream string

const (
	stdout   stream = "stdout"
	stderr   stream = "stderr"
	terminal stream = "pty"
)

// occasion is the method of the notification for an entry of a log.
type occasion string

const (
	output occasion = "process/output"
	exited occasion = "process/exited"
	closed occasion = "process/closed"
)

// entry is one numbered event of a process.
type entry struct {
	seq    uint64
	what   occasion
	stream stream
	data   []byte
}

// entryCost is the memory of an entry besides its data, in bytes.
const entryCost = 64

// pieceBytes is the maximum output of one entry, in bytes, so that clients receive no larger
// messages.
const pieceBytes = 32 << 10

// outlog is the numbered output of a process, of limited size. Its session's lock
// guards it.
type outlog struct {
	entries []entry // their numbers follow each other
	bytes   int
	last    uint64 // number of the newest entry, 0 for none
	shown   uint64 // the newest entry that a client has received: it does not change any more
	sent    uint64 // the newest that the client was sent
	kept    uint64 // the newest that the client is known to have
}

// append adds output, to the newest entry if no client has received it.
func (l *outlog) append(from stream, data []byte) {
	if n := len(l.entries); n > 0 {
		newest := &l.entries[n-1]
		if newest.what == output && newest.stream == from && newest.seq > l.shown &&
			len(newest.data)+len(data) <= pieceBytes {
			newest.data = append(newest.data, data...)
			l.bytes += len(data)
			return
		}
	}
	l.add(entry{what: output, stream: from, data: slices.Clone(data)})
}

func (l *outlog) add(e entry) {
	l.last++
	e.seq = l.last
	l.entries = append(l.entries, e)
	l.bytes += len(e.data) + entryCost
}

// after returns the entries with higher numbers.
func (l *outlog) after(seq uint64) []entry {
	if len(l.entries) == 0 || seq >= l.last {
		return nil
	}
	first := l.entries[0].seq
	if seq < first {
		return l.entries
	}
	return l.entries[seq-first+1:]
}

// room drops entries that the client has received until so many more bytes are below the limit. It
// reports whether they are.
func (l *outlog) room(bytes, limit int) bool {
	removed := 0
	for removed < len(l.entries) && l.bytes+bytes+entryCost > limit && l.entries[removed].seq <= l.kept {
		l.bytes -= len(l.entries[removed].data) + entryCost
		l.entries[removed].data = nil
		removed++
	}
	l.entries = l.entries[removed:]
	return l.bytes+bytes+entryCost <= limit
}
