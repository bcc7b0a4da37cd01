package journal

import (
	"github.com/settle-agent/settle/event"
)

const (
	// maxMerged bounds the text of a merged delta in bytes, and with it the length of a record.
	maxMerged = 64 << 10
	// maxQueued is the amount of queued text in bytes from which Update waits for the writer; it
	// bounds the memory of a flood to a slow disk.
	maxQueued = 1 << 20
	// keptEvents is the capacity that an idle batch keeps.
	keptEvents = 16
)

// batch is the content of the next write. The log's lock guards it until the writer takes it;
// from then on it is read-only.
type batch struct {
	events []event.Event
	sync   Sync
	weight int
	// open reports that the last event is a delta that can take more text; merged is its text
	// after the first merge.
	open   bool
	merged []byte
	// receipt is created by the first waiter.
	receipt *receipt
}

// receipt reports the result of a batch to its waiters.
type receipt struct {
	done chan struct{} // closed when the events were published
	err  error         // set before
}

// joins reports whether d can be merged into the batch's last event: a delta of the same text
// that is neither published nor written.
func (b *batch) joins(e *event.Event, d event.ItemDelta) bool {
	if !b.open {
		return false
	}
	last := &b.events[len(b.events)-1]
	held := last.Data.(event.ItemDelta)
	size := max(len(held.Text), len(b.merged))
	return held.Stream == d.Stream && !held.Notice && !d.Notice && size+len(d.Text) <= maxMerged &&
		last.Item == e.Item && last.Turn == e.Turn && last.Attempt == e.Attempt && last.By == e.By
}

// join appends the text to the last event.
func (b *batch) join(text string) {
	if len(b.merged) == 0 {
		held := b.events[len(b.events)-1].Data.(event.ItemDelta)
		b.merged = append(b.merged, held.Text...)
	}
	b.merged = append(b.merged, text...)
	b.weight += len(text)
}

// add appends a folded event.
func (b *batch) add(e *event.Event) {
	b.seal()
	b.events = append(b.events, *e)
	b.weight += weigh(e)
	_, b.open = e.Data.(event.ItemDelta)
	if e.Durable() {
		b.sync = Durably
	}
}

// seal ends merging into the last event.
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

// settle wakes all waiters of the batch.
func (b *batch) settle(err error) {
	if b.receipt != nil {
		b.receipt.err = err
		close(b.receipt.done)
		b.receipt = nil
	}
}

// reset empties the batch, and frees large buffers.
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

// weigh estimates the memory of an event in bytes.
func weigh(e *event.Event) int {
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
		for _, document := range d.Documents {
			n += len(document.Data) + len(document.Text)
		}
		return n
	}
	return envelope
}
