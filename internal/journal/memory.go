package journal

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/settle-agent/settle/event"
)

// memory is a Store for the life of the process. It stores only the time of a delta after its
// item has ended: the text is then a part of the ending's.
type memory struct {
	mu    sync.Mutex
	kept  []kept
	items map[string]*deltas // of the open items
}

// kept is a stored event: a delta or another one.
type kept struct {
	event  *event.Event
	deltas *deltas // of its item, for a delta
	at     int64   // in nanoseconds
	stream event.Stream
	text   string
	before int32 // index of the previous delta, from 1; 0 for none
}

// deltas are the deltas of one item.
type deltas struct {
	common event.Event // their common values
	last   int32       // index of the last one, from 1
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

// delta stores a delta with the others of its item, if their common values agree.
func (m *memory) delta(e *event.Event, d event.ItemDelta) bool {
	if d.Notice {
		return false
	}
	common := event.Event{
		V:        e.V,
		Session:  e.Session,
		Turn:     e.Turn,
		Attempt:  e.Attempt,
		Item:     e.Item,
		By:       e.By,
		Volatile: e.Volatile,
	}
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

// share lets the texts of the deltas share the memory of the item's ending, where they agree.
func (m *memory) share(item string, final event.Content) {
	of := m.items[item]
	if of == nil {
		return
	}
	var places []int32
	for at := of.last; at > 0; at = m.kept[at-1].before {
		places = append(places, at-1)
	}
	rest := map[event.Stream]string{
		event.Text:      final.Text,
		event.Arguments: final.Arguments,
		event.Output:    final.Output,
	}
	for n := len(places) - 1; n >= 0; n-- {
		k := &m.kept[places[n]]
		if text := rest[k.stream]; strings.HasPrefix(text, k.text) {
			k.text, rest[k.stream] = text[:len(k.text)], text[len(k.text):]
		} else {
			rest[k.stream] = "" // the following texts differ as well
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
