package journal

import (
	"context"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/settle-agent/settle/event"
	"github.com/settle-agent/settle/internal/test/longlog"
)

// all returns the events that are stored.
func (m *memory) all() (out []event.Event) {
	for e := range m.Read(context.Background(), 0) {
		out = append(out, e)
	}
	return out
}

// TestMemoryKeepsEveryEvent: readers receive the written events, also after an item has ended.
func TestMemoryKeepsEveryEvent(t *testing.T) {
	var m memory
	var want []event.Event
	odd := 0
	for e := range longlog.Events("s1", 1_000, longlog.Few) {
		if d, ok := e.Data.(event.ItemDelta); ok {
			switch odd++; odd % 40 {
			case 7: // the ending does not have it
				d.Text = "something else"
				e.Data = d
			case 9: // it does not share the text of the others
				e.By = "somebody"
			case 11:
				e.Volatile = true
			}
		}
		want = append(want, e)
		if err := m.Append([]event.Event{e}, Lazily); err != nil {
			t.Fatal(err)
		}
		if len(want)%97 == 0 {
			diff(t, "events so far", "", cmp.Diff(want, m.all()))
		}
	}
	diff(t, "events", "", cmp.Diff(want, m.all()))
}

// TestMemoryDropsTheTextOfDeltas: an ended item has its text once.
func TestMemoryDropsTheTextOfDeltas(t *testing.T) {
	var m memory
	shared, other := 0, 0
	for e := range longlog.Events("s1", 1_000, longlog.Few) {
		if d, ok := e.Data.(event.ItemDelta); ok {
			d.Text = strings.Clone(d.Text)
			e.Data = d
		}
		if err := m.Append([]event.Event{e}, Lazily); err != nil {
			t.Fatal(err)
		}
	}
	whole := map[string]event.Content{}
	for _, e := range m.all() {
		if d, ok := e.Data.(event.ItemEnded); ok {
			whole[e.Item] = d.Content
		}
	}
	for _, e := range m.all() {
		if d, ok := e.Data.(event.ItemDelta); ok {
			c := whole[e.Item]
			if isPart(d.Text, c.Text) || isPart(d.Text, c.Arguments) || isPart(d.Text, c.Output) {
				shared++
			} else {
				other++
			}
		}
	}
	if shared == 0 || other > 0 {
		t.Errorf("the text of %d deltas is part of what their item says, and %d have their own", shared, other)
	}
	if len(m.items) > 0 {
		t.Errorf("%d items are remembered that have ended", len(m.items))
	}
}

// isPart reports whether the text is in the memory of the other.
func isPart(text, of string) bool {
	from, start := uintptr(unsafe.Pointer(unsafe.StringData(text))), uintptr(unsafe.Pointer(unsafe.StringData(of)))
	return len(text) > 0 && from >= start && from+uintptr(len(text)) <= start+uintptr(len(of))
}
