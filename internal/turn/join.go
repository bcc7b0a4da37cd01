package turn

import "github.com/settle-agent/settle/model"

// maxJoined bounds the text of joined deltas in bytes.
const maxJoined = 16 << 10

// join adds the text of the deltas that wait behind r, so that a turn that is slower than its
// provider appends once for all of them. It never waits. If another chunk waits behind the
// deltas, join returns that one.
func (r *streamItem) join(chunks <-chan *streamItem) (next *streamItem) {
	if r.chunk.Kind != model.Delta || r.err != nil || r.ended {
		return nil
	}
	var joined []byte
	for len(joined) <= maxJoined {
		if next = receive(chunks); next == nil || !r.continues(next) {
			break
		}
		if joined == nil {
			joined = append(joined, r.chunk.Text...)
		}
		joined = append(joined, next.chunk.Text...)
		next.free()
		next = nil
	}
	if joined != nil {
		r.chunk.Text = string(joined)
	}
	return next
}

// receive returns the next chunk, or nil if none waits.
func receive(chunks <-chan *streamItem) *streamItem {
	select {
	case r := <-chunks:
		return r
	default:
		return nil
	}
}

// continues reports whether next has only more text of r's item.
func (r *streamItem) continues(next *streamItem) bool {
	same := next.chunk
	same.Text = r.chunk.Text
	return next.err == nil && !next.ended && same == r.chunk
}
