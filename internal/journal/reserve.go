package journal

import (
	"errors"

	"github.com/settle-agent/settle/event"
)

const (
	// reserveBase is the space for the endings of a turn without their text, in bytes.
	reserveBase = 64 << 10
	// reserveStep is the smallest growth of the reserve, in bytes.
	reserveStep = 128 << 10
)

// reserve counts the space for the endings of an open turn: the ending of each item repeats the
// text of its deltas.
type reserve struct {
	turn      bool             // a turn is open
	items     map[string]int64 // written text of the open items
	text      int64            // sum of items
	allocated int64            // offset up to which disk space is reserved
	none      bool             // the file system cannot reserve
}

// note counts a written batch; lengths are the lengths of its records.
func (r *reserve) note(batch []event.Event, lengths []int) {
	for i, e := range batch {
		switch e.Data.(type) {
		case event.TurnStarted:
			r.turn = true
		case event.ItemDelta:
			if r.items == nil {
				r.items = map[string]int64{}
			}
			r.items[e.Item] += int64(lengths[i])
			r.text += int64(lengths[i])
		case event.ItemEnded:
			r.text -= r.items[e.Item]
			delete(r.items, e.Item)
		}
		if e.Terminal() {
			r.turn, r.items, r.text = false, nil, 0
		}
	}
}

// resume counts a turn that was open when the log was opened.
func (r *reserve) resume(turn *event.Turn) {
	if turn == nil {
		return
	}
	r.turn, r.items = true, map[string]int64{}
	for _, i := range turn.Items {
		if i.Status == event.ItemOpen {
			c := i.Content()
			r.items[i.ID] = int64(len(c.Text) + len(c.Arguments) + len(c.Output))
			r.text += r.items[i.ID]
		}
	}
}

// want is an upper estimate of the space for the endings after the batch.
func (r *reserve) want(batch []event.Event, lengths []int) int64 {
	open, text := r.turn, r.text
	for i, e := range batch {
		switch e.Data.(type) {
		case event.TurnStarted:
			open = true
		case event.ItemDelta:
			text += int64(lengths[i])
		}
		open = open && !e.Terminal()
	}
	if !open {
		return 0
	}
	return reserveBase + text
}

// extend makes sure that want bytes after off are reserved. It never asks for reserved space
// again: a refusal by tmpfs frees the range's space.
func (r *reserve) extend(f File, off, want int64) error {
	if r.none || want == 0 || off+want <= r.allocated {
		return nil
	}
	from := max(off, r.allocated)
	end := off + want + reserveStep
	err := f.Allocate(from, end-from)
	if isFull(err) { // a smaller reserve can succeed
		end = off + want
		err = f.Allocate(from, end-from)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		r.none = true
		return nil
	}
	if err == nil {
		r.allocated = end
	}
	return err
}

// release frees the space that no ending needs any more.
func (r *reserve) release(f File, size int64) {
	if r.turn || r.allocated <= size {
		return
	}
	r.allocated = 0
	// Space that cannot be freed is wasted and harmless.
	_ = f.Truncate(size)
}
