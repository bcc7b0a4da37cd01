package journal

import (
	"github.com/settle-agent/settle/event"
)

const (
	// maxMerged bounds the text of a delta that others are merged into, and
	// with it the length of a record.
	maxMerged = 64 << 10
	// crowded is how much text may wait for the writer before Update waits
	// for it as well; it bounds the memory of a flood onto a slow disk.
	crowded = 1 << 20
	// keptEvents is the capacity that an idle batch keeps.
	keptEvents = 16
)

// batch is what one write will take. It belongs to the log's lock until the
// writer takes it, and is read-only from then on.
type batch struct {
	events []event.Event
	sync   Sync
	weight int
	// open says that the last event is a delta which more text may join;
	// merged is its text, once any did.
	open   bool
	merged []byte
	// receipt is made by the first that waits for the batch.
	receipt *receipt
}

// receipt tells those that wait for a batch what became of it.
type receipt struct {
	done chan struct{} // closed when the events were published
	err  error         // set before
}

// joins reports whether d can become part of the batch's last event: a
// delta of the same text, which nobody has seen or written yet.
func (b *batch) joins(e event.Event, d event.ItemDelta) bool {
	if !b.open {
		return false
	}
	last := &b.events[len(b.events)-1]
	held := last.Data.(event.ItemDelta)
	size := max(len(held.Text), len(b.merged))
	return held.Stream == d.Stream && !held.Notice && !d.Notice && size+len(d.Text) <= maxMerged &&
		last.Item == e.Item && last.Turn == e.Turn && last.Attempt == e.Attempt && last.By == e.By
}

// join adds the text to the last event.
func (b *batch) join(text string) {
	if len(b.merged) == 0 {
		held := b.events[len(b.events)-1].Data.(event.ItemDelta)
		b.merged = append(b.merged, held.Text...)
	}
	b.merged = append(b.merged, text...)
	b.weight += len(text)
}

// add appends an event that was folded.
func (b *batch) add(e event.Event) {
	b.seal()
	b.events = append(b.events, e)
	b.weight += weigh(e)
	_, b.open = e.Data.(event.ItemDelta)
	if e.Durable() {
		b.sync = Durably
	}
}

// seal closes the last event to further text.
func (b *batch) seal() {
	if b.open && len(b.merged) > 0 {
		last := &b.events[len(b.events)-1]
		held := last.Data.(event.ItemDelta)
		last.Data = event.ItemDelta{Stream: held.Stream, Text: string(b.merged)}
		b.merged = b.merged[:0]
	}
	b.open = false
}

// wait returns the batch's receipt.
func (b *batch) wait() *receipt {
	if b.receipt == nil {
		b.receipt = &receipt{done: make(chan struct{})}
	}
	return b.receipt
}

// settle wakes all that wait for the batch.
func (b *batch) settle(err error) {
	if b.receipt != nil {
		b.receipt.err = err
		close(b.receipt.done)
		b.receipt = nil
	}
}

// reset makes the batch empty, and small if a flood had made it large.
func (b *batch) reset() {
	clear(b.events)
	if cap(b.events) > keptEvents {
		b.events = nil
	}
	if cap(b.merged) > maxMerged/16 {
		b.merged = nil
	}
	*b = batch{events: b.events[:0], merged: b.merged[:0], sync: Lazily}
}

// weigh estimates the memory that an event holds, in bytes.
func weigh(e event.Event) int {
	const envelope = 256
	switch d := e.Data.(type) {
	case event.ItemDelta:
		return envelope + len(d.Text)
	case event.ItemEnded:
		return envelope + len(d.Text) + len(d.Arguments) + len(d.Output)
	case event.InputAccepted:
		n := envelope + len(d.Text) + len(d.Schema)
		for _, image := range d.Images {
			n += len(image.Data)
		}
		return n
	}
	return envelope
}
