package journal

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
)

// memory is a Store that keeps the events of one process's life. Of a delta it
// keeps no more than its time, and, once its item has ended, no text of its own:
// that is a part of what the ending says.
type memory struct {
	mu    sync.Mutex
	kept  []kept
	items map[string]*deltas // of the items that have not ended
}

// kept is an event: a delta, or any other.
type kept struct {
	event  *event.Event
	deltas *deltas // of which it is one
	at     int64   // in nanoseconds
	stream event.Stream
	text   string
	before int32 // where the delta before it is, from 1; 0 for none
}

// deltas are those of one item.
type deltas struct {
	common event.Event // what they share
	last   int32       // where the last one is, from 1
}

// NewMemory returns a log in memory for the session.
func NewMemory(session string, opts ...Option) *Log {
	return New(&memory{}, event.State{Session: session}, opts...)
}

// Append implements [Store].
func (m *memory) Append(batch []event.Event, _ Sync) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range batch {
		if d, ok := batch[i].Data.(event.ItemDelta); ok && m.delta(&batch[i], d) {
			continue
		}
		e := batch[i]
		m.kept = append(m.kept, kept{event: &e})
		if d, ok := e.Data.(event.ItemEnded); ok {
			m.share(e.Item, d.Content)
			delete(m.items, e.Item)
		}
	}
	return nil
}

// delta keeps a delta with those of its item, if it shares with them what they
// share.
func (m *memory) delta(e *event.Event, d event.ItemDelta) bool {
	if d.Notice {
		return false
	}
	common := event.Event{V: e.V, Session: e.Session, Turn: e.Turn, Attempt: e.Attempt, Item: e.Item, By: e.By, Volatile: e.Volatile}
	of := m.items[e.Item]
	if of == nil {
		if m.items == nil {
			m.items = map[string]*deltas{}
		}
		of = &deltas{common: common}
		m.items[e.Item] = of
	}
	at := e.At.UnixNano()
	if of.common != common || !time.Unix(0, at).UTC().Equal(e.At) {
		return false
	}
	m.kept = append(m.kept, kept{deltas: of, at: at, stream: d.Stream, text: d.Text, before: of.last})
	of.last = int32(len(m.kept))
	return true
}

// share makes the deltas' texts parts of what the item's ending says, as far as
// they are.
func (m *memory) share(item string, whole event.Content) {
	of := m.items[item]
	if of == nil {
		return
	}
	var places []int32
	for at := of.last; at > 0; at = m.kept[at-1].before {
		places = append(places, at-1)
	}
	rest := map[event.Stream]string{event.Text: whole.Text, event.Arguments: whole.Arguments, event.Output: whole.Output}
	for n := len(places) - 1; n >= 0; n-- {
		k := &m.kept[places[n]]
		if text := rest[k.stream]; strings.HasPrefix(text, k.text) {
			k.text, rest[k.stream] = text[:len(k.text)], text[len(k.text):]
		} else {
			rest[k.stream] = "" // what follows is not from there either
		}
	}
}

// Read implements [Store].
func (m *memory) Read(ctx context.Context, after uint64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for ; ; after++ {
			e, ok := m.at(after)
			if !ok || ctx.Err() != nil || !yield(e, nil) {
				return
			}
		}
	}
}

// at returns event n+1.
func (m *memory) at(n uint64) (event.Event, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n >= uint64(len(m.kept)) {
		return event.Event{}, false
	}
	k := &m.kept[n]
	if k.event != nil {
		return *k.event, true
	}
	e := k.deltas.common
	e.Seq, e.At, e.Data = n+1, time.Unix(0, k.at).UTC(), event.ItemDelta{Stream: k.stream, Text: k.text}
	return e, true
}

// Close implements [Store].
func (m *memory) Close() error { return nil }
